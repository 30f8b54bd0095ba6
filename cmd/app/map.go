package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"text/tabwriter"
	"time"

	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/telemetry"
)

// status prints how the migrations of every database stand.
func (d *databases) status(ctx context.Context, out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	defer w.Flush()
	fmt.Fprintln(w, "DATABASE\tSOURCE\tVERSION\tNAME\tAPPLIED")
	for _, p := range d.all {
		states, err := postgres.MigrationStates(ctx, p.db.Control(), p.sets...)
		if err != nil {
			return err
		}
		for _, s := range states {
			applied := "pending"
			if s.AppliedOn != nil {
				applied = s.AppliedOn.UTC().Format(time.RFC3339)
			}
			if !s.Known {
				applied += " (by a newer version)"
			}
			fmt.Fprintf(w, "%s\t%s\t%04d\t%s\t%s\n", p.db.Name(), s.Source, s.Version, s.Name, applied)
		}
	}
	return nil
}

// runSeed puts the demo users and data into databases that it brings up to date first.
func runSeed(ctx context.Context, config Config, logger *slog.Logger) error {
	if config.DatabaseURL == "" {
		return errNoDatabase
	}
	app, err := wired(ctx, config, logger)
	if err != nil {
		return err
	}
	defer app.closeUnstarted()
	if err := app.databases.prepare(ctx); err != nil {
		return err
	}
	return app.seed(ctx)
}

// runMap prints what the program consists of, as it is registered.
func runMap(ctx context.Context, config Config, logger *slog.Logger, out io.Writer) error {
	app, err := wired(ctx, config, logger)
	if err != nil {
		return err
	}
	defer app.closeUnstarted()
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	defer w.Flush()
	fmt.Fprintln(w, "KIND\tNAME\tSOURCE\tPERMISSION")
	for _, info := range app.pipeline.Registered() {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", info.Kind, info.Policy.Name, info.Source.Name(), info.Policy.Permission)
	}
	fmt.Fprintln(w, "\nDEFERRABLE\t\t\t")
	for _, name := range app.commands.Names() {
		fmt.Fprintf(w, "\t%s\t\t\n", name)
	}
	fmt.Fprintln(w, "\nEVENT → HANDLER\t\t\t")
	for _, line := range app.events.Handlers() {
		fmt.Fprintf(w, "\t%s\t\t\n", line)
	}
	fmt.Fprintln(w, "\nJOB\tSCHEDULE\tZONE\t")
	for _, name := range app.jobs.Names() {
		fmt.Fprintf(w, "%s\t%s\t%s\t\n", name, app.jobs.Calendar(name), app.jobs.Calendar(name).Zone())
	}
	fmt.Fprintln(w, "\nMETHOD\tROUTE\tID\tPERMISSION")
	for _, r := range app.api.Routes() {
		permission := string(r.Permission)
		if permission == "" && r.SignedIn {
			permission = "(signed in)"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.Method, r.Path, r.ID, permission)
	}
	return nil
}

// wired makes the program without an address to serve at and without a mail server, for what only looks at it.
func wired(ctx context.Context, config Config, logger *slog.Logger) (*App, error) {
	config.HTTPAddr, config.SMTPURL = "127.0.0.1:0", "smtp://127.0.0.1:1?tls=none"
	if config.DatabaseURL == "" {
		config.DatabaseURL = telemetry.Secret("postgres://nobody@127.0.0.1:1/none")
	}
	return New(ctx, config, logger)
}
