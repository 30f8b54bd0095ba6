package internalcommand_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/later/internalcommand"
	"example.com/plenary/platform/later/lease"
	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/postgres/postgrestest"
)

func TestFailureIsTriedAgainAndThenBuried(t *testing.T) {
	t.Parallel()
	r := newReplica(t, postgrestest.URL(t, shop))
	r.onNote = func(context.Context, *postgres.Tx, note) error { return errors.New("still broken\x00") }
	id := r.schedule(note{"broken"})
	r.drain()
	got := r.row(id)
	if got.Attempts != 1 || got.Processed || got.Run || !strings.HasPrefix(got.LastError, "still broken") {
		t.Errorf("after the first failure: %+v", got)
	}
	if got.Wait < 700*time.Millisecond || got.Wait > 1300*time.Millisecond {
		t.Errorf("tried again in %v, want 1 s give or take a fifth", got.Wait)
	}
	for range 2 {
		r.makeDue(id)
		r.drain()
	}
	got = r.row(id)
	if !got.Dead || got.Reason != lease.ReasonExhausted || got.Attempts != 3 || r.effects("broken") != 0 {
		t.Errorf("at the end: %+v", got)
	}
	if outcomes := r.outcomes(id); outcomes != "failed failed dead_lettered" {
		t.Errorf("attempts: %s", outcomes)
	}
	r.makeDue(id)
	r.drain()
	if again := r.row(id); again.Claim != got.Claim {
		t.Error("a dead letter was claimed")
	}
	if !strings.Contains(r.log.String(), `msg="dead letter"`) {
		t.Error("a dead letter made no noise")
	}
}

func TestPanicIsAFailureLikeAnyOther(t *testing.T) {
	t.Parallel()
	r := newReplica(t, postgrestest.URL(t, shop))
	r.onNote = func(context.Context, *postgres.Tx, note) error { panic("boom") }
	id := r.schedule(note{"panics"})
	r.drain()
	if got := r.row(id); got.Attempts != 1 || got.Dead || got.Crashes != 0 || !strings.Contains(got.LastError, "boom") {
		t.Errorf("%+v", got)
	}
}

func TestWhatCannotSucceedIsBuriedAtOnce(t *testing.T) {
	t.Parallel()
	for _, kind := range []fault.Kind{fault.Invalid, fault.Forbidden, fault.Unauthenticated} {
		r := newReplica(t, postgrestest.URL(t, shop))
		r.onNote = func(context.Context, *postgres.Tx, note) error {
			return fmt.Errorf("wrapped: %w", fault.New(kind, "no", "it will never do"))
		}
		id := r.schedule(note{"x"})
		r.drain()
		if got := r.row(id); !got.Dead || got.Reason != kind.String() || got.Attempts != 1 {
			t.Errorf("%v: %+v", kind, got)
		}
	}
}

