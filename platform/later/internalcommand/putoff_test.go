package internalcommand_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/later/internalcommand"
	"example.com/plenary/platform/later/lease"
	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/postgres/postgrestest"
)

func (r *replica) state(id uuid.UUID) lease.State {
	r.t.Helper()
	got, ok, err := internalcommand.Rows.Get(context.Background(), r.source, id)
	if err != nil || !ok {
		r.t.Fatal(ok, err)
	}
	for _, state := range []lease.State{lease.Scheduled, lease.Due, lease.Running, lease.Retrying, lease.Succeeded, lease.DeadLettered} {
		listed, err := internalcommand.Rows.List(context.Background(), r.source, lease.Filter{State: state}, uuid.Nil, 10)
		if err != nil || (len(listed) == 1) != (state == got.State) {
			r.t.Errorf("it is %s, and the list of those that are %s has %d (%v)", got.State, state, len(listed), err)
		}
	}
	return got.State
}

// The transaction writes before it finds that it cannot go on, and nothing of that remains, its stamp included.
func TestPutOffUsesUpNoAttemptAndLeavesNoEffect(t *testing.T) {
	t.Parallel()
	r := newReplica(t, postgrestest.URL(t, shop))
	ready := false
	r.onNote = func(ctx context.Context, tx *postgres.Tx, _ note) error {
		if ready {
			return nil
		}
		if err := effect(ctx, tx, "too early"); err != nil {
			return err
		}
		return fmt.Errorf("wrapped: %w", internalcommand.PutOff(time.Hour, "the shop is closed"))
	}
	id := r.schedule(note{"once"})
	r.drain()
	got := r.row(id)
	if got.Attempts != 0 || got.PutOffs != 1 || got.Processed || got.Run || got.Dead || got.LastError != "" || r.effects("too early") != 0 {
		t.Errorf("put off: %+v, %d effects", got, r.effects("too early"))
	}
	if got.Wait < time.Hour-time.Minute || got.Wait > time.Hour {
		t.Errorf("it comes back in %v", got.Wait)
	}
	if state := r.state(id); state != lease.Scheduled {
		t.Errorf("it is %s", state)
	}
	log := r.log.String()
	if strings.Count(log, `level=INFO msg="put off"`) != 1 || strings.Contains(log, "level=WARN") || strings.Contains(log, "level=ERROR") {
		t.Errorf("the log:\n%s", log)
	}
	why := postgrestest.Value[string](t, r.source, `SELECT error FROM platform.attempts WHERE work_id = $1`, id)
	if why != "wrapped: the shop is closed" {
		t.Errorf("operators read %q", why)
	}
	r.makeDue(id)
	if state := r.state(id); state != lease.Due {
		t.Errorf("when its time has come it is %s", state)
	}
	ready = true
	r.drain()
	if got := r.row(id); !got.Processed || got.Attempts != 1 || r.effects("once") != 1 || r.outcomes(id) != "put_off succeeded" {
		t.Errorf("at the end: %+v, %d effects, %s", got, r.effects("once"), r.outcomes(id))
	}
}

func TestPutOffAfterAFailureIsNoRetry(t *testing.T) {
	t.Parallel()
	r := newReplica(t, postgrestest.URL(t, shop))
	next := []error{
		errors.New("broken"), internalcommand.PutOff(time.Hour, "not yet"), errors.New("broken again"),
		internalcommand.PutOff(time.Hour, "not yet"), errors.New("broken for good"),
	}
	r.onNote = func(context.Context, *postgres.Tx, note) (err error) {
		err, next = next[0], next[1:]
		return err
	}
	id := r.schedule(note{"x"})
	for _, want := range []struct {
		state    lease.State
		attempts int
	}{{lease.Retrying, 1}, {lease.Scheduled, 1}, {lease.Retrying, 2}, {lease.Scheduled, 2}, {lease.DeadLettered, 3}} {
		r.drain()
		if got := r.row(id); r.state(id) != want.state || got.Attempts != want.attempts {
			t.Errorf("it is %s, and has %+v; want %+v", r.state(id), got, want)
		}
		r.makeDue(id)
	}
	if got := r.row(id); got.Reason != lease.ReasonExhausted || got.PutOffs != 2 || r.outcomes(id) != "failed put_off failed put_off dead_lettered" {
		t.Errorf("%+v, %s", got, r.outcomes(id))
	}
	err := r.source.InTx(context.Background(), func(ctx context.Context, tx *postgres.Tx) error {
		_, err := internalcommand.Rows.Requeue(ctx, tx, []uuid.UUID{id})
		return err
	})
	if got := r.row(id); err != nil || got.PutOffs != 0 || got.Attempts != 0 {
		t.Errorf("requeued: %+v, %v", got, err)
	}
	// A claim that ends without an outcome is no put-off, whatever the one before was.
	next = []error{internalcommand.PutOff(time.Hour, "not yet")}
	r.drain()
	r.vanish(id)
	r.makeDue(id)
	postgrestest.Exec(t, r.source, `UPDATE platform.internal_commands SET payload_version = 99`) // so that nobody claims it
	r.drain()
	if state := r.state(id); state != lease.Retrying {
		t.Errorf("after a crash it is %s", state)
	}
}

