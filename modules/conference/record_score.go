package conference

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"example.com/plenary/modules/conference/scoring"
	"example.com/plenary/platform/command"
	"example.com/plenary/platform/postgres"
)

// scored is the outcome of a call that gave a score.
const scored = "scored"

// RecordScore stores what the model thinks of one session.
type RecordScore struct {
	Call, Pass uuid.UUID
	Session    Session
	Score      scoring.Score
}

// Policy asks for what the pass was asked for.
func (RecordScore) Policy() command.Policy {
	return command.Policy{Name: "conference.record_score", Permission: PermissionSelect}
}

// Evicts names the ranking, which is stale on every replica once this has committed.
func (c RecordScore) Evicts() []string { return []string{scoresKey(c.Session.EventID)} }

func (m *Module) storeScore(ctx context.Context, tx *postgres.Tx, cmd RecordScore) error {
	s, c := cmd.Score, cmd.Score.Criteria
	_, err := tx.Exec(ctx, `
		INSERT INTO conference.scores (session_id, event_id, relevance, depth, practicality, originality, clarity, feasibility,
			penalty, overall, reasoning, model, prompt_name, prompt_version, prompt_hash)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
		ON CONFLICT (session_id) DO UPDATE SET relevance = excluded.relevance, depth = excluded.depth, practicality = excluded.practicality,
			originality = excluded.originality, clarity = excluded.clarity, feasibility = excluded.feasibility, penalty = excluded.penalty,
			overall = excluded.overall, reasoning = excluded.reasoning, model = excluded.model, prompt_name = excluded.prompt_name,
			prompt_version = excluded.prompt_version, prompt_hash = excluded.prompt_hash, scored_on = now()`,
		cmd.Session.ID, cmd.Session.EventID, c.Relevance, c.Depth, c.Practicality, c.Originality, c.Clarity, c.Feasibility,
		s.Penalty, s.Overall(), s.Reasoning, s.Model, s.Prompt.Name, s.Prompt.Version, s.Prompt.Hash)
	if err != nil {
		return fmt.Errorf("store score: %w", err)
	}
	_, err = tx.Exec(ctx, `UPDATE conference.scoring_calls SET input_tokens = $2, output_tokens = $3 WHERE id = $1`, cmd.Call, s.InputTokens, s.OutputTokens)
	if err != nil {
		return fmt.Errorf("store usage: %w", err)
	}
	return endCall(ctx, tx, cmd.Call, cmd.Pass, scored, true)
}
