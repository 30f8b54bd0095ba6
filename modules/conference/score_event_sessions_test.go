package conference_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/modules/conference"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/postgres/postgrestest"
)

const demoSessions = 6

func TestAPassScoresEachSessionOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.replica()
	id := r.ask(sam)
	r.drain()
	all, most := w.model.calls()
	if r.state(id) != "done" || all != demoSessions || most != 1 || r.count("scores") != demoSessions || w.model.most > 2 {
		t.Errorf("%s, %d calls, %d for one session, %d scores, %d at once", r.state(id), all, most, r.count("scores"), w.model.most)
	}
	done, total, ok, err := r.ScoringProgress(t.Context(), id)
	if err != nil || !ok || done != demoSessions || total != demoSessions {
		t.Errorf("%d of %d, %t, %v", done, total, ok, err)
	}
	scores, err := r.ListScores(as(sam), conference.ListScores{EventID: conference.DemoEvent})
	if err != nil || len(scores) != demoSessions {
		t.Fatalf("%+v, %v", scores, err)
	}
	for i := 1; i < len(scores); i++ {
		if scores[i].Overall > scores[i-1].Overall {
			t.Error("not the best first")
		}
	}
	// Another request finds nothing left, one under a new prompt finds everything.
	again := r.ask(sam)
	r.drain()
	if all, _ := w.model.calls(); all != demoSessions || r.state(again) != "done" {
		t.Errorf("paid %d times", all)
	}
	w.model.version = 2
	r.ask(sam)
	r.drain()
	if all, _ := w.model.calls(); all != 2*demoSessions || r.count("scores") != demoSessions {
		t.Errorf("under a new prompt: paid %d times, %d scores", all, r.count("scores"))
	}
}

func TestWhoMayAsk(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.replica()
	for _, c := range []struct {
		who  context.Context
		kind fault.Kind
	}{{as(viktor), fault.Forbidden}, {context.Background(), fault.Unauthenticated}} {
		if _, err := r.RequestScoring(c.who, conference.RequestScoring{EventID: conference.DemoEvent}); fault.KindOf(err) != c.kind {
			t.Errorf("%v", err)
		}
		if _, err := r.ListScores(c.who, conference.ListScores{EventID: conference.DemoEvent}); fault.KindOf(err) != c.kind {
			t.Errorf("the scores: %v", err)
		}
	}
	if _, err := r.RequestScoring(as(sam), conference.RequestScoring{EventID: uuid.New()}); !fault.Is(err, "conference.event_not_found") {
		t.Errorf("%v", err)
	}
	if n := postgrestest.Value[int](t, r.source, `SELECT count(*) FROM platform.internal_commands`); n != 0 {
		t.Errorf("%d commands are scheduled", n)
	}
}

// What runs has the authority of whoever asked, as it was then. Nobody has none.
func TestWhoseAuthority(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.replica()
	mine, nobodys, viewers := r.ask(sam), r.ask(sam), r.ask(sam)
	// The role is taken away meanwhile: there is no table of roles in here to be asked, only what was captured.
	postgrestest.Exec(t, r.source, `UPDATE platform.internal_commands SET user_id = NULL, roles = '{}' WHERE id = $1`, nobodys)
	postgrestest.Exec(t, r.source, `UPDATE platform.internal_commands SET roles = '{viewer}' WHERE id = $1`, viewers)
	postgrestest.Exec(t, r.source, `UPDATE platform.internal_commands SET next_attempt_on = now() + interval '1 hour' WHERE id = $1`, mine)
	r.drain()
	if all, _ := w.model.calls(); r.state(nobodys) != "dead" || r.state(viewers) != "dead" || all != 0 {
		t.Errorf("nobody's %s, a viewer's %s, paid %d times", r.state(nobodys), r.state(viewers), all)
	}
	postgrestest.Exec(t, r.source, `UPDATE platform.internal_commands SET next_attempt_on = now() WHERE id = $1`, mine)
	r.drain()
	if all, _ := w.model.calls(); r.state(mine) != "done" || all != demoSessions {
		t.Errorf("the organizer's %s, paid %d times", r.state(mine), all)
	}
}

