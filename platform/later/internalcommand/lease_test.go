package internalcommand_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/platform/later/lease"
	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/postgres/postgrestest"
)

// The worker dies between the effect and the end of its transaction: nothing of it remains, and the next
// claim does it once.
func TestDeathBeforeTheCommitLeavesNothing(t *testing.T) {
	t.Parallel()
	r := newReplica(t, postgrestest.URL(t, shop))
	id := r.schedule(note{"once"})
	r.vanish(id)
	r.drain()
	if got := r.row(id); r.effects("once") != 1 || !got.Processed || got.Crashes != 1 || got.Attempts != 1 || got.Claim != 2 {
		t.Errorf("%d effects, %+v", r.effects("once"), got)
	}
	if got := r.outcomes(id); got != "crashed succeeded" {
		t.Errorf("attempts: %s", got)
	}
}

// A replica froze after its claim and wakes when the row is somebody else's.
func TestStaleTransactionalRunDoesNothing(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t, shop)
	frozen, other := newReplica(t, url), newReplica(t, url)
	id := frozen.schedule(note{"once"})
	// The frozen one has claimed; before its transaction begins the lease ends and the other one finishes.
	m := frozen.queue.Mechanism(frozen.db, 1)
	run := m.Run
	m.Run = func(ctx context.Context, w lease.Work) (bool, error) {
		postgrestest.Exec(t, other.source, `UPDATE platform.internal_commands SET claimed_until = now() - interval '1 second' WHERE id = $1`, id)
		other.drain()
		return run(ctx, w)
	}
	stale, err := lease.New(lease.Config{Database: frozen.db, Mechanisms: []*lease.Mechanism{m}, Logger: logger(frozen.log)})
	if err != nil {
		t.Fatal(err)
	}
	if err := stale.Drain(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := other.row(id); other.effects("once") != 1 || !got.Processed || got.Attempts != 1 || got.Claim != 2 {
		t.Errorf("%d effects, %+v", other.effects("once"), got)
	}
	if !strings.Contains(frozen.log.String(), "lease was lost") {
		t.Errorf("the loss went unnoticed:\n%s", frozen.log)
	}
}

// While a transactional run is at work nobody takes its row, though its lease is over: the row is locked.
func TestRowLockExcludesATakeover(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t, shop)
	slow, other := newReplica(t, url), newReplica(t, url)
	slow.onNote = func(_ context.Context, _ *postgres.Tx, _ note) error {
		postgrestest.Value[bool](t, other.source, `SELECT true`)
		other.drain() // claims nothing
		return nil
	}
	id := slow.schedule(note{"once"})
	slow.runner.RunOnce(context.Background())
	slow.drain()
	if got := other.row(id); other.effects("once") != 1 || got.Claim != 1 || got.Crashes != 0 {
		t.Errorf("%d effects, %+v", other.effects("once"), got)
	}
}

func TestLongRunKeepsItsLeaseByRenewing(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t, shop)
	short := func(c *lease.Config) { c.Lease = 800 * time.Millisecond }
	busy, other := newReplica(t, url, short), newReplica(t, url, short)
	started, hold := make(chan struct{}), make(chan struct{})
	busy.onCall = func(context.Context, call) error { close(started); <-hold; return nil }
	id := busy.schedule(call{"long"})
	busy.run()
	<-started
	other.run()
	begun := postgrestest.Value[time.Time](t, busy.source, `SELECT clock_timestamp()`)
	busy.within("three leases", func() bool {
		return postgrestest.Value[bool](t, busy.source, `SELECT clock_timestamp() > $1::timestamptz + interval '2.4 seconds'`, begun)
	})
	close(hold)
	busy.within("the end", func() bool { return busy.row(id).Processed })
	if got := busy.row(id); got.Claim != 1 || got.Crashes != 0 || busy.effects("long") != 1 {
		t.Errorf("%d effects, %+v", busy.effects("long"), got)
	}
}

