package engagement

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/postgres"
)

// CreatePoll drafts a poll in a room. The audience does not see it before it is opened.
type CreatePoll struct {
	Code        string
	Question    string
	Options     []string
	Multiple    bool
	ClosesAfter *int // seconds after the opening
}

// Policy lets hosts create polls.
func (CreatePoll) Policy() command.Policy {
	return command.Policy{Name: "engagement.create_poll", Permission: PermissionHost}
}

const longestPoll = 24 * 60 * 60 // seconds

// Validate counts characters as people do. Two options are the same if they differ in nothing but case.
func (c CreatePoll) Validate() error {
	var v fault.Violations
	checkText(&v, "question", c.Question, 200)
	v.Check(len(c.Options) >= 2 && len(c.Options) <= 10, "options", "out_of_range", "a poll has 2 to 10 options")
	for i, o := range c.Options {
		path := fmt.Sprintf("options[%d]", i)
		checkText(&v, path, o, 100)
		for _, other := range c.Options[:i] {
			if strings.EqualFold(strings.TrimSpace(o), strings.TrimSpace(other)) {
				v.Add(path, "duplicate", "is there already")
				break
			}
		}
	}
	v.Check(c.ClosesAfter == nil || *c.ClosesAfter >= 1 && *c.ClosesAfter <= longestPoll, "closesAfterSeconds", "out_of_range", "must be 1 to 86400")
	return v.Err()
}

// checkText demands 1 to limit characters between the spaces around them.
func checkText(v *fault.Violations, path, text string, limit int) {
	n := utf8.RuneCountInString(strings.TrimSpace(text))
	v.Check(n >= 1, path, "required", "must not be empty")
	v.Check(n <= limit, path, "too_long", fmt.Sprintf("must not be longer than %d characters", limit))
}

func (m *Module) createPoll(ctx context.Context, tx *postgres.Tx, cmd CreatePoll) (SeenPoll, error) {
	room, err := roomByCode(ctx, tx, cmd.Code)
	if err != nil {
		return SeenPoll{}, err
	}
	p := Poll{
		ID: uuid.Must(uuid.NewV7()), Room: room, Question: strings.TrimSpace(cmd.Question), Multiple: cmd.Multiple,
		Status: PollDraft, ClosesAfter: cmd.ClosesAfter, Version: 1,
	}
	ids, texts := make([]uuid.UUID, len(cmd.Options)), make([]string, len(cmd.Options))
	for i, text := range cmd.Options {
		ids[i], texts[i] = uuid.Must(uuid.NewV7()), strings.TrimSpace(text)
		p.Options = append(p.Options, Option{ID: ids[i], Text: texts[i]})
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO engagement.polls (id, room_id, question, multiple, status, closes_after_seconds) VALUES ($1, $2, $3, $4, $5, $6)`,
		p.ID, room.ID, p.Question, p.Multiple, p.Status, p.ClosesAfter)
	if err != nil {
		return SeenPoll{}, fmt.Errorf("store poll: %w", err)
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO engagement.poll_options (poll_id, multiple, id, position, text)
		SELECT $1, $2, id, position, text FROM unnest($3::uuid[], $4::text[]) WITH ORDINALITY AS o(id, text, position)`,
		p.ID, p.Multiple, ids, texts)
	if err != nil {
		return SeenPoll{}, fmt.Errorf("store options: %w", err)
	}
	m.changedSoon(tx, room)
	return SeenPoll{Poll: p}, auditAdded(ctx, tx, p)
}

type postPollInput struct {
	Code string `path:"code"`
	Body struct {
		Question           string   `json:"question" minLength:"1" maxLength:"200"`
		Options            []string `json:"options" minItems:"2" maxItems:"10"`
		Multiple           bool     `json:"multiple,omitzero"`
		ClosesAfterSeconds *int     `json:"closesAfterSeconds,omitzero" minimum:"1" maximum:"86400"`
	}
}

func (m *Module) postPoll(ctx context.Context, in postPollInput) (httpx.Response[PollView], error) {
	cmd := CreatePoll{
		Code: in.Code, Question: in.Body.Question, Options: in.Body.Options, Multiple: in.Body.Multiple,
		ClosesAfter: in.Body.ClosesAfterSeconds,
	}
	return httpx.Act(ctx, m.CreatePoll, cmd, func(p SeenPoll) httpx.Response[PollView] {
		return httpx.Created("/api/v1/engagement/polls/"+p.ID.String(), viewPoll(p.Poll, nil)).WithVersion(p.Version)
	})
}
