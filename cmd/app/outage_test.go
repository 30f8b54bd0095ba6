package main

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/plenary/platform/devpg"
	"example.com/plenary/platform/mail/inbox"
	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/postgres/postgrestest"
)

// alone runs a test in a process of its own, where every goroutine is its own. In the process that all tests share
// it returns false once that is done.
func alone(t *testing.T) bool {
	t.Helper()
	const variable = "PLENARY_TEST_ALONE"
	if os.Getenv(variable) == t.Name() {
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout=5m")
	cmd.Env = append(os.Environ(), variable+"="+t.Name())
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
	return false
}

// restartable is a server that a test stops and starts again, with its data.
type restartable struct {
	t       *testing.T
	options devpg.Options
	server  *devpg.Server
}

func newRestartable(t *testing.T) *restartable {
	t.Helper()
	dir, err := os.MkdirTemp("", "plenary-outage-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil { // as root, PostgreSQL's own user must get through
		t.Fatal(err)
	}
	s := &restartable{t: t, options: devpg.Options{Dir: dir, Fast: true, Logger: slog.New(slog.DiscardHandler)}}
	s.start()
	t.Cleanup(s.stop)
	if err := s.server.Provision(context.Background(), devDatabase, devOwner, devApp); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *restartable) start() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var err error
	if s.server, err = devpg.Start(ctx, s.options); err != nil {
		s.t.Fatal(err)
	}
}

func (s *restartable) stop() {
	s.t.Helper()
	if err := s.server.Stop(context.Background()); err != nil {
		s.t.Error(err)
	}
}

// world makes the surroundings of a program on this server. The program migrates it.
func (s *restartable) world() *world {
	s.t.Helper()
	mails, err := inbox.Listen(inbox.Config{Dir: s.t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(mails.Close)
	w := &world{t: s.t, mails: mails, environ: map[string]string{
		"HTTP_ADDR": "127.0.0.1:0", "DEMO": "true", "SMTP_URL": mails.URL(), "SAFETY_POLL": "1h", "LOG_LEVEL": "warn",
		"GATEWAY_TIMEOUT": "500ms", "DATABASE_MAX_CONNS": "4", "DATA_DIR": s.t.TempDir(), "LEASE": "5s",
		"RATE_LIMIT_USER": "off", "RATE_LIMIT_ADDRESS": "off",
		"DATABASE_URL": s.server.URL(devApp, devDatabase), "MIGRATION_DATABASE_URL": s.server.URL(devOwner, devDatabase),
	}}
	w.sales = postgrestest.Connect(s.t, postgres.Config{URL: w.environ["DATABASE_URL"], Application: "test"}).Source("sales")
	w.ledger = w.sales
	return w
}

// The database goes away in the middle of everything, twice, and comes back. Until then it is 503, and not one 500;
// afterwards everything goes on by itself, and nothing is lost, doubled or left behind.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	if !alone(t) {
		return
	}
	server := newRestartable(t)
	w := server.world()
	mine := goleak.IgnoreCurrent()
	r := w.start()
	alice := r.as("alice@example.com")
	postgrestest.Exec(t, w.sales, `UPDATE sales.products SET available = 1000000`)
	load := startTraffic(alice, 8)
	for range 2 {
		poll(t, "answers", func() bool { return load.seen(nil, true, 3) })
		server.stop()
		away := load.copy()
		poll(t, "503 for everything", func() bool { return load.seen(away, false, 3) })
		poll(t, "a /readyz that tells", func() bool {
			got := r.send("GET", "/readyz", "")
			return got.status == http.StatusServiceUnavailable && strings.Contains(string(got.body), `"database_unavailable"`)
		})
		if got := r.send("GET", "/healthz", ""); got.status != http.StatusOK {
			t.Errorf("/healthz: %d %s", got.status, got.body)
		}
		if got := r.signIn("alice@example.com", "demo"); got.header.Get("Retry-After") == "" {
			t.Errorf("a sign-in: %d %s", got.status, got.body)
		} else {
			got.isProblem(t, http.StatusServiceUnavailable, "database_unavailable")
		}
		server.start()
		back := load.copy()
		poll(t, "answers again", func() bool { return load.seen(back, true, 3) })
		poll(t, "readiness", func() bool { return r.send("GET", "/readyz", "").status == http.StatusOK })
	}
	load.stop(t)
	// What could not be done meanwhile is tried again by timers: the safety poll is an hour.
	poll(t, "the outcome of every payment", func() bool {
		return postgrestest.Value[int](t, w.sales, `SELECT count(*) FROM sales.orders WHERE status = 'payment_initiated'`) == 0
	})
	for _, number := range load.declined {
		poll(t, "the mail about "+number, func() bool { return w.about(number) > 0 })
		if n := w.about(number); n > 2 { // a second one where the server went between the mail and its stamp
			t.Errorf("%d mails about %s", n, number)
		}
	}
	if n := postgrestest.Value[int](t, w.sales, `SELECT count(*) FROM platform.internal_commands WHERE dead_lettered_on IS NOT NULL`); n != 0 {
		t.Errorf("%d dead letters\n%s", n, w.rows())
	}
	r.nothingHeld(t)
	r.stop()
	server.stop()
	patient.CloseIdleConnections()
	stubborn.CloseIdleConnections()
	if err := goleak.Find(mine); err != nil {
		t.Error(err)
	}
}

// nothingHeld requires that every connection is back in its pool.
func (r *replica) nothingHeld(t *testing.T) {
	t.Helper()
	all := append(r.app.databases.list(), r.app.databases.sandbox.Database())
	poll(t, "every connection back in its pool", func() bool {
		return !slices.ContainsFunc(all, func(db *postgres.Database) bool { return db.Stat().Acquired > 0 })
	})
}
