package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"example.com/plenary/platform/devpg"
	"example.com/plenary/platform/host"
	"example.com/plenary/platform/telemetry"
)

const (
	devDatabase = "plenary"
	devOwner    = "plenary_owner"
	devApp      = "plenary_app"
)

// runDev runs everything on a private PostgreSQL, or on the one that DATABASE_URL names.
func runDev(ctx context.Context, config Config, logger *slog.Logger, out io.Writer) error {
	config.Demo = true
	unlock, err := devpg.LockDir(config.DataDir, fmt.Sprintf("pid %d, http://%s", os.Getpid(), config.HTTPAddr))
	if err != nil {
		return err
	}
	defer unlock()
	// A taken address is told before a database is started for nothing.
	free, err := host.Listen(config.HTTPAddr)
	if err != nil {
		return err
	}
	_ = free.Close()
	var server *devpg.Server
	if config.DatabaseURL == "" {
		server, err = startPrivate(ctx, &config, logger)
		if err != nil {
			return err
		}
		defer func() {
			stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			if err := server.Stop(stop); err != nil {
				logger.Error("the private database did not stop in order", slog.Any("error", err))
			}
		}()
	}
	app, err := New(ctx, config, logger)
	if err != nil {
		return err
	}
	if server != nil {
		app.host.Add(host.Component{Name: "private database", Run: func(ctx context.Context) error { return watch(ctx, server) }})
	}
	// The last to start: what the banner names can be used at once.
	app.host.Add(host.Component{Name: "welcome", Start: func(context.Context) error {
		banner(out, config, app.Address())
		return nil
	}})
	return app.Run(ctx)
}

// startPrivate starts the private server and points the configuration at it.
func startPrivate(ctx context.Context, config *Config, logger *slog.Logger) (*devpg.Server, error) {
	// A signal during the start ends the start; afterwards the host takes care of signals.
	ctx, release := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer release()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	server, err := devpg.Start(ctx, devpg.Options{Dir: config.DataDir, Logger: logger})
	if err != nil {
		return nil, err
	}
	if err := server.Provision(ctx, devDatabase, devOwner, devApp); err != nil {
		_ = server.Stop(context.WithoutCancel(ctx))
		return nil, err
	}
	config.DatabaseURL = telemetry.Secret(server.URL(devApp, devDatabase))
	config.MigrationDatabaseURL = telemetry.Secret(server.URL(devOwner, devDatabase))
	return server, nil
}

// watch ends with an error if the private server ends by itself.
func watch(ctx context.Context, server *devpg.Server) error {
	select {
	case <-ctx.Done():
		return nil
	case <-server.Done():
		return server.Err()
	}
}

// banner is what development prints beyond the welcome.
func banner(out io.Writer, config Config, address string) {
	welcome(out, "http://"+address)
	fmt.Fprintf(out, `  DATABASE_URL=%[1]q

  a second replica:
    DATABASE_URL=%[1]q DATA_DIR=%[2]q DEMO=true HTTP_ADDR=127.0.0.1:8081 bin/app serve

  Stop with Ctrl-C. Everything is kept in %[2]s.

`, string(config.DatabaseURL), config.DataDir)
}

// welcome says where the demo can be seen, and as whom.
func welcome(out io.Writer, base string) {
	var logins strings.Builder
	for _, u := range demoUsers() {
		fmt.Fprintf(&logins, "    %-20s %s\n", u.Email, u.Roles[0])
	}
	fmt.Fprintf(out, `
Plenary runs at %[1]s

  console      %[1]s/ops
  mail inbox   %[1]s/inbox
  API          %[1]s/api/openapi.json
  metrics      %[1]s/metrics

  logins, password %[2]q
%[3]s
`, base, demoPassword, logins.String())
}
