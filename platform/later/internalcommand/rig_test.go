package internalcommand_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/devpg/pgtest"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/later/internalcommand"
	"example.com/plenary/platform/later/lease"
	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/postgres/postgrestest"
	"example.com/plenary/platform/telemetry/logtest"
	"example.com/plenary/platform/wake"
)

var shop = postgres.Migrations{Source: "shop", Files: fstest.MapFS{
	"0001_shop.sql": {Data: []byte(`CREATE SCHEMA shop; CREATE TABLE shop.effect (note text NOT NULL, by text, corr text)`)},
}}

// note is a transactional command, call one that runs outside of a transaction.
type note struct{ Text string }

func (note) Policy() command.Policy { return command.Policy{Name: "shop.note"} }

type call struct{ Text string }

func (call) Policy() command.Policy { return command.Policy{Name: "shop.call"} }

// replica is one process: its own pools, pipeline, queue, bus and runner.
type replica struct {
	t       testing.TB
	db      *postgres.Database
	source  *postgres.Source
	queue   *internalcommand.Queue
	bus     *wake.Bus
	runner  *lease.Runner
	log     *logtest.Buffer
	noteNow command.Func[note]

	mu     sync.Mutex
	onNote func(ctx context.Context, tx *postgres.Tx, n note) error
	onCall func(ctx context.Context, c call) error
}

type setting func(*lease.Config)

// newReplica makes a process on the database at url. Nothing runs until run or drain is called. The safety
// poll is set to an hour, so that no test passes because of it.
func newReplica(t testing.TB, url string, settings ...setting) *replica {
	t.Helper()
	return assemble(t, url, func(r *replica, p *command.Pipeline) {
		r.noteNow = command.Handle(p, r.source, r.handleNote)
		internalcommand.Register(r.queue, r.noteNow, internalcommand.Retry(lease.Retry{MaxAttempts: 3, Base: time.Second}))
		internalcommand.Register(r.queue, command.HandleOutside(p, r.source, r.handleCall))
	}, settings...)
}

func assemble(t testing.TB, url string, register func(*replica, *command.Pipeline), settings ...setting) *replica {
	t.Helper()
	r := &replica{t: t, log: &logtest.Buffer{}}
	logger := slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	r.db = postgrestest.Connect(t, postgres.Config{URL: url, Logger: logger})
	r.source = r.db.Source("shop")
	r.bus = wake.New(wake.Config{Database: r.db, Logger: logger})
	p := command.New(command.Deps{Logger: logger})
	r.queue = internalcommand.New(p, func(database string) { r.bus.Send("work", database) })
	register(r, p)
	config := lease.Config{
		Database: r.db, Logger: logger, Poll: time.Hour, Lease: 20 * time.Second, Grace: 5 * time.Second,
		Mechanisms: []*lease.Mechanism{r.queue.Mechanism(r.db, 4)},
	}
	for _, set := range settings {
		set(&config)
	}
	var err error
	if r.runner, err = lease.New(config); err != nil {
		t.Fatal(err)
	}
	r.bus.Subscribe("work", func(string) { r.runner.Wake() })
	return r
}

func (r *replica) handleNote(ctx context.Context, tx *postgres.Tx, n note) error {
	r.mu.Lock()
	do := r.onNote
	r.mu.Unlock()
	if do != nil {
		if err := do(ctx, tx, n); err != nil {
			return err
		}
	}
	return effect(ctx, tx, n.Text)
}

func (r *replica) handleCall(ctx context.Context, c call) error {
	r.mu.Lock()
	do := r.onCall
	r.mu.Unlock()
	if do != nil {
		if err := do(ctx, c); err != nil {
			return err
		}
	}
	return r.source.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) error { return effect(ctx, tx, c.Text) })
}

func effect(ctx context.Context, tx *postgres.Tx, text string) error {
	_, err := tx.Exec(ctx, `INSERT INTO shop.effect VALUES ($1, $2, $3)`, text, identity.PrincipalOf(ctx).ID, identity.CorrelationID(ctx))
	return err
}

