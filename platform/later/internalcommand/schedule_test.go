package internalcommand_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/google/uuid"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/later/internalcommand"
	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/postgres/postgrestest"
)

func TestRollbackSchedulesNothingAndCommitOnce(t *testing.T) {
	t.Parallel()
	r := newReplica(t, postgrestest.URL(t, shop))
	err := r.source.InTx(context.Background(), func(ctx context.Context, tx *postgres.Tx) error {
		if _, err := r.queue.Schedule(ctx, tx, note{"never"}); err != nil {
			return err
		}
		return errors.New("changed my mind")
	})
	if err == nil {
		t.Fatal("no error")
	}
	r.drain()
	if n := postgrestest.Value[int](t, r.source, `SELECT count(*) FROM platform.internal_commands`); n != 0 {
		t.Errorf("%d rows after a rollback", n)
	}

	id := r.schedule(note{"once"}) // the schedule is the last statement of its transaction
	r.drain()
	r.drain()
	if got := r.row(id); r.effects("once") != 1 || !got.Processed || got.Attempts != 1 {
		t.Errorf("%d effects, row %+v", r.effects("once"), got)
	}
	if got := r.outcomes(id); got != "succeeded" {
		t.Errorf("attempts: %s", got)
	}
}

func TestHandlerStartsUponTheCommitHereAndElsewhere(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t, shop)
	here, elsewhere := newReplica(t, url), newReplica(t, url)
	// Many times, because a pass that is under way anyway may find a command without any wake-up.
	const times = 10
	stop := here.run()
	for i := range times {
		here.schedule(note{"local"})
		here.within("a local wake-up", func() bool { return here.effects("local") == i+1 })
	}
	stop()

	// Only the other replica works now; its poll is an hour away.
	elsewhere.run()
	ctx, cancel := context.WithCancel(context.Background())
	var bus sync.WaitGroup
	bus.Go(func() { _ = here.bus.Run(ctx) })
	defer bus.Wait()
	defer cancel()
	for i := range times {
		here.schedule(note{"remote"})
		here.within("a remote wake-up", func() bool { return here.effects("remote") == i+1 })
	}
}

func TestDelayedCommandIsArmedNotPolled(t *testing.T) {
	t.Parallel()
	r := newReplica(t, postgrestest.URL(t, shop))
	r.run()
	started := time.Now()
	id := r.schedule(note{"later"}, internalcommand.After(300*time.Millisecond))
	r.within("the timer", func() bool { return r.row(id).Processed })
	if took := time.Since(started); took < 300*time.Millisecond {
		t.Errorf("ran after %v, too early", took)
	}
}

func TestInstantThatHasPassedMeansNow(t *testing.T) {
	t.Parallel()
	r := newReplica(t, postgrestest.URL(t, shop))
	past := r.schedule(note{"past"}, internalcommand.At(time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)))
	future := r.schedule(note{"future"}, internalcommand.At(time.Now().Add(time.Hour)))
	r.drain()
	if !r.row(past).Processed || r.row(future).Processed {
		t.Errorf("past %+v, future %+v", r.row(past), r.row(future))
	}
	if wait := r.row(future).Wait; wait < 55*time.Minute || wait > 61*time.Minute {
		t.Errorf("due in %v", wait)
	}
}

func TestDeferredRunIsTheInlineRun(t *testing.T) {
	t.Parallel()
	r := newReplica(t, postgrestest.URL(t, shop))
	// The closure that the queue holds is the one that registration returned and that HTTP would call.
	registered := internalcommand.Door(r.queue, "shop.note").(command.Func[note])
	inline := r.noteNow
	if *(*unsafe.Pointer)(unsafe.Pointer(&registered)) != *(*unsafe.Pointer)(unsafe.Pointer(&inline)) {
		t.Error("a deferred run goes through another function value than an inline one")
	}
	if err := r.noteNow(context.Background(), note{"inline"}); err != nil || r.effects("inline") != 1 {
		t.Errorf("inline: %v", err)
	}
}

