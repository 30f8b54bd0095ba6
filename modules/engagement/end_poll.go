package engagement

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/postgres"
)

// EndPoll closes a poll because its host says so. ClosePoll does because its time is up.
type EndPoll struct {
	ID      uuid.UUID
	IfMatch httpx.IfMatch // the version that the host has seen
}

// Policy lets hosts close polls.
func (EndPoll) Policy() command.Policy {
	return command.Policy{Name: "engagement.end_poll", Permission: PermissionHost}
}

func (m *Module) endPoll(ctx context.Context, tx *postgres.Tx, cmd EndPoll) (SeenPoll, error) {
	p, err := lockClosing(ctx, tx, cmd.ID)
	if err != nil {
		return SeenPoll{}, err
	}
	if err := cmd.IfMatch.Check(p.Version); err != nil {
		return SeenPoll{}, err
	}
	v, err := m.viewerIn(ctx, tx, p.Room)
	if err != nil {
		return SeenPoll{}, err
	}
	mine, err := ballotOf(ctx, tx, p.ID, v.voter)
	if err != nil {
		return SeenPoll{}, err
	}
	err = m.closeLocked(ctx, tx, &p)
	return SeenPoll{Poll: p, Mine: mine}, err
}

// lockClosing waits until every vote that was let in has committed, lets no other one in until tx ends, and only then
// reads the poll: its tally is final.
func lockClosing(ctx context.Context, tx *postgres.Tx, id uuid.UUID) (Poll, error) {
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, pollLock(id)); err != nil {
		return Poll{}, fmt.Errorf("wait for votes: %w", err)
	}
	return lockPoll(ctx, tx, id)
}

// closeLocked closes a poll that lockClosing returned, and keeps its result for the nightly recount.
func (m *Module) closeLocked(ctx context.Context, tx *postgres.Tx, p *Poll) error {
	if err := p.Close(); err != nil {
		return err
	}
	if err := savePoll(ctx, tx, p); err != nil {
		return err
	}
	ids, votes := make([]uuid.UUID, len(p.Options)), make([]int32, len(p.Options))
	for i, o := range p.Options {
		ids[i], votes[i] = o.ID, int32(o.Votes)
	}
	_, err := tx.Exec(ctx, `
		UPDATE engagement.poll_options o SET final_votes = v.votes FROM unnest($2::uuid[], $3::int[]) AS v(id, votes)
		WHERE o.poll_id = $1 AND o.id = v.id`, p.ID, ids, votes)
	if err != nil {
		return fmt.Errorf("keep the result: %w", err)
	}
	m.changedNow(tx, p.Room)
	return auditMoved(ctx, tx, *p, PollOpen)
}

func (m *Module) postClosing(ctx context.Context, in pollVersionInput) (httpx.Response[PollView], error) {
	return httpx.Act(ctx, m.EndPoll, EndPoll(in), showPoll)
}
