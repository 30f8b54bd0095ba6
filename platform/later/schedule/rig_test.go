package schedule_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/later/internalcommand"
	"example.com/plenary/platform/later/lease"
	"example.com/plenary/platform/later/schedule"
	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/postgres/postgrestest"
)

var shop = postgres.Migrations{Source: "shop", Files: fstest.MapFS{
	"0001_shop.sql": {Data: []byte(`CREATE SCHEMA shop; CREATE TABLE shop.swept (by text, at timestamptz DEFAULT now())`)},
}}

// sweep and tally are the commands of two jobs. sweep does what the replica's onSweep says.
type sweep struct{}

func (sweep) Policy() command.Policy { return command.Policy{Name: "shop.sweep"} }

type tally struct{}

func (tally) Policy() command.Policy { return command.Policy{Name: "shop.tally"} }

// replica is one process. Neither its clock nor its runner is on until a test says so, and their polls are set
// to an hour, so that no test passes because of one.
type replica struct {
	t      testing.TB
	source *postgres.Source
	jobs   *schedule.Schedule
	clock  *schedule.Clock
	runner *lease.Runner

	mu      sync.Mutex
	onSweep func(ctx context.Context, tx *postgres.Tx) error
}

// network is the replicas on one database, who wake each other.
type network struct {
	url string
	mu  sync.Mutex
	all []*replica
}

func newNetwork(t testing.TB) *network { return &network{url: postgrestest.URL(t, shop)} }

type jobsOf func(*schedule.Schedule)

func nightly(s *schedule.Schedule) {
	s.Register("sweep", "0 3 * * *", sweep{})
	s.Register("tally", "0 4 * * *", tally{})
}

// replica makes a process and starts it, but for its loops.
func (n *network) replica(t testing.TB, register jobsOf) *replica {
	t.Helper()
	r := n.unstarted(t, register)
	if err := r.clock.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

func (n *network) unstarted(t testing.TB, register jobsOf) *replica {
	t.Helper()
	logger := slog.New(slog.NewTextHandler(t.Output(), nil))
	r := &replica{t: t, source: postgrestest.Connect(t, postgres.Config{URL: n.url}).Source("shop")}
	p := command.New(command.Deps{Logger: logger})
	queue := internalcommand.New(p, func(string) {
		for _, other := range n.others() {
			other.runner.Wake()
		}
	})
	internalcommand.Register(queue, command.Handle(p, r.source, r.sweep), internalcommand.Retry(lease.Retry{MaxAttempts: 2, Base: time.Hour}))
	internalcommand.Register(queue, command.Handle(p, r.source, func(context.Context, *postgres.Tx, tally) error { return nil }))
	r.jobs = schedule.New(p, queue, func(string) {
		for _, other := range n.others() {
			other.clock.Wake()
		}
	})
	register(r.jobs)
	r.clock = r.jobs.NewClock(schedule.ClockConfig{Database: r.source.Database(), Logger: logger, Poll: time.Hour})
	var err error
	r.runner, err = lease.New(lease.Config{
		Database: r.source.Database(), Logger: logger, Poll: time.Hour, Mechanisms: []*lease.Mechanism{queue.Mechanism(r.source.Database(), 4)},
	})
	if err != nil {
		t.Fatal(err)
	}
	n.mu.Lock()
	n.all = append(n.all, r)
	n.mu.Unlock()
	return r
}

func (n *network) others() []*replica {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]*replica(nil), n.all...)
}

func (r *replica) sweep(ctx context.Context, tx *postgres.Tx, _ sweep) error {
	r.mu.Lock()
	do := r.onSweep
	r.mu.Unlock()
	if do != nil {
		if err := do(ctx, tx); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, `INSERT INTO shop.swept (by) VALUES ($1)`, identity.PrincipalOf(ctx).ID)
	return err
}

// run turns the replica's loops on until the test ends.
func (r *replica) run() {
	ctx, cancel := context.WithCancel(context.Background())
	var loops sync.WaitGroup
	loops.Go(func() { _ = r.clock.Run(ctx) })
	loops.Go(func() { _ = r.runner.Run(ctx) })
	r.t.Cleanup(func() { cancel(); loops.Wait() })
}

// look makes one pass of the clock, and fails the test if that fails.
func (r *replica) look() time.Duration {
	r.t.Helper()
	wait, err := r.clock.RunOnce(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return wait
}

// work runs the commands that are due.
func (r *replica) work() {
	r.t.Helper()
	if err := r.runner.Drain(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

// due moves a job's plan: this is how time passes here.
func (r *replica) due(job, ago string) {
	r.t.Helper()
	postgrestest.Exec(r.t, r.source, `UPDATE platform.jobs SET next_run_on = now() - $2::interval WHERE name = $1`, job, ago)
}

func (r *replica) job(name string) schedule.Job {
	r.t.Helper()
	all, err := r.jobs.List(r.t.Context(), r.source)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, j := range all {
		if j.Name == name {
			return j
		}
	}
	r.t.Fatalf("there is no job %s", name)
	return schedule.Job{}
}

func (r *replica) runs(job string) []schedule.Run {
	r.t.Helper()
	all, err := schedule.Runs(r.t.Context(), r.source, job, [16]byte{}, 100)
	if err != nil {
		r.t.Fatal(err)
	}
	return all
}

// outcomes are those of a job's runs, the oldest first; "-" for one that has not ended.
func (r *replica) outcomes(job string) string {
	text := ""
	for _, run := range r.runs(job) {
		outcome := "-"
		if run.Outcome != nil {
			outcome = *run.Outcome
		}
		text = outcome + " " + text
	}
	return text
}

func (r *replica) swept() int {
	r.t.Helper()
	return postgrestest.Value[int](r.t, r.source, `SELECT count(*) FROM shop.swept`)
}

func (r *replica) alter(job string, change schedule.Change) (before, after schedule.Job, err error) {
	err = r.source.InTx(r.t.Context(), func(ctx context.Context, tx *postgres.Tx) (err error) {
		before, after, err = r.jobs.Alter(identity.WithPrincipal(ctx, identity.System("operator")), tx, job, change)
		return err
	})
	return before, after, err
}

func (r *replica) runNow(job string) (run schedule.Run, err error) {
	err = r.source.InTx(r.t.Context(), func(ctx context.Context, tx *postgres.Tx) (err error) {
		run, err = r.jobs.RunNow(identity.WithPrincipal(ctx, identity.System("operator")), tx, job, "to see it run")
		return err
	})
	return run, err
}

var errBroken = errors.New("broken")
