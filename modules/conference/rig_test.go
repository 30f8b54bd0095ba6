package conference_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/metric/noop"

	"example.com/plenary/migrations"
	"example.com/plenary/modules/conference"
	"example.com/plenary/modules/conference/scoring"
	"example.com/plenary/platform/cache"
	"example.com/plenary/platform/command"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/later/internalcommand"
	"example.com/plenary/platform/later/lease"
	"example.com/plenary/platform/later/outbox"
	"example.com/plenary/platform/lock"
	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/postgres/postgrestest"
)

// replica is the module in one process. Several share a database and a model.
type replica struct {
	t testing.TB
	*conference.Module
	source *postgres.Source
	queue  *internalcommand.Queue
	runner *lease.Runner
	events *outbox.Box
}

// world is what the replicas share.
type world struct {
	t     testing.TB
	url   string
	model *model
	cache []*cache.Cache
	all   []*replica
}

var (
	sam    = identity.User(uuid.MustParse("01936d10-0000-7000-8000-000000000203"), "organizer")
	viktor = identity.User(uuid.MustParse("01936d10-0000-7000-8000-000000000204"), "viewer")
)

func as(p identity.Principal) context.Context {
	return identity.WithPrincipal(context.Background(), p)
}

func newWorld(t testing.TB) *world {
	t.Helper()
	set := postgres.Migrations{Source: "conference", Files: migrations.Of("conference")}
	w := &world{t: t, url: postgrestest.URL(t, set), model: &model{paid: map[uuid.UUID]int{}, faults: map[string][]error{}}}
	return w
}

