package engagement_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"

	"example.com/plenary/platform/live"
	"example.com/plenary/platform/postgres"
)

// attendees is the bit of those who are no moderators.
const attendees live.Audience = 1

func (r *rig) parts() []live.Part {
	r.t.Helper()
	state, err := r.LoadRoom(context.Background(), r.code)
	if err != nil {
		r.t.Fatal(err)
	}
	if version := r.version(); state.Version != version {
		r.t.Errorf("the state's version is %d, and %d is said", state.Version, version)
	}
	return state.Parts
}

// part returns the part of a key, and fails unless there is one.
func (r *rig) part(key string) live.Part {
	r.t.Helper()
	for _, p := range r.parts() {
		if p.Key == key {
			return p
		}
	}
	r.t.Fatalf("no part %s", key)
	return live.Part{}
}

func TestPartsOfARoom(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if parts := r.parts(); len(parts) != 1 || parts[0].Key != "pending" {
		t.Errorf("an empty room has %+v", parts)
	}
	r.draft(false)
	if parts := r.parts(); len(parts) != 1 {
		t.Errorf("a draft is shown: %+v", parts)
	}
	p := r.open(false)
	poll := "poll:" + p.ID.String()
	opened := r.part(poll)
	if err := r.cast(r.voter(), p, 0); err != nil {
		t.Fatal(err)
	}
	voted := r.part(poll)
	r.end(p)
	closed := r.part(poll)
	if opened.Entered != "poll.opened" || voted.Updated != "poll.results-changed" || voted.Stage != opened.Stage || voted.Version <= opened.Version ||
		closed.Entered != "poll.closed" || closed.Stage == voted.Stage || closed.Version <= voted.Version {
		t.Errorf("%+v, %+v, %+v", opened, voted, closed)
	}
	body, err := json.Marshal(voted.Body)
	if err != nil || !strings.Contains(string(body), `"totalVotes":1,"myBallot":null`) {
		t.Errorf("%s", body)
	}

	before := r.part("pending")
	q := r.ask(r.voter(), "Why?")
	if after := r.part("pending"); after.Version <= before.Version || after.Updated != "question.pending-count" {
		t.Errorf("%+v", after)
	}
	for _, action := range []string{"approve", "answer", "dismiss"} {
		if err := r.moderate(q, action); err != nil {
			t.Fatal(err)
		}
		part, want := r.part("question:"+q.ID.String()), map[string]string{"approve": "approved", "answer": "answered", "dismiss": "dismissed"}[action]
		if part.Entered != "question."+want || part.Stage != want || part.Audience&attendees == 0 {
			t.Errorf("%s: %+v", action, part)
		}
	}
}

// Two votes begin, and the later one commits first: neither commit leaves the version as it was.
func TestVersionRisesInWhateverOrderVotesCommit(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.open(false)
	begin := func() (commit func()) {
		stored, leave, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		go func() {
			done <- r.source.InTx(context.Background(), func(ctx context.Context, tx *postgres.Tx) error {
				err := r.Replace(ctx, tx, p.ID, uuid.New(), []uuid.UUID{p.Options[0].ID})
				close(stored)
				<-leave
				return err
			})
		}()
		<-stored
		return func() {
			t.Helper()
			close(leave)
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
	}
	first, second := begin(), begin()
	start := r.version()
	second()
	middle := r.version()
	first()
	if end := r.version(); start >= middle || middle >= end {
		t.Errorf("the version went %d, %d, %d", start, middle, end)
	}
	// What the hub is told is above any version that it has read, and what is urgent above the rest.
	r.end(p)
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.changes[len(r.changes)-1]
	if vote := r.changes[len(r.changes)-2]; vote.Version <= r.version() || !last.Urgent || last.Version <= vote.Version || last.Room != r.code {
		t.Errorf("told %+v", r.changes)
	}
}

func TestWhoWatches(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.ask(r.voter(), "secret")
	for _, test := range []struct {
		ctx  context.Context
		sees string
		not  string
	}{
		{r.voter(), `"questions":`, "secret"},
		{r.host, `"pendingCount":1`, "nothing"},
	} {
		join, err := r.EnterRoom(test.ctx, strings.ToLower(r.code))
		if err != nil || join.Room != r.code {
			t.Fatal(join, err)
		}
		state, err := join.Snapshot(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(state.Snapshot)
		if err != nil || !strings.HasPrefix(string(text), `{"room":{"code":`) || !strings.Contains(string(text), test.sees) ||
			strings.Contains(string(text), test.not) || state.Version != r.version() {
			t.Errorf("%s, %v", text, err)
		}
	}
	if _, err := r.EnterRoom(r.alice, r.code); err == nil {
		t.Error("who has not joined watches")
	}
}