func TestTwentyFirstPutOffIsAFailure(t *testing.T) {
	t.Parallel()
	r := newReplica(t, postgrestest.URL(t, shop))
	r.onNote = func(context.Context, *postgres.Tx, note) error {
		return internalcommand.PutOff(time.Minute, "never ready")
	}
	id := r.schedule(note{"x"})
	for range 20 {
		r.drain()
		r.makeDue(id)
	}
	if got := r.row(id); got.PutOffs != 20 || got.Attempts != 0 || got.Dead {
		t.Fatalf("after twenty: %+v", got)
	}
	for attempt := 1; attempt <= 3; attempt++ {
		r.drain()
		got := r.row(id)
		if got.PutOffs != 20 || got.Attempts != attempt || !strings.HasPrefix(got.LastError, "it was put off too often: never ready") {
			t.Errorf("failure %d: %+v", attempt, got)
		}
		if attempt < 3 && got.Wait < 50*time.Second {
			t.Errorf("it is tried again in %v, before it asked for it", got.Wait)
		}
		r.makeDue(id)
	}
	if got := r.row(id); !got.Dead || got.Reason != lease.ReasonExhausted {
		t.Errorf("at the end: %+v", got)
	}
	if !strings.Contains(r.log.String(), "level=WARN msg=failed") {
		t.Errorf("the failures made no noise:\n%s", r.log)
	}
}

// Each of two replicas finds the work with somebody else, until it is ready; it is done once.
func TestPutOffInOneReplicaIsTakenUpByAnother(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t, shop)
	a, b := newReplica(t, url), newReplica(t, url)
	a.onCall = func(context.Context, call) error { return internalcommand.PutOff(time.Hour, "not here") }
	id := a.schedule(call{"once"})
	a.drain()
	b.drain()
	if got := b.row(id); got.Claim != 1 || got.PutOffs != 1 {
		t.Errorf("before its time: %+v", got)
	}
	b.makeDue(id)
	b.drain()
	if got := b.row(id); !got.Processed || got.Attempts != 1 || b.effects("once") != 1 || b.outcomes(id) != "put_off succeeded" {
		t.Errorf("%+v, %d effects, %s", got, b.effects("once"), b.outcomes(id))
	}
}

func TestPutOffOfALostClaimIsDropped(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t, shop)
	frozen, other := newReplica(t, url), newReplica(t, url)
	frozen.onCall = func(context.Context, call) error {
		postgrestest.Exec(t, other.source, `UPDATE platform.internal_commands SET claimed_until = now() - interval '1 second'`)
		other.drain()
		return internalcommand.PutOff(0, "late")
	}
	id := frozen.schedule(call{"once"})
	frozen.drain()
	if got := other.row(id); !got.Processed || got.PutOffs != 0 || got.Claim != 2 || other.outcomes(id) != "crashed succeeded" {
		t.Errorf("%+v, %s", got, other.outcomes(id))
	}
	if !strings.Contains(frozen.log.String(), "lease was lost") {
		t.Errorf("the loss went unnoticed:\n%s", frozen.log)
	}
}

// The safety poll is an hour away: only a timer on the row itself brings it back.
func TestPutOffComesBackByItself(t *testing.T) {
	t.Parallel()
	r := newReplica(t, postgrestest.URL(t, shop))
	first := true
	r.onCall = func(context.Context, call) error {
		if first {
			first = false
			return internalcommand.PutOff(500*time.Millisecond, "in a moment")
		}
		return nil
	}
	r.run()
	id := r.schedule(call{"later"})
	r.within("its second run", func() bool { return r.row(id).Processed })
	early := postgrestest.Value[bool](t, r.source, `SELECT min(finished_on) + interval '450 milliseconds' > max(started_on) FROM platform.attempts`)
	if r.outcomes(id) != "put_off succeeded" || early {
		t.Errorf("%s, early: %v", r.outcomes(id), early)
	}
}

func TestPutOffInlineSaysWhenToAskAgain(t *testing.T) {
	t.Parallel()
	r := newReplica(t, postgrestest.URL(t, shop))
	r.onNote = func(context.Context, *postgres.Tx, note) error { return internalcommand.PutOff(time.Minute, "not yet") }
	err := r.noteNow(context.Background(), note{"x"})
	if fault.KindOf(err) != fault.Unavailable || !fault.Is(err, "put_off") || fault.As(err).RetryAfter != time.Minute {
		t.Errorf("%v", err)
	}
	if internalcommand.PutOff(-time.Hour, "x").(*fault.Error).RetryAfter != 0 || internalcommand.PutOff(1<<62, "x").(*fault.Error).RetryAfter != internalcommand.MaxDelay {
		t.Error("times out of range")
	}
}
