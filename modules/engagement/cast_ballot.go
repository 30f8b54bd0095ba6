package engagement

import (
	"bytes"
	"context"
	"slices"

	"github.com/google/uuid"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/postgres"
)

// CastBallot says which options the voter who asks has chosen: all of them, whatever was chosen before.
type CastBallot struct {
	PollID  uuid.UUID
	Options []uuid.UUID
}

// Policy leaves the decision to the handler: who has joined may vote.
func (CastBallot) Policy() command.Policy { return command.Policy{Name: "engagement.cast_ballot"} }

// Validate looks at what can be told without the poll. A ballot of nothing is none; that is what WithdrawBallot is for.
func (c CastBallot) Validate() error {
	var v fault.Violations
	v.Check(len(c.Options) >= 1 && len(c.Options) <= 10, "options", "out_of_range", "a ballot has 1 to 10 options")
	for i, o := range c.Options {
		if slices.Contains(c.Options[:i], o) {
			v.Add("options", "duplicate", "a ballot names an option once")
			break
		}
	}
	return v.Err()
}

// castBallot returns the ballot as it stands now.
func (m *Module) castBallot(ctx context.Context, tx *postgres.Tx, cmd CastBallot) ([]uuid.UUID, error) {
	f, err := m.factsOf(ctx, tx, cmd.PollID)
	if err != nil {
		return nil, err
	}
	v, err := m.viewerIn(ctx, tx, f.room)
	if err != nil {
		return nil, err
	}
	wanted := slices.SortedFunc(slices.Values(cmd.Options), func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	for _, o := range wanted {
		if !slices.Contains(f.options, o) {
			return nil, errNoOption
		}
	}
	if len(wanted) > 1 && !f.multiple {
		return nil, errOneOption
	}
	return wanted, m.replaceBallot(ctx, tx, f, cmd.PollID, v.voter, wanted)
}

var errOneOption error = func() error {
	var v fault.Violations
	v.Add("options", "out_of_range", "the poll takes one option")
	return v.Err()
}()

type putBallotInput struct {
	ID   uuid.UUID `path:"id"`
	Body struct {
		Options []uuid.UUID `json:"options" minItems:"1" maxItems:"10"`
	}
}

// BallotAnswer is what a vote is answered with.
type BallotAnswer struct {
	Poll PollView `json:"poll"`
}

func (m *Module) putBallot(ctx context.Context, in putBallotInput) (httpx.Response[BallotAnswer], error) {
	var none httpx.Response[BallotAnswer]
	if err := m.AdmitVote(ctx); err != nil {
		return none, err
	}
	mine, err := m.CastBallot(ctx, CastBallot{PollID: in.ID, Options: in.Body.Options})
	if err != nil {
		return none, err
	}
	return m.answerBallot(ctx, in.ID, mine)
}

// answerBallot shows the tally as it is now that the vote has committed. Votes that commit together share one count.
func (m *Module) answerBallot(ctx context.Context, poll uuid.UUID, mine []uuid.UUID) (httpx.Response[BallotAnswer], error) {
	p, err := m.polls.read(ctx, poll)
	if err != nil {
		return httpx.Response[BallotAnswer]{}, err
	}
	return httpx.OK(BallotAnswer{Poll: viewPoll(p, mine)}).WithVersion(p.Version), nil
}
