package wake_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/plenary/platform/devpg/pgtest"
	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/postgres/postgrestest"
	"example.com/plenary/platform/telemetry/logtest"
	"example.com/plenary/platform/wake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 20 * time.Second

// peer is one process on a bus. It notes what its subscribers of work and evict are told, as "topic key".
type peer struct {
	*wake.Bus
	t     testing.TB
	db    *postgres.Database
	log   *logtest.Buffer
	heard chan string
}

type setting func(*wake.Config, *postgres.Config)

func newPeer(t testing.TB, url string, settings ...setting) *peer {
	t.Helper()
	p := &peer{t: t, log: &logtest.Buffer{}, heard: make(chan string, 20_000)}
	config := wake.Config{Logger: slog.New(slog.NewTextHandler(p.log, nil)), Ping: time.Hour}
	database := postgres.Config{URL: url, MaxConns: 1, ControlConns: 1}
	for _, set := range settings {
		set(&config, &database)
	}
	p.db = postgrestest.Connect(t, database)
	config.Database = p.db
	p.Bus = wake.New(config)
	for _, topic := range []string{"work", "evict"} {
		p.Subscribe(topic, func(key string) { p.heard <- topic + " " + key })
	}
	return p
}

// run starts the peer and returns once it listens. stop ends it and waits.
func (p *peer) run() (stop func()) {
	p.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				p.t.Errorf("Run: %v", err)
			}
		case <-time.After(patience):
			p.t.Error("Run does not end with its context")
		}
	})
	p.t.Cleanup(stop)
	select {
	case <-p.Listening():
	case <-time.After(patience):
		p.t.Fatalf("it does not listen\n%s", p.log)
	}
	p.hearsResync()
	return stop
}

// hears waits for the next messages and requires them to be exactly these, in any order.
func (p *peer) hears(want ...string) {
	p.t.Helper()
	missing := map[string]bool{}
	for _, message := range want {
		missing[message] = true
	}
	for range want {
		select {
		case got := <-p.heard:
			if !missing[got] {
				p.t.Fatalf("heard %q, want of %q", got, want)
			}
			delete(missing, got)
		case <-time.After(patience):
			p.t.Fatalf("did not hear %v\n%s", missing, p.log)
		}
	}
}

func (p *peer) hearsResync() {
	p.t.Helper()
	p.hears("work ", "evict ")
}

// pair returns a process whose statements can be held under way, and another one that hears it.
func pair(t testing.TB) (one, two *peer, network *proxy) {
	url := postgrestest.URL(t)
	network = newProxy(t, url)
	return newPeer(t, network.url), newPeer(t, url), network
}

// underWay lets one's sender be in the middle of a statement until release.
func underWay(one, two *peer, network *proxy) (release func()) {
	one.t.Helper()
	one.Send("work", "prepare")
	one.hears("work prepare")
	two.hears("work prepare")
	if err := one.db.Ping(context.Background()); err != nil { // it has to wait for the sender's only connection
		one.t.Fatal(err)
	}
	release = network.delay()
	one.Send("work", "under way")
	one.hears("work under way")
	two.hears("work under way") // the statement has been run, and its sender does not know
	return release
}

func (p *peer) logs(text string) {
	p.t.Helper()
	if !strings.Contains(p.log.String(), text) {
		p.t.Errorf("the log does not say %q:\n%s", text, p.log)
	}
}

// ends makes the server end all sessions of an application.
func ends(t testing.TB, url, application string) {
	t.Helper()
	super := postgrestest.Connect(t, postgres.Config{URL: pgtest.AsSuperuser(t, url), Application: "superuser"})
	defer super.Close()
	n := postgrestest.Value[int](t, super.Source("super"), `SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity
		WHERE datname = current_database() AND application_name = $1`, application)
	if n != 1 {
		t.Fatalf("%d sessions are called %s", n, application)
	}
}