// replica adds a process. Its polls are an hour away.
func (w *world) replica() *replica {
	w.t.Helper()
	logger := slog.New(slog.NewTextHandler(w.t.Output(), nil))
	db := postgrestest.Connect(w.t, postgres.Config{URL: w.url})
	r := &replica{t: w.t, source: db.Source("conference")}
	var permissions identity.Permissions
	conference.Grant(&permissions)
	kept := cache.New(cache.Config{})
	w.cache = append(w.cache, kept)
	p := command.New(command.Deps{
		Permissions: &permissions, Logger: logger, Cache: kept,
		Evict: func(_ context.Context, keys []string) { // what the bus does in earnest
			for _, c := range w.cache {
				_ = c.Evict(keys...)
			}
		},
	})
	r.queue = internalcommand.New(p, func(string) { w.wake() })
	r.events = outbox.New(p, func(string) { w.wake() })
	var err error
	r.Module, err = conference.New(conference.Deps{
		Source: r.source, Pipeline: p, Commands: r.queue, Events: r.events, Locks: lock.New(lock.Config{Source: r.source, Logger: logger}),
		Scorer: w.model, Attendees: people{}, Logger: logger, Meter: noop.Meter{}, ScoresAtOnce: 2,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	if err := r.events.SaveSubscriptions(context.Background(), map[string]*postgres.Source{"sales": r.source, "conference": r.source}); err != nil {
		w.t.Fatal(err)
	}
	r.runner, err = lease.New(lease.Config{
		Database: db, Logger: logger, Poll: time.Hour, Lease: 2 * time.Second,
		Mechanisms: []*lease.Mechanism{r.queue.Mechanism(db, 4), r.events.Mechanism(4)},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	if err := r.source.InTx(context.Background(), r.Seed); err != nil {
		w.t.Fatal(err)
	}
	w.all = append(w.all, r)
	return r
}

func (w *world) wake() {
	for _, r := range w.all {
		if r.runner != nil {
			r.runner.Wake()
		}
	}
}

// run starts the replica's runner; stop ends it and waits.
func (r *replica) run() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var loop sync.WaitGroup
	loop.Go(func() { _ = r.runner.Run(ctx) })
	stop = sync.OnceFunc(func() { cancel(); loop.Wait() })
	r.t.Cleanup(stop)
	return stop
}

func (r *replica) drain() {
	r.t.Helper()
	if err := r.runner.Drain(context.Background()); err != nil {
		r.t.Fatal(err)
	}
}

// ask requests a pass as somebody.
func (r *replica) ask(p identity.Principal) uuid.UUID {
	r.t.Helper()
	id, err := r.RequestScoring(as(p), conference.RequestScoring{EventID: conference.DemoEvent})
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

// state is where a deferred command stands.
func (r *replica) state(id uuid.UUID) string {
	r.t.Helper()
	return postgrestest.Value[string](r.t, r.source, `
		SELECT CASE WHEN processed_on IS NOT NULL THEN 'done' WHEN dead_lettered_on IS NOT NULL THEN 'dead' WHEN claimed_until IS NOT NULL THEN 'running'
			WHEN attempts > 0 THEN 'failed' ELSE 'waiting' END FROM platform.internal_commands WHERE id = $1`, id)
}

func (r *replica) count(sql string) int {
	r.t.Helper()
	return postgrestest.Value[int](r.t, r.source, `SELECT count(*) FROM conference.`+sql)
}

// within waits for what other goroutines bring about, by asking the database in between.
func (r *replica) within(what string, done func() bool) {
	r.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !done(); {
		if time.Now().After(deadline) {
			r.t.Fatalf("not within 30 s: %s", what)
		}
		postgrestest.Value[bool](r.t, r.source, `SELECT true FROM pg_sleep(0.01)`)
	}
}

type people struct{}

func (people) Contact(context.Context, uuid.UUID) (name, email string, err error) {
	return "Alice Archer", "alice@example.com", nil
}

// model is a scorer that counts what it is paid for. It holds answers back while it is told to, and fails as a title is told to.
type model struct {
	mu      sync.Mutex
	paid    map[uuid.UUID]int
	faults  map[string][]error // by title, one a call; after the last it scores
	held    chan struct{}      // nil: it answers at once
	version int
	most    int
	now     int
}

func (m *model) Model() string { return "test-model" }
func (m *model) Prompt() scoring.PromptInfo {
	m.mu.Lock()
	defer m.mu.Unlock()
	return scoring.PromptInfo{Name: "test", Version: max(1, m.version), Hash: "abc"}
}

func (m *model) Score(ctx context.Context, p scoring.Proposal) (scoring.Score, error) {
	m.mu.Lock()
	m.paid[p.SessionID]++
	m.now++
	m.most = max(m.most, m.now)
	held := m.held
	var fails error
	if left := m.faults[p.Title]; len(left) > 0 {
		fails, m.faults[p.Title] = left[0], left[1:]
	}
	m.mu.Unlock()
	defer func() { m.mu.Lock(); m.now--; m.mu.Unlock() }()
	if held != nil {
		select {
		case <-held:
		case <-ctx.Done():
			return scoring.Score{}, fmt.Errorf("asked in vain: %w", context.Cause(ctx))
		}
	}
	if fails != nil {
		return scoring.Score{}, fails
	}
	points := 1 + len(p.Title)%10
	return scoring.Score{
		Criteria:  scoring.Criteria{Relevance: points, Depth: points, Practicality: points, Originality: points, Clarity: points, Feasibility: points},
		Reasoning: "because", Model: m.Model(), Prompt: m.Prompt(), InputTokens: 100, OutputTokens: 10,
	}, nil
}

// hold makes calls wait until release.
func (m *model) hold() (release func()) {
	held := make(chan struct{})
	m.mu.Lock()
	m.held = held
	m.mu.Unlock()
	return sync.OnceFunc(func() {
		m.mu.Lock()
		m.held = nil
		m.mu.Unlock()
		close(held)
	})
}

// calls is how often the model was paid, in all and for the session that it was paid for most.
func (m *model) calls() (all, most int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range m.paid {
		all += n
		most = max(most, n)
	}
	return all, most
}

func (m *model) busy() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}
