package engagement

import (
	"context"

	"github.com/google/uuid"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/postgres"
)

// WithdrawBallot takes the ballot of the voter who asks back. Without one it changes nothing.
type WithdrawBallot struct{ PollID uuid.UUID }

// Policy leaves the decision to the handler, as that of CastBallot.
func (WithdrawBallot) Policy() command.Policy {
	return command.Policy{Name: "engagement.withdraw_ballot"}
}

func (m *Module) withdrawBallot(ctx context.Context, tx *postgres.Tx, cmd WithdrawBallot) error {
	f, err := m.factsOf(ctx, tx, cmd.PollID)
	if err != nil {
		return err
	}
	v, err := m.viewerIn(ctx, tx, f.room)
	if err != nil {
		return err
	}
	return m.replaceBallot(ctx, tx, f, cmd.PollID, v.voter, []uuid.UUID{})
}

func (m *Module) deleteBallot(ctx context.Context, in struct {
	ID uuid.UUID `path:"id"`
},
) (httpx.Response[BallotAnswer], error) {
	var none httpx.Response[BallotAnswer]
	if err := m.AdmitVote(ctx); err != nil {
		return none, err
	}
	if err := m.WithdrawBallot(ctx, WithdrawBallot{PollID: in.ID}); err != nil {
		return none, err
	}
	return m.answerBallot(ctx, in.ID, nil)
}