// The four bad rows of the case are put in by SQL in front of ten good ones.
func TestBadRowsHarmNobody(t *testing.T) {
	t.Parallel()
	r := newReplica(t, postgrestest.URL(t, shop), func(c *lease.Config) { c.UnknownGrace = -1 })
	r.onNote = func(_ context.Context, _ *postgres.Tx, n note) error {
		if n.Text == "panic" {
			panic("boom")
		}
		return nil
	}
	bad := map[string]uuid.UUID{}
	for name, row := range map[string][2]string{
		"unknown name": {"does.not.exist", `{}`},
		"an array":     {"shop.note", `[]`},
		"wrong type":   {"shop.note", `{"Text": 42}`},
		"panics":       {"shop.note", `{"Text": "panic"}`},
	} {
		bad[name] = postgrestest.Value[uuid.UUID](t, r.source, `
			INSERT INTO platform.internal_commands (source, name, payload, max_attempts) VALUES ('shop', $1, $2, 1) RETURNING id`, row[0], row[1])
	}
	for range 10 {
		r.schedule(note{"good"})
	}
	if err := r.runner.Beat(context.Background()); err != nil {
		t.Fatal(err)
	}
	r.drain()
	if n := r.effects("good"); n != 10 {
		t.Errorf("%d of 10 good rows took effect", n)
	}
	want := map[string]string{
		"unknown name": lease.ReasonUnresolvable, "an array": lease.ReasonPayload,
		"wrong type": lease.ReasonPayload, "panics": lease.ReasonExhausted,
	}
	for name, id := range bad {
		if got := r.row(id); !got.Dead || got.Reason != want[name] || got.LastError == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestUnknownNameWaitsForItsGrace(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t, shop)
	known := newReplica(t, url)
	old := assemble(t, url, func(*replica, *command.Pipeline) {}, func(c *lease.Config) { c.UnknownGrace = time.Hour })
	beat := func(r *replica) {
		t.Helper()
		if err := r.runner.Beat(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	// The new replica schedules what the old one does not know, and is not there to run it for a while.
	id := known.schedule(note{"new"})
	beat(old)
	old.drain()
	if got := known.row(id); got.Dead || got.Claim != 0 {
		t.Fatalf("the old replica touched it: %+v", got)
	}
	if s := old.runner.Stats("command"); s.Unclaimable != 1 {
		t.Errorf("the gauge shows %d", s.Unclaimable)
	}
	// A live replica that knows the name takes it off the list.
	beat(known)
	beat(old)
	if s := old.runner.Stats("command"); s.Unclaimable != 0 {
		t.Errorf("somebody knows the name, yet the gauge shows %d", s.Unclaimable)
	}
	known.drain()
	if known.effects("new") != 1 {
		t.Error("the new replica did not run it")
	}
	// A name that stays unknown is buried when the grace is over, counted from when it was first seen.
	orphan := known.schedule(note{"orphan"})
	postgrestest.Exec(t, known.source, `UPDATE platform.internal_commands SET name = 'shop.gone', unclaimable_since = now() - interval '61 minutes' WHERE id = $1`, orphan)
	beat(old)
	if got := known.row(orphan); !got.Dead || got.Reason != lease.ReasonUnresolvable {
		t.Errorf("after the grace: %+v", got)
	}
}

func TestNewerPayloadVersionIsLeftAlone(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t, shop)
	old := newReplica(t, url)
	newer := assemble(t, url, func(r *replica, p *command.Pipeline) {
		internalcommand.Register(r.queue, command.Handle(p, r.source, r.handleNote),
			internalcommand.Version(2, func(_ int, payload []byte) ([]byte, error) {
				return []byte(strings.Replace(string(payload), "v1", "v1 upcast", 1)), nil
			}))
		internalcommand.Alias[note](r.queue, "shop.jot")
	})
	id := newer.schedule(note{"v2"})
	old.drain()
	if old.row(id).Claim != 0 {
		t.Error("an old replica claimed a payload that it does not understand")
	}
	old.schedule(note{"v1"})
	former := old.schedule(note{"aliased"})
	postgrestest.Exec(t, old.source, `UPDATE platform.internal_commands SET name = 'shop.jot' WHERE id = $1`, former)
	newer.drain()
	for _, text := range []string{"v2", "v1 upcast", "aliased"} {
		if newer.effects(text) != 1 {
			t.Errorf("no effect of %q", text)
		}
	}
}

func TestSlowCommandDelaysNobody(t *testing.T) {
	t.Parallel()
	r := newReplica(t, postgrestest.URL(t, shop))
	hold := make(chan struct{})
	r.onCall = func(context.Context, call) error { <-hold; return nil }
	r.run()
	slow := r.schedule(call{"slow"})
	r.within("the slow one's start", func() bool { return r.row(slow).Run })
	quick := r.schedule(note{"quick"})
	r.within("the quick one", func() bool { return r.row(quick).Processed })
	if r.row(slow).Processed {
		t.Error("the slow one was done first")
	}
	close(hold)
	r.within("the slow one", func() bool { return r.row(slow).Processed })
}
