package live_test

import (
	"context"
	"testing"
	"time"

	"github.com/coder/websocket"

	"example.com/plenary/platform/live"
)

func TestSnapshotComesFirstAndThenWhatChanges(t *testing.T) {
	t.Parallel()
	r := newReplica(t, newStore())
	r.set("a", poll{ID: "1", Stage: "opened", N: 1}, live.Everyone)
	v, f := r.join("a")
	if len(f.Room.Polls) != 1 || f.Room.Polls[0].Poll.N != 1 || f.Room.Version != 1 {
		t.Errorf("the snapshot is %+v", f.Room)
	}
	r.change("b", poll{ID: "9", Stage: "opened"}, true) // another room
	r.change("a", poll{ID: "1", Stage: "opened", N: 2}, false)
	v.sees("poll.results-changed 1 2")
	r.change("a", poll{ID: "2", Stage: "opened", N: 0}, true)
	v.sees("poll.opened 2 0")
	r.change("a", poll{ID: "1", Stage: "closed", N: 2}, true)
	_, text, err := v.read()
	const want = `{"type":"poll.closed","seq":4,"poll":{"id":"1","stage":"closed","n":2,"text":""}}`
	if err != nil || text != want {
		t.Errorf("got %s %v\nwant %s", text, err, want)
	}
	if _, f := r.join("a"); len(f.Room.Polls) != 2 {
		t.Errorf("who comes later sees %+v", f.Room)
	}
}

func TestOnlyTheirAudienceSeesParts(t *testing.T) {
	t.Parallel()
	r := newReplica(t, newStore())
	public, _ := r.join("a")
	moderator, _ := r.join("a?as=moderator")
	tell := func(id string, who live.Audience) {
		r.Changed(done{}, live.Change{Room: "a", Version: r.set("a", poll{ID: id, Stage: "new"}, who), Urgent: true})
	}
	for range 2 { // new, and then a change of what is there
		tell("secret", moderators)
		moderator.next()
		tell("nobody's", 0)
		tell("public", live.Everyone)
		if got := moderator.next().Poll.ID; got != "public" {
			t.Errorf("a moderator was sent %s", got)
		}
		if got := public.next().Poll.ID; got != "public" {
			t.Errorf("everybody was sent %s", got)
		}
	}
}

func TestUpdatesOfAPartAreSpacedAndTheLastIsSent(t *testing.T) {
	t.Parallel()
	const interval = 200 * time.Millisecond
	r := newReplica(t, newStore(), func(c *live.Config) { c.Interval = interval })
	r.set("a", poll{ID: "1", Stage: "opened"}, live.Everyone)
	v, _ := r.join("a")
	begun, n, frames, last := time.Now(), 0, 0, 0
	for frames < 5 {
		seen := make(chan frame)
		go func() { seen <- v.next() }()
		for waiting := true; waiting; {
			n++
			r.change("a", poll{ID: "1", Stage: "opened", N: n}, n%2 == 0) // urgent, and yet only a tally
			select {
			case f := <-seen:
				frames, waiting = frames+1, false
				last = f.Poll.N
			case <-time.After(time.Millisecond):
			}
		}
	}
	if took := time.Since(begun); took < 4*interval {
		t.Errorf("5 tallies within %v", took)
	}
	for last != n {
		frames++
		last = v.next().Poll.N
	}
	if frames > 7 {
		t.Errorf("%d frames for what 7 are enough", frames)
	}
}

func TestNewStageIsSentAtOnceAndNothingOlderAfterIt(t *testing.T) {
	t.Parallel()
	r := newReplica(t, newStore(), func(c *live.Config) { c.Interval = time.Hour })
	r.set("a", poll{ID: "1", Stage: "opened"}, live.Everyone)
	v, _ := r.join("a")
	r.change("a", poll{ID: "1", Stage: "opened", N: 1}, true)
	v.sees("poll.results-changed 1 1")
	r.change("a", poll{ID: "1", Stage: "opened", N: 2}, true) // is to wait for an hour
	r.change("a", poll{ID: "1", Stage: "closed", N: 3}, true)
	v.sees("poll.closed 1 3")
	r.change("a", poll{ID: "2", Stage: "opened"}, true)
	v.sees("poll.opened 2 0")
	r.stop() // sends whatever is due
	v.closes(websocket.StatusGoingAway)
	if v.seq != 4 {
		t.Errorf("%d frames, want 4", v.seq)
	}
}

