// Command withpg runs a command with a fast private PostgreSQL for as long as the command takes:
//
//	go run ./platform/devpg/withpg -- go test ./...
//
// It sets TEST_DATABASE_URL for the command, and nothing else, so that all packages' tests share one server; if
// that is set already, no server is started. Signals are passed on, and the command's exit code is withpg's.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"example.com/plenary/platform/devpg"
)

const variable = "TEST_DATABASE_URL"

func main() {
	find := flag.Bool("find", false, "only print the folder of PostgreSQL's programs, or what to do without them")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: withpg [-find] [--] command [argument …]")
		flag.PrintDefaults()
	}
	flag.Parse()
	if !*find && flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	code, err := run(*find, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "withpg:", err)
	}
	os.Exit(code)
}

func run(find bool, command []string) (code int, err error) {
	ctx := context.Background()
	if find {
		installed, err := devpg.FindPrograms(ctx, "")
		if err != nil {
			return 1, err
		}
		fmt.Println(installed[0].Dir)
		return 0, nil
	}

	// From here on a signal ends the command, and withpg after it, not withpg alone.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	if os.Getenv(variable) != "" {
		return runCommand(command, os.Environ(), signals)
	}
	server, err := devpg.StartTemporary(ctx, devpg.Options{
		Fast: true, MaxConnections: 500, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, server.Stop(ctx)) }()
	return runCommand(command, append(os.Environ(), variable+"="+server.URL(devpg.Superuser, "postgres")), signals)
}

// runCommand runs the command to its end and returns its exit code, in a shell's way: 128 and the number of the
// signal that killed it, 127 if it could not be started.
func runCommand(command, environment []string, signals <-chan os.Signal) (int, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = environment
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return 127, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			_ = cmd.Process.Signal(s) // it may have ended at this moment
		case err := <-ended:
			if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
				return 1, err
			}
			if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
				return 128 + int(status.Signal()), nil
			}
			return cmd.ProcessState.ExitCode(), nil
		}
	}
}