func TestContextTravels(t *testing.T) {
	t.Parallel()
	r := newReplica(t, postgrestest.URL(t, shop))
	var seen identity.Origin
	var runID string
	r.onNote = func(ctx context.Context, _ *postgres.Tx, _ note) error {
		seen, runID = identity.Capture(ctx), command.RunID(ctx)
		return nil
	}
	ada := identity.User(uuid.New(), "customer", "organizer")
	ctx := identity.WithPrincipal(context.Background(), ada)
	ctx = identity.WithTenant(identity.WithCorrelationID(ctx, "c-42"), "acme")
	id := r.scheduleAs(ctx, note{"who"})
	r.drain()
	if seen.UserID != ada.ID || strings.Join(seen.Roles, ",") != "customer,organizer" || seen.Tenant != "acme" || seen.CorrelationID != "c-42" {
		t.Errorf("restored %+v", seen)
	}
	if runID != id.String() {
		t.Errorf("run id %s, want the row's %s", runID, id)
	}

	r.schedule(note{"nobody"})
	r.drain()
	if seen.UserID != "" || len(seen.Roles) != 0 {
		t.Errorf("a command without a user ran as %+v", seen)
	}
}

type foreign struct{}

func (foreign) Policy() command.Policy { return command.Policy{Name: "other.foreign"} }

func TestScheduleRefuses(t *testing.T) {
	t.Parallel()
	r := newReplica(t, postgrestest.URL(t, shop))
	cases := map[string]struct {
		source *postgres.Source
		cmd    command.Command
		when   internalcommand.When
		code   string
	}{
		"what is not registered":       {r.source, foreign{}, internalcommand.After(0), "not_deferrable"},
		"another module's command":     {r.db.Source("other"), note{"x"}, internalcommand.After(0), "foreign_command"},
		"a payload that is too large":  {r.source, note{strings.Repeat("x", internalcommand.MaxPayload)}, internalcommand.After(0), "payload_too_large"},
		"text that cannot be stored":   {r.source, note{"a\x00b"}, internalcommand.After(0), ""},
		"a delay beyond all calendars": {r.source, note{"x"}, internalcommand.After(internalcommand.MaxDelay + 1), "delay_too_long"},
		"an instant in the year 10000": {r.source, note{"x"}, internalcommand.At(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)), "delay_too_long"},
	}
	for name, c := range cases {
		err := c.source.InTx(context.Background(), func(ctx context.Context, tx *postgres.Tx) error {
			_, err := r.queue.Schedule(ctx, tx, c.cmd, c.when)
			return err
		})
		if err == nil || (c.code != "" && !fault.Is(err, c.code)) || (c.code == "" && fault.KindOf(err) != fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Twenty thousand bytes, and letters of two bytes, are nothing special.
	for _, text := range []string{strings.Repeat("x", 20_000), strings.Repeat("é", 4000)} {
		id := r.schedule(note{text})
		r.drain()
		if !r.row(id).Processed {
			t.Errorf("a payload of %d bytes: %+v", len(text), r.row(id))
		}
	}
}

func TestManyConcurrentSchedulesRunOnceEach(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t, shop)
	one, two := newReplica(t, url), newReplica(t, url)
	one.run()
	two.run()
	const n = 200
	for i := range n {
		one.schedule(note{fmt.Sprint("many ", i)})
	}
	total := func() int {
		return postgrestest.Value[int](t, one.source, `SELECT count(*) FROM platform.internal_commands WHERE processed_on IS NOT NULL`)
	}
	one.within("all of them", func() bool { return total() == n })
	if effects := postgrestest.Value[int](t, one.source, `SELECT count(*) FROM shop.effect`); effects != n {
		t.Errorf("%d effects of %d commands", effects, n)
	}
}
