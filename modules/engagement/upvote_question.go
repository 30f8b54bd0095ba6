package engagement

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/postgres"
)

// UpvoteQuestion says whether the voter who asks wants a question answered. Saying it again changes nothing.
type UpvoteQuestion struct {
	ID     uuid.UUID
	Wanted bool
}

// Policy leaves the decision to the handler: who has joined may.
func (UpvoteQuestion) Policy() command.Policy {
	return command.Policy{Name: "engagement.upvote_question"}
}

var (
	errOwnQuestion    = fault.New(fault.Conflict, "engagement.own_question", "nobody upvotes their own question")
	errQuestionClosed = fault.New(fault.Conflict, "engagement.question_closed", "the question takes no upvotes")
)

func (m *Module) upvoteQuestion(ctx context.Context, tx *postgres.Tx, cmd UpvoteQuestion) (SeenQuestion, error) {
	q, err := loadQuestion(ctx, tx, cmd.ID)
	if err != nil {
		return SeenQuestion{}, err
	}
	v, err := m.viewerIn(ctx, tx, q.Room)
	switch {
	case err != nil:
		return SeenQuestion{}, err
	case !q.visibleTo(v):
		return SeenQuestion{}, errNoQuestion
	case q.Status != QuestionApproved:
		return SeenQuestion{}, errQuestionClosed
	case cmd.Wanted && q.Voter == v.voter:
		return SeenQuestion{}, errOwnQuestion
	}
	change := `UPDATE engagement.upvotes SET stands = false, changes = changes + 1 WHERE question_id = $1 AND voter = $2 AND stands`
	if cmd.Wanted {
		change = `
			INSERT INTO engagement.upvotes AS u (question_id, voter) VALUES ($1, $2)
			ON CONFLICT (question_id, voter) DO UPDATE SET stands = true, changes = u.changes + 1 WHERE NOT u.stands`
	}
	tag, err := tx.Exec(ctx, change, q.ID, v.voter)
	if err != nil {
		return SeenQuestion{}, fmt.Errorf("store upvote: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return seeQuestion(ctx, tx, q, v)
	}
	m.changedSoon(tx, q.Room)
	if q, err = loadQuestion(ctx, tx, cmd.ID); err != nil {
		return SeenQuestion{}, err
	}
	return seeQuestion(ctx, tx, q, v)
}

type upvoteInput struct {
	ID uuid.UUID `path:"id"`
}

func (m *Module) putUpvote(ctx context.Context, in upvoteInput) (httpx.Response[QuestionView], error) {
	return m.upvote(ctx, UpvoteQuestion{ID: in.ID, Wanted: true})
}

func (m *Module) deleteUpvote(ctx context.Context, in upvoteInput) (httpx.Response[QuestionView], error) {
	return m.upvote(ctx, UpvoteQuestion{ID: in.ID})
}

func (m *Module) upvote(ctx context.Context, cmd UpvoteQuestion) (httpx.Response[QuestionView], error) {
	if err := m.AdmitVote(ctx); err != nil {
		return httpx.Response[QuestionView]{}, err
	}
	q, err := m.UpvoteQuestion(ctx, cmd)
	if err != nil {
		return httpx.Response[QuestionView]{}, err
	}
	return showQuestion(q), nil
}
