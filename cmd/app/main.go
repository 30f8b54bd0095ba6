// Command app is Plenary.
//
//	app dev              everything, with nothing installed but PostgreSQL's programs
//	app serve            the production form; needs DATABASE_URL and SMTP_URL
//	app migrate up       bring the databases up to date
//	app migrate status   what is applied and what is not
//	app seed             put the demo users and data in
//	app map              commands, events, jobs, routes, from the live registries
//	app ops jobs …       what the clock starts: list, show, run, pause, resume, set, reset
//	app doctor           what is wrong with ports, databases, configuration
//	app healthcheck      whether the one that runs here is ready; for container engines
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	_ "time/tzdata" // not every machine has time zones, and the image has no files

	"github.com/caarlos0/env/v11"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/host"
	"example.com/plenary/platform/telemetry"
)

func main() {
	if err := run(context.Background(), os.Args[1:], env.ToMap(os.Environ()), os.Stdout, os.Stderr); err != nil {
		if _, told := errors.AsType[*logged](err); !told {
			fmt.Fprintln(os.Stderr, "app:", err)
		}
		os.Exit(exitCode(err))
	}
}

const usage = `usage: app dev | serve | migrate up | migrate status | seed | map | ops jobs | doctor | healthcheck
  dev      run everything on a private PostgreSQL, with demo users and data
  serve    run in production; needs DATABASE_URL, and SMTP_URL unless DEMO=true
  migrate  up: bring the databases up to date; status: show what is applied
  seed     put the demo users and data in
  map      list commands, events, jobs and routes
  ops      jobs: list, show, run, pause, resume, set or reset what the clock starts
  doctor   say what is wrong with ports, databases and configuration
  healthcheck   ask the program that runs at HTTP_ADDR whether it is ready`

var errUsage = errors.New(usage)

// run is the program without the process around it.
func run(ctx context.Context, args []string, environ map[string]string, out, logs io.Writer) error {
	if len(args) == 0 {
		return errUsage
	}
	if strings.Join(args, " ") == "doctor" { // also with a configuration that nothing else accepts
		return runDoctor(ctx, environ, out)
	}
	config, err := readConfig(environ)
	if err != nil {
		return err
	}
	logger := telemetry.NewLogger(logs, config.LogLevel, config.LogFormat)
	slog.SetDefault(logger)
	if args[0] == "ops" { // its answer is on the terminal; the log is for what went wrong
		logger = telemetry.NewLogger(logs, max(config.LogLevel, slog.LevelWarn), config.LogFormat)
		return runOps(ctx, config, logger, args[1:], out)
	}
	switch strings.Join(args, " ") {
	case "dev":
		return runDev(ctx, config, logger, out)
	case "serve":
		return runServe(ctx, config, logger, out)
	case "migrate up":
		return withDatabases(ctx, config, logger, func(d *databases) error { return d.migrate(ctx) })
	case "migrate status":
		return withDatabases(ctx, config, logger, func(d *databases) error { return d.status(ctx, out) })
	case "seed":
		return runSeed(ctx, config, logger)
	case "map":
		return runMap(ctx, config, logger, out)
	case "healthcheck":
		return runHealthcheck(ctx, config, out)
	case "help", "-h", "--help":
		fmt.Fprintln(out, usage)
		return nil
	default:
		return errUsage
	}
}

func runServe(ctx context.Context, config Config, logger *slog.Logger, out io.Writer) error {
	if err := config.forServing(); err != nil {
		return err
	}
	app, err := New(ctx, config, logger)
	if err != nil {
		return err
	}
	if config.Demo { // the last to start: what it names can be used at once
		app.host.Add(host.Component{Name: "welcome", Start: func(context.Context) error {
			welcome(out, config.BaseURL)
			return nil
		}})
	}
	return app.Run(ctx)
}

var errNoDatabase = fault.New(fault.Invalid, "configuration",
	"DATABASE_URL is not set: name a PostgreSQL database like postgres://user:password@host:5432/plenary, or use app dev")

func withDatabases(ctx context.Context, config Config, logger *slog.Logger, do func(*databases) error) error {
	if config.DatabaseURL == "" {
		return errNoDatabase
	}
	d, err := openDatabases(ctx, config, logger)
	if err != nil {
		return err
	}
	defer d.close()
	return do(d)
}

func exitCode(err error) int {
	if errors.Is(err, errUsage) || fault.KindOf(err) == fault.Invalid {
		return 2
	}
	return 1
}
