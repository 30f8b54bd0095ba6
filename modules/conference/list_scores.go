package conference

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"example.com/plenary/modules/conference/scoring"
	"example.com/plenary/platform/command"
	"example.com/plenary/platform/httpx"
)

// ScoreView is a score as it is shown. Reasoning is the text of a model that a stranger may have steered.
type ScoreView struct {
	SessionID     uuid.UUID        `json:"sessionId"`
	Overall       float64          `json:"overall" doc:"1.0 to 10.0"`
	Criteria      scoring.Criteria `json:"criteria"`
	Penalty       float64          `json:"penalty"`
	Reasoning     string           `json:"reasoning"`
	Model         string           `json:"model"`
	PromptVersion int              `json:"promptVersion"`
	ScoredOn      time.Time        `json:"scoredOn"`
}

// ListScores asks for the ranking of a conference's sessions, best first. It is kept until a score changes.
type ListScores struct{ EventID uuid.UUID }

// Policy is for those who select the sessions.
func (ListScores) Policy() command.Policy {
	return command.Policy{Name: "conference.list_scores", Permission: PermissionSelect}
}

func scoresKey(event uuid.UUID) string { return "conference.scores:" + event.String() }

// CacheKey names what the ranking depends on: whoever may see it sees the same.
func (q ListScores) CacheKey() (key string, keep time.Duration) {
	return scoresKey(q.EventID), 10 * time.Minute
}

func (m *Module) listScores(ctx context.Context, q ListScores) ([]ScoreView, error) {
	if _, err := loadEvent(ctx, m.source, q.EventID); err != nil {
		return nil, err
	}
	rows, err := m.source.Query(ctx, `
		SELECT session_id, overall::float8, relevance, depth, practicality, originality, clarity, feasibility, penalty::float8,
			reasoning, model, prompt_version, scored_on
		FROM conference.scores WHERE event_id = $1 ORDER BY overall DESC, session_id`, q.EventID)
	if err != nil {
		return nil, fmt.Errorf("list scores: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (v ScoreView, err error) {
		c := &v.Criteria
		err = row.Scan(&v.SessionID, &v.Overall, &c.Relevance, &c.Depth, &c.Practicality, &c.Originality, &c.Clarity, &c.Feasibility,
			&v.Penalty, &v.Reasoning, &v.Model, &v.PromptVersion, &v.ScoredOn)
		return v, err
	})
}

// Scores is the ranking of a conference's sessions.
type Scores struct {
	Items []ScoreView `json:"items"`
}

func (m *Module) getScores(ctx context.Context, in byID) (httpx.Response[Scores], error) {
	scores, err := m.ListScores(ctx, ListScores{EventID: in.ID})
	return httpx.OK(Scores{Items: scores}), err
}
