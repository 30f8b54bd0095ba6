package devpg

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"example.com/plenary/platform/fault"
)

// Start starts the server of a folder, making its data first if there is none, and returns when it answers.
// ctx limits the starting, not the server; recovery after a crash may take a while, so give it a minute.
//
// The faults that come back: Unavailable "postgres_missing" without programs, Conflict "postgres_version" if
// the data is of a version that is not installed, Conflict "folder_in_use" while another process runs this
// server, Unavailable "postgres_start" with the server's own words if it does not start.
func Start(ctx context.Context, o Options) (*Server, error) {
	if !supported {
		return nil, fault.New(fault.Unavailable, "unsupported_system",
			"the private PostgreSQL needs a Unix system: set DATABASE_URL to a server that you have")
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	installed, err := FindPrograms(ctx, o.BinDir)
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	release, err := lockPath(dir, "postgres.lock", fmt.Sprintf("process %d", os.Getpid()))
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, log: o.Logger, release: release}
	if err := s.start(ctx, o, installed); err != nil {
		if s.sockets != "" {
			_ = os.RemoveAll(s.sockets)
		}
		release()
		return nil, err
	}
	return s, nil
}

// start does what follows the lock.
func (s *Server) start(ctx context.Context, o Options, installed []Programs) error {
	acct, err := findAccount(s.dir)
	if err != nil {
		return err
	}
	home, elsewhere, err := acct.settle(ctx, s.dir)
	if err != nil {
		return err
	}
	if elsewhere {
		s.log.WarnContext(ctx, "the user that PostgreSQL runs as cannot reach the data folder, so its data is kept elsewhere",
			"folder", s.dir, "elsewhere", home, "uid", acct.uid)
		if acct, err = findAccount(home); err != nil {
			return err
		}
	}
	if s.programs, err = choose(installed, home); err != nil {
		return err
	}
	s.data = dataDir(home, s.programs.Major)
	s.logFile = s.data + ".log"
	if err := s.makeData(ctx, acct, o); err != nil {
		return err
	}
	if err := endLeftover(ctx, s.data); err != nil {
		return err
	}
	if s.sockets, err = acct.socketDir(ctx, s.data); err != nil {
		return err
	}
	if err := s.run(ctx, acct, o); err != nil {
		return err
	}
	if err := s.writeURL(Superuser, "postgres"); err != nil {
		_ = s.child.stop(ctx)
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	return nil
}

// settings returns the server's command line.
func (s *Server) settings(o Options) []string {
	connections := o.MaxConnections
	if connections == 0 {
		connections = 100
	}
	settings := []string{
		"listen_addresses=", "port=" + socketPort, "unix_socket_directories=" + s.sockets,
		"max_connections=" + strconv.Itoa(connections), "timezone=UTC", "log_timezone=UTC", "logging_collector=off",
		"log_destination=stderr",
	}
	if o.Fast {
		settings = append(settings, "fsync=off", "synchronous_commit=off", "full_page_writes=off", "autovacuum=off",
			"wal_level=minimal", "max_wal_senders=0", "checkpoint_timeout=1h", "max_wal_size=4GB")
	}
	args := []string{"-D", s.data}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	return args
}

// run starts the server and waits until it is ready. Backends of a server that was killed may hold its memory
// for a moment longer; PostgreSQL refuses to start until they are gone.
func (s *Server) run(ctx context.Context, acct account, o Options) error {
	begin := time.Now()
	for {
		err := s.runOnce(ctx, acct, o)
		if err == nil || time.Since(begin) > leftoverLimit || !strings.Contains(err.Error(), "is still in use") {
			return err
		}
		if err := pause(ctx); err != nil {
			return fmt.Errorf("wait for the sessions of a killed server: %w", err)
		}
	}
}

func (s *Server) runOnce(ctx context.Context, acct account, o Options) (err error) {
	if s.child, err = s.spawn(acct, o, "postgres", s.settings(o)...); err != nil {
		return err
	}
	for {
		if p, ok := readPostmaster(s.data); ok && p.pid == s.child.pid && p.ready {
			return nil
		}
		select {
		case <-s.child.done:
			return fault.Wrap(s.child.failure(s.logFile), fault.Unavailable, "postgres_start",
				"the private PostgreSQL does not start")
		default:
		}
		if err := pause(ctx); err != nil {
			return errors.Join(fmt.Errorf("wait until PostgreSQL is ready: %w", err), s.child.stop(ctx))
		}
	}
}

// spawn starts one of PostgreSQL's programs, tied to this process, with a fresh log file for its complaints.
func (s *Server) spawn(acct account, o Options, program string, args ...string) (*child, error) {
	file, err := os.OpenFile(s.logFile, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	defer file.Close() // the program has its own descriptor
	cmd := exec.Command(filepath.Join(s.programs.Dir, program), args...)
	cmd.Dir = "/" // the account may not be let into the current folder
	cmd.SysProcAttr = attributes(acct)
	cmd.Stderr = file // standard output is initdb's chatter
	for _, setting := range os.Environ() {
		if !strings.HasPrefix(setting, "PG") && !strings.HasPrefix(setting, "LC_") {
			cmd.Env = append(cmd.Env, setting) // PGDATA, PGOPTIONS and the like are about another server
		}
	}
	cmd.Env = append(cmd.Env, "LC_ALL=C")
	c, err := launch(cmd, o.watcher)
	if err != nil {
		return nil, fault.Wrap(err, fault.Unavailable, "postgres_start", "PostgreSQL's programs cannot be started")
	}
	return c, nil
}
