package engagement_test

import (
	"testing"

	"github.com/google/uuid"

	"example.com/plenary/modules/engagement"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/postgres/postgrestest"
)

// overdue lets the time of all polls be up, and makes the commands that close them due.
func (r *rig) overdue() {
	r.t.Helper()
	postgrestest.Exec(r.t, r.source, `UPDATE engagement.polls SET closes_on = now() - interval '1 second'`)
	r.due()
}

func (r *rig) due() {
	r.t.Helper()
	postgrestest.Exec(r.t, r.source, `
		UPDATE platform.internal_commands SET next_attempt_on = now() WHERE name = 'engagement.close_poll' AND processed_on IS NULL`)
}

func (r *rig) failures() int {
	r.t.Helper()
	return postgrestest.Value[int](r.t, r.source, `
		SELECT count(*) FROM platform.internal_commands WHERE dead_lettered_on IS NOT NULL OR last_error IS NOT NULL`)
}

func TestPollClosesWhenItsTimeIsUp(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p, voter := r.open(false, 90), r.voter()
	armed := postgrestest.Value[bool](t, r.source, `
		SELECT bool_and(c.scheduled_on = p.closes_on AND p.closes_on BETWEEN now() + interval '80 seconds' AND now() + interval '90 seconds')
		FROM platform.internal_commands c, engagement.polls p WHERE c.name = 'engagement.close_poll'`)
	if !armed {
		t.Error("the closing is not armed for the poll's end")
	}
	if err := r.cast(voter, p, 0); err != nil {
		t.Fatal(err)
	}
	r.told()
	r.overdue()
	// The command has not run yet; the poll takes no votes all the same.
	if err := r.cast(voter, p, 1); !fault.Is(err, "engagement.poll_closed") {
		t.Errorf("a late vote: %v", err)
	}
	r.drain()
	after := r.show(p)
	if after.Status != engagement.PollClosed || after.Version != p.Version+1 || votes(after) != [3]int{1, 0, 0} || r.failures() != 0 {
		t.Errorf("%+v, %d failures", after, r.failures())
	}
	if r.mu.Lock(); len(r.changes) != 1 || !r.changes[0].Urgent {
		t.Errorf("told %+v", r.changes)
	}
	r.mu.Unlock()
	if len(r.view(voter).Polls) != 1 {
		t.Error("the closed poll is gone")
	}
}

func TestPollThatItsHostHasClosedStaysAsItIs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.end(r.open(false, 90))
	r.told()
	r.overdue()
	r.drain()
	if after := r.show(p); after.Version != p.Version || !after.ClosedOn.Equal(*p.ClosedOn) || r.failures() != 0 || r.told() != 0 {
		t.Errorf("%+v, %d failures", after, r.failures())
	}
}

func TestPollIsNotClosedEarly(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.open(false, 90)
	r.due()
	r.drain()
	if after := r.show(p); after.Status != engagement.PollOpen || r.failures() != 0 {
		t.Errorf("%+v, %d failures", after, r.failures())
	}
	r.overdue()
	r.drain()
	if after := r.show(p); after.Status != engagement.PollClosed {
		t.Error("once put off, it is never closed")
	}
}

func TestClosingOfAPollThatIsGone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open(false, 90)
	for _, table := range []string{"ballots", "poll_options", "polls"} {
		postgrestest.Exec(t, r.source, `DELETE FROM engagement.`+table)
	}
	r.due()
	r.drain()
	if r.failures() != 0 {
		t.Error("it fails")
	}
	if _, err := r.EndPoll(r.host, engagement.EndPoll{ID: uuid.New()}); !fault.Is(err, "engagement.poll_not_found") {
		t.Error(err)
	}
}
