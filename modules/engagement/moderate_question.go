package engagement

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"example.com/plenary/platform/audit"
	"example.com/plenary/platform/command"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/postgres"
)

// ModerateQuestion decides what becomes of a question.
type ModerateQuestion struct {
	ID     uuid.UUID
	Action string // one of moderation
}

// Policy lets moderators decide.
func (ModerateQuestion) Policy() command.Policy {
	return command.Policy{Name: "engagement.moderate_question", Permission: PermissionModerate}
}

// moderation is what a moderator can do.
var moderation = map[string]func(*Question) error{
	"approve": (*Question).Approve, "dismiss": (*Question).Dismiss, "answer": (*Question).Answer,
}

// Validate knows the actions.
func (c ModerateQuestion) Validate() error {
	var v fault.Violations
	v.Check(moderation[c.Action] != nil, "action", "unknown_value", "must be approve, dismiss or answer")
	return v.Err()
}

func (m *Module) moderateQuestion(ctx context.Context, tx *postgres.Tx, cmd ModerateQuestion) (SeenQuestion, error) {
	q, err := lockQuestion(ctx, tx, cmd.ID)
	if err != nil {
		return SeenQuestion{}, err
	}
	before := auditedQuestion{q.Status}
	if err := moderation[cmd.Action](&q); err != nil {
		return SeenQuestion{}, err
	}
	err = tx.QueryRow(ctx, `
		UPDATE engagement.questions SET status = $2, version = version + 1, approved_on = CASE WHEN $3 THEN coalesce(approved_on, now()) END
		WHERE id = $1 RETURNING version`, q.ID, q.Status, q.Public).Scan(&q.Version)
	if err != nil {
		return SeenQuestion{}, fmt.Errorf("save question: %w", err)
	}
	m.changedNow(tx, q.Room)
	if err := audit.Modified(ctx, tx, auditQuestion, q.ID.String(), before, auditedQuestion{q.Status}); err != nil {
		return SeenQuestion{}, err
	}
	v, err := m.viewerIn(ctx, tx, q.Room)
	if err != nil {
		return SeenQuestion{}, err
	}
	return seeQuestion(ctx, tx, q, v)
}

// seeQuestion adds what v has to do with the question.
func seeQuestion(ctx context.Context, r postgres.Reader, q Question, v viewer) (SeenQuestion, error) {
	seen := SeenQuestion{Question: q, Mine: q.Voter == v.voter}
	err := r.QueryRow(ctx, `SELECT EXISTS (SELECT FROM engagement.upvotes WHERE question_id = $1 AND voter = $2 AND stands)`,
		q.ID, v.voter).Scan(&seen.Upvoted)
	if err != nil {
		return SeenQuestion{}, fmt.Errorf("read upvote: %w", err)
	}
	return seen, nil
}

type postModerationInput struct {
	ID   uuid.UUID `path:"id"`
	Body struct {
		Action string `json:"action" enum:"approve,dismiss,answer"`
	}
}

func (m *Module) postModeration(ctx context.Context, in postModerationInput) (httpx.Response[QuestionView], error) {
	return httpx.Act(ctx, m.ModerateQuestion, ModerateQuestion{ID: in.ID, Action: in.Body.Action}, showQuestion)
}
