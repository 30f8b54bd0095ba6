package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
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

// traffic is several clients that ask for one thing after the other, and what they are answered.
type traffic struct {
	mu       sync.Mutex
	statuses map[string]map[int]int // by what was asked
	wrong    []string
	declined []string // numbers of the orders that were confirmed to have failed
	slowest  time.Duration
	end      chan struct{}
	clients  sync.WaitGroup
}

func startTraffic(c client, clients int) *traffic {
	tr := &traffic{statuses: map[string]map[int]int{}, end: make(chan struct{})}
	requests := []struct {
		method, path string
		body         any
	}{
		{"GET", "/sales/products", nil},
		{"POST", "/sales/orders", orderOf(1, "tok_declined")},
		{"GET", "/auth/me", nil},
		{"GET", "/sales/orders?limit=2", nil},
	}
	for i := range clients {
		tr.clients.Go(func() {
			for n := i; ; n++ {
				select {
				case <-tr.end:
					return
				default:
				}
				ask := requests[n%len(requests)]
				began := time.Now()
				status, header, answer, err := c.try(ask.method, ask.path, ask.body)
				tr.note(ask.method+" "+ask.path, status, header, answer, err, time.Since(began))
			}
		})
	}
	return tr
}

func (tr *traffic) note(what string, status int, header http.Header, answer []byte, err error, took time.Duration) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.slowest = max(tr.slowest, took)
	if tr.statuses[what] == nil {
		tr.statuses[what] = map[int]int{}
	}
	tr.statuses[what][status]++
	switch {
	case err != nil:
		tr.wrong = append(tr.wrong, fmt.Sprintf("%s: %v", what, err))
	case status == http.StatusServiceUnavailable && header.Get("Retry-After") != "" && header.Get("Content-Type") == "application/problem+json":
	case status == http.StatusOK:
	case status == http.StatusCreated:
		var o order
		if json.Unmarshal(answer, &o) == nil && o.Status == "payment_failed" {
			tr.declined = append(tr.declined, o.Number)
		}
	default:
		tr.wrong = append(tr.wrong, fmt.Sprintf("%s: %d %.300s", what, status, answer))
	}
}

// seen reports whether every kind of request was answered at least n times more than in before with a status below 300,
// or else with 503.
func (tr *traffic) seen(before map[string]map[int]int, ok bool, n int) bool {
	now := tr.copy()
	for what, statuses := range now {
		more := 0
		for status, count := range statuses {
			if (status < 300) == ok {
				more += count - before[what][status]
			}
		}
		if more < n {
			return false
		}
	}
	return len(now) == 4
}

func (tr *traffic) copy() map[string]map[int]int {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	all := map[string]map[int]int{}
	for what, statuses := range tr.statuses {
		all[what] = maps.Clone(statuses)
	}
	return all
}

func (tr *traffic) stop(t *testing.T) {
	t.Helper()
	close(tr.end)
	tr.clients.Wait()
	t.Logf("answers: %v; the slowest after %v", tr.statuses, tr.slowest)
	slices.Sort(tr.wrong)
	if len(tr.wrong) > 0 {
		t.Errorf("%d wrong answers, such as:\n%s", len(tr.wrong), strings.Join(tr.wrong[:min(5, len(tr.wrong))], "\n"))
	}
}

// poll waits for something that no database can be asked about.
func poll(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	for every := time.NewTicker(10 * time.Millisecond); !done(); {
		select {
		case <-deadline:
			t.Fatalf("not within a minute: %s", what)
		case <-every.C:
		}
	}
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