// Two requests in two replicas: the second waits for its turn without using up an attempt, and pays for nothing.
func TestTwoRequestsPayOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := w.replica(), w.replica()
	release := w.model.hold()
	defer release()
	first := one.ask(sam)
	one.run()
	one.within("the first pass", func() bool { return w.model.busy() == 2 })
	second := two.ask(sam)
	two.run()
	two.within("the second one to be put off", func() bool {
		return postgrestest.Value[int](t, two.source, `SELECT put_offs FROM platform.internal_commands WHERE id = $1`, second) > 0
	})
	release()
	one.within("the first one's end", func() bool { return one.state(first) == "done" })
	postgrestest.Exec(t, two.source, `UPDATE platform.internal_commands SET next_attempt_on = now() WHERE id = $1 AND claimed_until IS NULL`, second)
	w.wake()
	two.within("the second one's end", func() bool { return two.state(second) == "done" })
	all, most := w.model.calls()
	attempts := postgrestest.Value[int](t, two.source, `SELECT attempts FROM platform.internal_commands WHERE id = $1`, second)
	if all != demoSessions || most != 1 || attempts != 1 {
		t.Errorf("paid %d times, %d for one session, %d attempts", all, most, attempts)
	}
}

// A pass that began after a command was scheduled has done its work; one that began before may have missed a session.
func TestALaterPassCovers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.replica()
	early := r.ask(sam)
	postgrestest.Exec(t, r.source, `UPDATE platform.internal_commands SET next_attempt_on = now() + interval '1 hour' WHERE id = $1`, early)
	r.ask(sam)
	r.drain()
	if _, err := r.ProposeSession(as(viktor), conference.ProposeSession{EventID: conference.DemoEvent, Title: "Late", Abstract: "a", SpeakerName: "b"}); err != nil {
		t.Fatal(err)
	}
	late := r.ask(sam)
	postgrestest.Exec(t, r.source, `UPDATE platform.internal_commands SET next_attempt_on = now() WHERE id = $1`, early)
	r.drain()
	passes := r.count("scoring_passes")
	if all, _ := w.model.calls(); all != demoSessions+1 || r.state(early) != "done" || r.state(late) != "done" || passes != 2 {
		t.Errorf("paid %d times, %d passes", all, passes)
	}
}

func TestTimeoutCancelsTheCallAndFreesTheLock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.replica()
	release := w.model.hold()
	defer release()
	id := r.ask(sam)
	ctx, cancel := context.WithTimeout(as(sam), 500*time.Millisecond)
	defer cancel()
	// The pipeline's own limit is 12 minutes; a caller's earlier one goes the same way.
	err := r.Score(ctx, id)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if w.model.busy() != 0 {
		t.Error("the model is still being asked")
	}
	if n := postgrestest.Value[int](t, r.source, `SELECT count(*) FROM platform.locks WHERE expires_on > now()`); n != 0 {
		t.Error("the lock is still held")
	}
	release()
	r.drain()
	if r.state(id) != "done" || r.count("scores") != demoSessions {
		t.Errorf("%s, %d scores", r.state(id), r.count("scores"))
	}
}

// The process dies in the middle of a pass. The command comes back, enters its own lock at once and goes on; paid
// twice is what was under way, and that is counted.
func TestAPassGoesOnWhereItDied(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := w.replica(), w.replica()
	id := one.ask(sam)
	release := w.model.hold()
	ctx, die := context.WithCancel(as(sam))
	died := make(chan error, 1)
	go func() { died <- one.Score(ctx, id) }()
	one.within("two calls", func() bool { return w.model.busy() == 2 })
	// It dies: no release of the lock, no end of the calls. What a cancelled run writes is undone.
	die()
	<-died
	postgrestest.Exec(t, one.source, `INSERT INTO platform.locks (name, owner, fence, taken_on, expires_on)
		VALUES ('scoring:' || $1, $2, 1, now(), now() + interval '1 hour') ON CONFLICT (name) DO UPDATE SET expires_on = excluded.expires_on`,
		conference.DemoEvent.String(), id.String())
	release()
	two.drain()
	all, most := w.model.calls()
	lost := postgrestest.Value[int](t, two.source, `SELECT lost FROM conference.scoring_passes WHERE id = $1`, id)
	if two.state(id) != "done" || two.count("scores") != demoSessions || all != demoSessions+2 || most != 2 || lost != 2 {
		t.Errorf("%s, %d scores, paid %d times, %d for one, %d lost", two.state(id), two.count("scores"), all, most, lost)
	}
	if n := two.count(`scoring_calls WHERE outcome = 'lost'`); n != 2 {
		t.Errorf("%d calls are recorded as lost", n)
	}
	if done, total, _, _ := two.ScoringProgress(t.Context(), id); done != demoSessions || total != demoSessions {
		t.Errorf("%d of %d", done, total)
	}
}