func TestPartThatIsGoneIsNotSentToWhoJoins(t *testing.T) {
	t.Parallel()
	r := newReplica(t, newStore())
	r.set("a", poll{ID: "1", Stage: "opened"}, live.Everyone)
	first, _ := r.join("a")
	r.mu.Lock()
	r.rooms["a"] = live.State{Version: 7}
	r.mu.Unlock()
	r.change("a", poll{ID: "2", Stage: "opened"}, true)
	first.sees("poll.opened 2 0")
	r.snapshot = func(ctx context.Context, room string) (live.State, error) {
		old, err := r.load(ctx, room)
		r.change("a", poll{ID: "2", Stage: "closed"}, true)
		first.sees("poll.closed 2 0")
		return old, err
	}
	second, _ := r.join("a")
	r.change("a", poll{ID: "3", Stage: "opened"}, true)
	second.sees("poll.closed 2 0", "poll.opened 3 0")
}

// A read began first and ends last.
func TestStateThatGrewOldWhileItWasReadIsNotTaken(t *testing.T) {
	t.Parallel()
	s := newStore()
	begun, goOn := make(chan bool, 1), make(chan bool)
	r := newReplica(t, s, func(c *live.Config) {
		c.Load = func(ctx context.Context, room string) (live.State, error) {
			state, err := s.load(ctx, room)
			begun <- true
			<-goOn
			return state, err
		}
	})
	first, _ := r.join("a")
	r.change("a", poll{ID: "1", Stage: "opened", N: 1}, true)
	<-begun
	s.set("a", poll{ID: "1", Stage: "opened", N: 2}, live.Everyone)
	s.set("a", poll{ID: "2", Stage: "opened"}, live.Everyone)
	second, _ := r.join("a")
	first.sees("poll.opened 2 0", "poll.opened 1 2") // its snapshot shows it to the others
	goOn <- true
	r.change("a", poll{ID: "2", Stage: "opened", N: 1}, true)
	<-begun
	goOn <- true
	first.sees("poll.results-changed 2 1")
	second.sees("poll.results-changed 2 1")
}

// Load should not, but did read the version and the parts at different times.
func TestPartThatIsOlderThanItsRoomIsNotSent(t *testing.T) {
	t.Parallel()
	r := newReplica(t, newStore())
	v, _ := r.join("a")
	r.change("a", poll{ID: "1", Stage: "opened", N: 1}, true)
	r.mu.Lock()
	old := r.rooms["a"].Parts
	r.mu.Unlock()
	v.sees("poll.opened 1 1")
	r.change("a", poll{ID: "1", Stage: "opened", N: 2}, true)
	v.sees("poll.results-changed 1 2")
	r.mu.Lock()
	r.rooms["a"] = live.State{Version: 3, Parts: old}
	r.mu.Unlock()
	r.change("a", poll{ID: "2", Stage: "opened"}, true)
	v.sees("poll.opened 2 0")
	r.change("a", poll{ID: "2", Stage: "closed"}, true)
	v.sees("poll.closed 2 0")
}

// The snapshot was read, and before its client was let in, the room moved on.
func TestClientIsSentWhatItsSnapshotMissed(t *testing.T) {
	t.Parallel()
	s := newStore()
	r := newReplica(t, s)
	s.set("a", poll{ID: "1", Stage: "opened"}, live.Everyone)
	s.set("a", poll{ID: "2", Stage: "opened"}, live.Everyone)
	first, _ := r.join("a")
	r.snapshot = func(ctx context.Context, room string) (live.State, error) {
		old, err := s.load(ctx, room)
		r.change("a", poll{ID: "1", Stage: "closed", N: 5}, true)
		first.sees("poll.closed 1 5")
		return old, err
	}
	second, f := r.join("a")
	if f.Room.Version != 2 {
		t.Fatalf("the snapshot is not the old one: %+v", f.Room)
	}
	second.sees("poll.closed 1 5")
	r.change("a", poll{ID: "2", Stage: "opened", N: 1}, true)
	first.sees("poll.results-changed 2 1")
	second.sees("poll.results-changed 2 1")
}

func TestLostChangeIsFoundByComparison(t *testing.T) {
	t.Parallel()
	r := newReplica(t, newStore())
	v, _ := r.join("a")
	r.set("a", poll{ID: "1", Stage: "opened"}, live.Everyone) // and nobody says so
	for _, want := range []int{1, 0} {
		if n, err := r.CompareOnce(t.Context()); n != want || err != nil {
			t.Errorf("%d rooms are behind, want %d: %v", n, want, err)
		}
		if want == 1 {
			v.sees("poll.opened 1 0")
		}
	}
}

func TestComparisonRunsByItself(t *testing.T) {
	t.Parallel()
	r := newReplica(t, newStore(), func(c *live.Config) { c.Compare = 10 * time.Millisecond })
	v, _ := r.join("a")
	r.set("a", poll{ID: "1", Stage: "opened"}, live.Everyone)
	v.sees("poll.opened 1 0")
}