func TestLostLeaseCancelsTheRunAndFencesItOff(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t, shop)
	frozen, other := newReplica(t, url), newReplica(t, url)
	started := make(chan struct{})
	frozen.onCall = func(ctx context.Context, _ call) error {
		close(started)
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), lease.ErrLost) {
			t.Errorf("cancelled by %v", context.Cause(ctx))
		}
		return nil // and the handler, obstinate, goes on to write
	}
	id := frozen.schedule(call{"once"})
	if _, err := frozen.runner.RunOnce(context.Background()); err != nil {
		t.Fatal(err)
	}
	<-started
	postgrestest.Exec(t, other.source, `UPDATE platform.internal_commands SET claimed_until = now() - interval '1 second' WHERE id = $1`, id)
	other.drain()
	frozen.runner.RenewOnce(context.Background())
	frozen.drain()
	if got := other.row(id); other.effects("once") != 1 || !got.Processed || got.Attempts != 1 || got.Claim != 2 {
		t.Errorf("%d effects, %+v", other.effects("once"), got)
	}
}

func TestFenceStopsAWriteWhoseContextDoesNotKnowYet(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t, shop)
	frozen, other := newReplica(t, url), newReplica(t, url)
	var wrote error
	frozen.onCall = func(ctx context.Context, c call) error {
		postgrestest.Exec(t, other.source, `UPDATE platform.internal_commands SET claimed_until = now() - interval '1 second'`)
		wrote = frozen.source.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) error { return effect(ctx, tx, "stale") })
		return errors.New("gave up")
	}
	id := frozen.schedule(call{"once"})
	if _, err := frozen.runner.RunOnce(context.Background()); err != nil {
		t.Fatal(err)
	}
	frozen.within("the attempt to write", func() bool { return !frozen.row(id).Run })
	if !errors.Is(wrote, lease.ErrLost) || other.effects("stale") != 0 {
		t.Errorf("wrote after the lease: %v", wrote)
	}
}