// run starts the replica's loops; stop ends them and waits.
func (r *replica) run() (stop func()) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	busCtx, cancelBus := context.WithCancel(context.Background())
	var loops, bus sync.WaitGroup
	bus.Go(func() { _ = r.bus.Run(busCtx) })
	<-r.bus.Listening()
	loops.Go(func() { _ = r.runner.Run(ctx) })
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			loops.Wait()
			cancelBus()
			bus.Wait()
		})
	}
	r.t.Cleanup(stop)
	return stop
}

func (r *replica) drain() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := r.runner.Drain(ctx); err != nil {
		r.t.Fatal(err)
	}
}

func (r *replica) schedule(cmd command.Command, when ...internalcommand.When) uuid.UUID {
	r.t.Helper()
	return r.scheduleAs(context.Background(), cmd, when...)
}

func (r *replica) scheduleAs(ctx context.Context, cmd command.Command, when ...internalcommand.When) (id uuid.UUID) {
	r.t.Helper()
	err := r.source.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) (err error) {
		id, err = r.queue.Schedule(ctx, tx, cmd, when...)
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

func (r *replica) effects(text string) int {
	r.t.Helper()
	return postgrestest.Value[int](r.t, r.source, `SELECT count(*) FROM shop.effect WHERE note = $1`, text)
}

// row is what the tests look at.
type row struct {
	Attempts, Crashes    int
	PutOffs              int
	Claim                int64
	Processed, Dead, Run bool
	Reason, LastError    string
	Wait                 time.Duration
}

func (r *replica) row(id uuid.UUID) row {
	r.t.Helper()
	var w row
	err := r.source.QueryRow(context.Background(), `
		SELECT attempts, crashes, put_offs, claim, processed_on IS NOT NULL, dead_lettered_on IS NOT NULL, claimed_until IS NOT NULL,
			coalesce(dead_letter_reason, ''), coalesce(last_error, ''), next_attempt_on - now()
		FROM platform.internal_commands WHERE id = $1`, id).
		Scan(&w.Attempts, &w.Crashes, &w.PutOffs, &w.Claim, &w.Processed, &w.Dead, &w.Run, &w.Reason, &w.LastError, &w.Wait)
	if err != nil {
		r.t.Fatal(err)
	}
	return w
}

// makeDue moves the row instead of the clock.
func (r *replica) makeDue(id uuid.UUID) {
	r.t.Helper()
	postgrestest.Exec(r.t, r.source, `UPDATE platform.internal_commands SET next_attempt_on = now() WHERE id = $1`, id)
}

// vanish is what remains when a process dies: a claim whose lease has run out.
func (r *replica) vanish(id uuid.UUID) {
	r.t.Helper()
	postgrestest.Exec(r.t, r.source, `UPDATE platform.internal_commands
		SET claim = claim + 1, claimed_by = gen_random_uuid(), claimed_on = now() - interval '1 minute', claimed_until = now() - interval '1 second'
		WHERE id = $1`, id)
}

func (r *replica) outcomes(id uuid.UUID) string {
	r.t.Helper()
	return postgrestest.Value[string](r.t, r.source,
		`SELECT coalesce(string_agg(outcome, ' ' ORDER BY claim), '') FROM platform.attempts WHERE work_id = $1`, id)
}

// within waits for what another goroutine brings about, by asking the database.
func (r *replica) within(what string, done func() bool) {
	r.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); {
		if time.Now().After(deadline) {
			r.t.Fatalf("not within 20 s: %s\n%s", what, r.log)
		}
		postgrestest.Value[bool](r.t, r.source, `SELECT true FROM pg_sleep(0.01)`)
	}
}

func logger(b *logtest.Buffer) *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }

func after(d time.Duration) internalcommand.When { return internalcommand.After(d) }

func superuser(t *testing.T, url string) *postgres.Source {
	t.Helper()
	return postgrestest.Connect(t, postgres.Config{URL: pgtest.AsSuperuser(t, url), Application: "superuser"}).Source("super")
}
