package ops_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/later/internalcommand"
	"example.com/plenary/platform/later/lease"
	"example.com/plenary/platform/later/outbox"
	"example.com/plenary/platform/later/schedule"
	"example.com/plenary/platform/ops"
	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/postgres/postgrestest"
	"example.com/plenary/platform/telemetry/logtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// secret is in every payload, and may be in no answer and no log.
const secret = "alice@example.com"

// The shop and the desk each have a command; the shop publishes, and both listen.
type (
	shopNote struct {
		To   string
		Ref  uuid.UUID
		Cent int64
	}
	deskNote struct{ To string }
	paid     struct {
		To  string
		Ref uuid.UUID
	}
)

func (shopNote) Policy() command.Policy { return command.Policy{Name: "shop.note"} }
func (deskNote) Policy() command.Policy { return command.Policy{Name: "desk.note"} }
func (paid) EventName() string          { return "shop.paid" }

// house is one replica with its operators' door. The desk lies in the second database if there are two.
type house struct {
	t          *testing.T
	shop, desk *postgres.Source
	queue      *internalcommand.Queue
	box        *outbox.Box
	console    *ops.Console
	api        *httpx.API
	runners    []*lease.Runner
	clocks     []*schedule.Clock
	replica    lease.Replica
	log        *logtest.Buffer

	mu   sync.Mutex
	fail error // of every handler
}

// nowhere is the address of a database that is not there.
const nowhere = "postgres://nobody@127.0.0.1:1/none"

// onBoth runs a test with one database, and with one a module.
func onBoth(t *testing.T, run func(t *testing.T, h *house)) {
	t.Parallel()
	t.Run("one database", func(t *testing.T) {
		t.Parallel()
		url := postgrestest.URL(t)
		run(t, newHouse(t, url, url))
	})
	t.Run("a database a module", func(t *testing.T) {
		t.Parallel()
		run(t, newHouse(t, postgrestest.URL(t), postgrestest.URL(t)))
	})
}