// A holder that was only slow loses its lock to another, and what it still has to say is refused.
func TestAStalledHolderWritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.replica()
	release := w.model.hold()
	id := r.ask(sam)
	died := make(chan error, 1)
	go func() { died <- r.Score(as(sam), id) }()
	r.within("two calls", func() bool { return w.model.busy() == 2 })
	postgrestest.Exec(t, r.source, `UPDATE platform.locks SET fence = fence + 100, owner = 'another'`)
	release()
	if err := <-died; !fault.Is(err, "lock_lost") {
		t.Errorf("%v", err)
	}
	if n := r.count("scores"); n != 0 {
		t.Errorf("%d scores are written under a lock that was lost", n)
	}
}

func TestOneSessionDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.replica()
	overloaded := fault.New(fault.Unavailable, "scoring.unavailable", "overloaded")
	unreadable := fault.New(fault.Unavailable, "scoring.unparseable", "nonsense")
	w.model.faults = map[string][]error{
		"Our product":             {fault.New(fault.Invalid, "scoring.refused", "no")},
		"An outbox you can trust": {overloaded},
		"Modules before services": {unreadable, unreadable, unreadable, unreadable},
	}
	id := r.ask(sam)
	r.drain()
	if r.state(id) != "failed" || r.count("scores") != 3 {
		t.Fatalf("%s, %d scores", r.state(id), r.count("scores"))
	}
	for range 4 {
		postgrestest.Exec(t, r.source, `UPDATE platform.internal_commands SET next_attempt_on = now() WHERE processed_on IS NULL`)
		r.drain()
	}
	all, _ := w.model.calls()
	// Refused is paid once, overloaded is asked again, and what cannot be read is given up after two calls.
	if r.state(id) != "done" || r.count("scores") != 4 || all != 8 {
		t.Errorf("%s, %d scores, paid %d times", r.state(id), r.count("scores"), all)
	}
	r.ask(sam)
	r.drain()
	if again, _ := w.model.calls(); again != all {
		t.Errorf("another request pays %d times more", again-all)
	}
}

func TestAModelThatCannotBeUsedEndsThePass(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.replica()
	wrong := fault.New(fault.Internal, "scoring.misconfigured", "the key is refused")
	for _, title := range []string{"An outbox you can trust", "Leases, fences and other promises"} {
		w.model.faults[title] = []error{wrong}
	}
	id := r.ask(sam)
	r.drain()
	if all, _ := w.model.calls(); r.state(id) != "failed" || all > 3 {
		t.Errorf("%s, asked %d times", r.state(id), all)
	}
}

func TestARefusalIsSuccess(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.replica()
	postgrestest.Exec(t, r.source, `UPDATE conference.sessions SET status = 'declined'`)
	nothing := r.ask(sam)
	r.drain()
	gone := r.ask(sam)
	for _, table := range []string{"scoring_passes", "sessions", "events"} {
		postgrestest.Exec(t, r.source, `DELETE FROM conference.`+table)
	}
	r.drain()
	if r.state(nothing) != "done" || r.state(gone) != "done" {
		t.Errorf("nothing to score: %s, event gone: %s", r.state(nothing), r.state(gone))
	}
}

// The ranking is cached, and right on every replica as soon as a score has committed.
func TestCachedScoresAreEvictedOnEveryReplica(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := w.replica(), w.replica()
	ask := func(r *replica) int {
		scores, err := r.ListScores(identity.WithPrincipal(t.Context(), sam), conference.ListScores{EventID: conference.DemoEvent})
		if err != nil {
			t.Fatal(err)
		}
		return len(scores)
	}
	if ask(one)+ask(two) != 0 {
		t.Error("there are scores")
	}
	postgrestest.Exec(t, one.source, `INSERT INTO conference.events VALUES (gen_random_uuid(), 'x', 'x', now(), now(), 'UTC')`)
	one.ask(sam)
	one.drain()
	if a, b := ask(one), ask(two); a != demoSessions || b != demoSessions {
		t.Errorf("%d and %d scores", a, b)
	}
	postgrestest.Exec(t, one.source, `DELETE FROM conference.scores`)
	if ask(two) != demoSessions {
		t.Error("nothing is cached")
	}
}