// Three suspected crashes, then once alone, then buried.
func TestCrashLoopRunsAloneAndIsBuried(t *testing.T) {
	t.Parallel()
	r := newReplica(t, postgrestest.URL(t, shop), func(c *lease.Config) { c.Lease = time.Hour })
	var beside atomic.Int32
	hold := make(chan struct{})
	r.onCall = func(context.Context, call) error { beside.Add(1); <-hold; beside.Add(-1); return nil }
	r.onNote = func(_ context.Context, _ *postgres.Tx, n note) error {
		if n.Text == "suspect" && beside.Load() != 0 {
			t.Error("a suspect ran beside others")
		}
		return nil
	}
	suspect := r.schedule(note{"suspect"}, after(time.Hour))
	postgrestest.Exec(t, r.source, `UPDATE platform.internal_commands SET crashes = 3, next_attempt_on = now() WHERE id = $1`, suspect)
	ordinary := r.schedule(call{"ordinary"}, after(time.Hour))
	r.makeDue(ordinary)
	if n, err := r.runner.RunOnce(context.Background()); err != nil || n != 1 {
		t.Fatalf("claimed %d, %v", n, err)
	}
	// While it waits for the process, nothing new starts beside what runs already.
	late := r.schedule(note{"late"})
	if n, err := r.runner.RunOnce(context.Background()); err != nil || n != 0 {
		t.Errorf("claimed %d while a suspect waits, %v", n, err)
	}
	close(hold)
	r.within("the ordinary one", func() bool { return r.row(ordinary).Processed })
	r.drain()
	if !r.row(suspect).Processed || !r.row(late).Processed {
		t.Errorf("suspect %+v, late %+v", r.row(suspect), r.row(late))
	}

	killer := r.schedule(note{"killer"}, after(time.Hour))
	for range 4 {
		r.vanish(killer)
		if _, err := r.runner.RunOnce(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if got := r.row(killer); !got.Dead || got.Reason != lease.ReasonCrashLoop || got.Crashes != 4 {
		t.Errorf("%+v", got)
	}
	if got := r.outcomes(killer); got != "crashed crashed crashed crashed" {
		t.Errorf("attempts: %s", got)
	}
}

func TestCrashOnTheLastAttemptIsNotStuck(t *testing.T) {
	t.Parallel()
	r := newReplica(t, postgrestest.URL(t, shop))
	id := r.schedule(note{"last"})
	postgrestest.Exec(t, r.source, `UPDATE platform.internal_commands SET attempts = max_attempts - 1 WHERE id = $1`, id)
	r.vanish(id)
	r.onNote = func(context.Context, *postgres.Tx, note) error { return errors.New("no") }
	r.drain()
	if got := r.row(id); !got.Dead || got.Reason != lease.ReasonExhausted {
		t.Errorf("%+v", got)
	}
}

func TestGracefulStopGivesClaimsBack(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t, shop)
	r := newReplica(t, url, func(c *lease.Config) { c.Grace = 50 * time.Millisecond })
	started, stopped := make(chan struct{}), make(chan struct{})
	r.onCall = func(ctx context.Context, c call) error {
		if c.Text == "obstinate" {
			<-stopped
			return nil
		}
		close(started)
		<-ctx.Done()
		return ctx.Err()
	}
	defer close(stopped)
	polite, obstinate := r.schedule(call{"polite"}), r.schedule(call{"obstinate"})
	stop := r.run()
	<-started
	r.within("both", func() bool { return r.row(polite).Run && r.row(obstinate).Run })
	stop()
	for _, id := range []uuid.UUID{polite, obstinate} {
		if got := r.row(id); got.Run || got.Attempts != 0 || got.Crashes != 0 || got.Processed || got.Dead {
			t.Errorf("%+v", got)
		}
		if got := r.outcomes(id); got != "released" {
			t.Errorf("attempts: %s", got)
		}
	}
	if n := postgrestest.Value[int](t, r.source, `SELECT count(*) FROM platform.replicas`); n != 0 {
		t.Error("a replica that has stopped is still listed")
	}
	next := newReplica(t, url)
	next.drain()
	if next.effects("polite") != 1 || next.effects("obstinate") != 1 {
		t.Error("what was given back was not taken up")
	}
}

func TestStopLetsFinishWhatCan(t *testing.T) {
	t.Parallel()
	r := newReplica(t, postgrestest.URL(t, shop))
	started, hold := make(chan struct{}), make(chan struct{})
	r.onCall = func(context.Context, call) error { close(started); <-hold; return nil }
	id := r.schedule(call{"nearly done"})
	stop := r.run()
	<-started
	var stopping sync.WaitGroup
	stopping.Go(stop)
	close(hold)
	stopping.Wait()
	if got := r.row(id); !got.Processed || r.effects("nearly done") != 1 {
		t.Errorf("%+v", got)
	}
}

// The session that runs the loop dies in the middle; the loop goes on with another.
func TestDatabaseThatGoesAwayForAMomentLosesNothing(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t, shop)
	r := newReplica(t, url)
	r.run()
	super := superuser(t, url)
	for i := range 5 {
		id := r.schedule(note{"storm"})
		postgrestest.Value[int](t, super, `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid()`)
		done := func() bool {
			return postgrestest.Value[bool](t, super, `SELECT processed_on IS NOT NULL FROM platform.internal_commands WHERE id = $1`, id)
		}
		for deadline := time.Now().Add(20 * time.Second); !done(); {
			if time.Now().After(deadline) {
				t.Fatalf("not run after the storm\n%s", r.log)
			}
		}
		if got := postgrestest.Value[int](t, super, `SELECT count(*) FROM shop.effect`); got != i+1 {
			t.Fatalf("%d effects of %d commands", got, i+1)
		}
	}
}
