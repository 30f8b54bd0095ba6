package engagement

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/postgres"
)

// AskQuestion hands a question in, for a moderator to approve.
type AskQuestion struct {
	Code string
	Text string
}

// Policy leaves the decision to the handler: who has joined may ask.
func (AskQuestion) Policy() command.Policy { return command.Policy{Name: "engagement.ask_question"} }

// Validate bounds the text.
func (c AskQuestion) Validate() error {
	var v fault.Violations
	checkText(&v, "text", c.Text, 500)
	return v.Err()
}

var errQuestionCap = fault.New(fault.Conflict, "engagement.question_cap", "ten of your questions are open already")

// askQuestion takes the lowest of the voter's slots that is free. The lock makes those who submit at once take turns, so
// that each finds its slot; without it the constraint would still hold, and refuse some for nothing.
func (m *Module) askQuestion(ctx context.Context, tx *postgres.Tx, cmd AskQuestion) (SeenQuestion, error) {
	room, err := roomByCode(ctx, tx, cmd.Code)
	if err != nil {
		return SeenQuestion{}, err
	}
	v, err := m.viewerIn(ctx, tx, room)
	if err != nil {
		return SeenQuestion{}, err
	}
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, lockKey("question", room.ID[:], v.voter[:])); err != nil {
		return SeenQuestion{}, fmt.Errorf("lock slots: %w", err)
	}
	q := Question{
		ID: uuid.Must(uuid.NewV7()), Room: room, Voter: v.voter, Text: strings.TrimSpace(cmd.Text), Status: QuestionPending, Version: 1,
	}
	err = tx.QueryRow(ctx, `
		INSERT INTO engagement.questions (id, room_id, voter, text, status, slot)
		SELECT $1, $2, $3, $4, $5, slot FROM generate_series(1, 10) AS slot
		WHERE slot NOT IN (
			SELECT slot FROM engagement.questions WHERE room_id = $2 AND voter = $3 AND status IN ('pending', 'approved'))
		ORDER BY slot LIMIT 1
		RETURNING created_on`, q.ID, room.ID, q.Voter, q.Text, q.Status).Scan(&q.CreatedOn)
	if errors.Is(err, pgx.ErrNoRows) {
		return SeenQuestion{}, errQuestionCap
	}
	if err != nil {
		return SeenQuestion{}, fmt.Errorf("store question: %w", err)
	}
	m.changedSoon(tx, room)
	return SeenQuestion{Question: q, Mine: true}, nil
}

type postQuestionInput struct {
	Code string `path:"code"`
	Body struct {
		Text string `json:"text" minLength:"1" maxLength:"500"`
	}
}

func (m *Module) postQuestion(ctx context.Context, in postQuestionInput) (httpx.Response[QuestionView], error) {
	if err := m.AdmitQuestion(ctx); err != nil {
		return httpx.Response[QuestionView]{}, err
	}
	return httpx.Act(ctx, m.AskQuestion, AskQuestion{Code: in.Code, Text: in.Body.Text}, func(q SeenQuestion) httpx.Response[QuestionView] {
		return httpx.Created("/api/v1/engagement/rooms/"+q.Room.Code, viewQuestion(q))
	})
}