func newHouse(t *testing.T, shopURL, deskURL string) *house {
	t.Helper()
	h := &house{t: t, log: &logtest.Buffer{}, replica: lease.ThisReplica("v1")}
	logger := slog.New(slog.NewTextHandler(h.log, nil))
	databases := []*postgres.Database{postgrestest.Connect(t, postgres.Config{URL: shopURL, Name: "default", Logger: logger})}
	if deskURL != shopURL {
		databases = append(databases, postgrestest.Connect(t, postgres.Config{URL: deskURL, Name: "second", Logger: logger}))
	}
	h.shop, h.desk = databases[0].Source("shop"), databases[len(databases)-1].Source("desk")

	var permissions identity.Permissions
	ops.Grant(&permissions)
	pipeline := command.New(command.Deps{Logger: logger, Permissions: &permissions})
	h.queue, h.box = internalcommand.New(pipeline, h.wake), outbox.New(pipeline, h.wake)
	retry := lease.Retry{MaxAttempts: 3, Base: time.Minute}
	internalcommand.Register(h.queue, command.Handle(pipeline, h.shop, handler[shopNote](h)), internalcommand.Retry(retry))
	internalcommand.Register(h.queue, command.Handle(pipeline, h.desk, handler[deskNote](h)), internalcommand.Retry(retry))
	outbox.Subscribe(h.box, h.shop, "shop.on_paid", handler[paid](h))
	outbox.Subscribe(h.box, h.desk, "desk.on_paid", handler[paid](h))
	sources := map[string]*postgres.Source{"platform": databases[0].Source("platform"), "shop": h.shop, "desk": h.desk}
	if shopURL != nowhere {
		if err := h.box.SaveSubscriptions(context.Background(), sources); err != nil {
			t.Fatal(err)
		}
	}
	jobs := schedule.New(pipeline, h.queue, func(string) {})
	jobs.Register("shop.note", "0 3 * * *", shopNote{})
	jobs.Register("desk.note", "0 4 * * *", deskNote{})
	h.console = ops.New(ops.Deps{
		Databases: databases, Pipeline: pipeline, Wake: h.wake, Sources: sources, Logger: logger, Commands: h.queue, Jobs: jobs,
	})
	for _, db := range databases {
		clock := jobs.NewClock(schedule.ClockConfig{Database: db, Logger: logger})
		if h.clocks = append(h.clocks, clock); db.URL() == nowhere {
			continue
		}
		if err := clock.Start(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	for _, db := range databases {
		runner, err := lease.New(lease.Config{
			Database: db, Logger: logger, Replica: h.replica, Poll: time.Hour,
			Mechanisms: []*lease.Mechanism{h.queue.Mechanism(db, 4), h.box.Mechanism(4)},
		})
		if err != nil {
			t.Fatal(err)
		}
		h.runners = append(h.runners, runner)
	}
	h.api = httpx.NewAPI(httpx.Config{Authenticator: tokens{}, Permissions: &permissions, Log: logger})
	h.console.Routes(h.api)
	t.Cleanup(func() {
		if strings.Contains(h.log.String(), secret) {
			t.Errorf("a payload is in the log:\n%s", h.log)
		}
	})
	return h
}

func handler[T any](h *house) func(context.Context, *postgres.Tx, T) error {
	return func(context.Context, *postgres.Tx, T) error {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.fail
	}
}

func (h *house) failWith(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fail = err
}

func (h *house) wake(database string) {
	if database == "second" {
		h.runners[1].Wake()
	} else {
		h.runners[0].Wake()
	}
}

// run starts the runners; their poll is an hour away.
func (h *house) run() {
	ctx, cancel := context.WithCancel(context.Background())
	var loops sync.WaitGroup
	for _, r := range h.runners {
		loops.Go(func() { _ = r.Run(ctx) })
	}
	h.t.Cleanup(func() { cancel(); loops.Wait() })
}

// drain runs what is due, retries included, until nothing is.
func (h *house) drain() {
	h.t.Helper()
	for _, r := range h.runners {
		if err := r.Drain(context.Background()); err != nil {
			h.t.Fatal(err)
		}
	}
}

// each runs SQL in every database.
func (h *house) each(sql string, args ...any) {
	h.t.Helper()
	postgrestest.Exec(h.t, h.shop, sql, args...)
	if len(h.runners) > 1 {
		postgrestest.Exec(h.t, h.desk, sql, args...)
	}
}

// exhaust lets everything that waits fail until it is dead.
func (h *house) exhaust() {
	h.t.Helper()
	h.failWith(errors.New("the printer is on fire"))
	for range 3 {
		h.each(`UPDATE platform.internal_commands SET next_attempt_on = now() WHERE processed_on IS NULL AND dead_lettered_on IS NULL`)
		h.each(`UPDATE platform.deliveries SET next_attempt_on = now(), max_attempts = 3 WHERE processed_on IS NULL AND dead_lettered_on IS NULL`)
		h.drain()
	}
	h.failWith(nil)
}

func (h *house) schedule(cmd command.Command, when ...internalcommand.When) uuid.UUID {
	h.t.Helper()
	return h.scheduleMany(context.Background(), []command.Command{cmd}, when...)[0]
}

// scheduleMany schedules commands of one module in one transaction.
func (h *house) scheduleMany(ctx context.Context, cmds []command.Command, when ...internalcommand.When) []uuid.UUID {
	h.t.Helper()
	source := h.shop
	if _, ok := cmds[0].(deskNote); ok {
		source = h.desk
	}
	ids := make([]uuid.UUID, len(cmds))
	err := source.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) (err error) {
		for i, cmd := range cmds {
			if ids[i], err = h.queue.Schedule(ctx, tx, cmd, when...); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return ids
}

func (h *house) publish(ctx context.Context, n int) []uuid.UUID {
	h.t.Helper()
	ids := make([]uuid.UUID, n)
	err := h.shop.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) (err error) {
		for i := range ids {
			if ids[i], err = h.box.Publish(ctx, tx, paid{To: secret, Ref: uuid.New()}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return ids
}

// tables returns all that is deferred, as text.
func (h *house) tables() string {
	h.t.Helper()
	const all = `SELECT coalesce(string_agg(r, E'\n' ORDER BY r), '') FROM (
		SELECT t::text AS r FROM platform.internal_commands t UNION ALL SELECT t::text FROM platform.deliveries t
		UNION ALL SELECT t::text FROM platform.events t UNION ALL SELECT t::text FROM platform.attempts t) AS x`
	text := postgrestest.Value[string](h.t, h.shop, all)
	if len(h.runners) > 1 {
		text += "\n" + postgrestest.Value[string](h.t, h.desk, all)
	}
	return text
}

// within waits for what another goroutine brings about.
func (h *house) within(what string, done func() bool) {
	h.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); {
		if time.Now().After(deadline) {
			h.t.Fatalf("not within 20 s: %s\n%s", what, h.log)
		}
		postgrestest.Value[bool](h.t, h.shop, `SELECT true FROM pg_sleep(0.01)`)
	}
}
