// Command devdb keeps a development database running in the foreground, without the application:
//
//	go run ./platform/devpg/devdb -dir .data -name plenary
//
// It makes the database NAME with the roles NAME_owner and NAME_app if they are missing, prints their addresses,
// and stops with Ctrl-C. While it runs, the application does not start its own on the same folder; give it the
// two printed variables instead: it works as the one role, and migrates as the other.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"example.com/plenary/platform/devpg"
)

// startPatience leaves room for making the database on a slow disk, and for recovery.
const startPatience = 2 * time.Minute

func main() {
	dir := flag.String("dir", ".data", "folder of the data")
	name := flag.String("name", "app", "name of the database; its roles are NAME_owner and NAME_app")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *dir, *name, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "devdb:", err)
		os.Exit(1)
	}
}

// run keeps the database until ctx ends, which is success, or until the server ends by itself.
func run(ctx context.Context, dir, name string, out io.Writer) (err error) {
	release, err := devpg.LockDir(dir, fmt.Sprintf("pid %d, the database alone", os.Getpid()))
	if err != nil {
		return err
	}
	defer release()
	starting, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	server, err := devpg.Start(starting, devpg.Options{Dir: dir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop(context.WithoutCancel(ctx))) }()
	owner, app := name+"_owner", name+"_app"
	if err := server.Provision(starting, name, owner, app); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "PostgreSQL %d on %s\nDATABASE_URL='%s'\nMIGRATION_DATABASE_URL='%s'\nCtrl-C stops it\n",
		server.Version(), server.Dir(), server.URL(app, name), server.URL(owner, name))
	select {
	case <-ctx.Done():
		return nil
	case <-server.Done():
		return server.Err()
	}
}
