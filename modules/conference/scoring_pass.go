package conference

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"example.com/plenary/modules/conference/scoring"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/postgres"
)

// maxUnparseable is how often a session is sent to the model whose answer cannot be read. Each time is paid for.
const maxUnparseable = 2

// runPass scores what has no score under the present prompt, while the lock is held: every transaction in here
// checks the lock's fence and the command's lease first. One session's failure does not stop the others. What can be tried
// again is returned at the end, and the command comes back for it; what is refused stays as it is.
func (m *Module) runPass(ctx context.Context, cmd ScoreEventSessions, pass uuid.UUID) error {
	left, err := m.beginPass(ctx, cmd, pass)
	if fault.Is(err, errNoEvent.Code) {
		m.logger.InfoContext(ctx, "an event whose sessions were to be scored is gone", slog.String("event", cmd.EventID.String()))
		return nil
	}
	if err != nil {
		return err
	}
	if len(left) == 0 {
		m.logger.InfoContext(ctx, "there is nothing to score", slog.String("event", cmd.EventID.String()))
	}
	if err := m.scoreAll(ctx, pass, left); err != nil {
		return err
	}
	return m.source.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE conference.scoring_passes SET ended_on = clock_timestamp() WHERE id = $1`, pass)
		return err
	})
}

// beginPass records the pass and returns the sessions that are left to score. If an earlier run of the same
// command died, its calls that were under way are counted as lost: the model may have been paid for them, and is paid again.
func (m *Module) beginPass(ctx context.Context, cmd ScoreEventSessions, pass uuid.UUID) (left []Session, err error) {
	lost := 0
	err = m.source.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) error {
		event, err := loadEvent(ctx, tx, cmd.EventID)
		if err != nil {
			return err
		}
		if left, err = m.unscored(ctx, tx, event.ID); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO conference.scoring_passes (id, event_id, total) VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING`,
			pass, event.ID, len(left))
		if err != nil {
			return fmt.Errorf("begin pass: %w", err)
		}
		tag, err := tx.Exec(ctx, `
			UPDATE conference.scoring_calls SET outcome = 'lost', ended_on = clock_timestamp() WHERE pass_id = $1 AND outcome IS NULL`, pass)
		if err != nil {
			return fmt.Errorf("count lost calls: %w", err)
		}
		lost = int(tag.RowsAffected())
		_, err = tx.Exec(ctx, `UPDATE conference.scoring_passes SET lost = lost + $2, total = done + $3 WHERE id = $1`, pass, lost, len(left))
		return err
	})
	if err == nil && lost > 0 {
		m.lostCalls.Add(ctx, int64(lost))
		m.logger.WarnContext(ctx, "calls to the model were under way when their process died; they are made again", slog.Int("calls", lost))
	}
	return left, err
}

// unscored returns the proposed sessions that the present model and prompt have neither scored nor refused.
func (m *Module) unscored(ctx context.Context, tx *postgres.Tx, event uuid.UUID) ([]Session, error) {
	prompt := m.scorer.Prompt()
	rows, err := tx.Query(ctx, `
		SELECT `+sessionColumns+` FROM conference.sessions s
		WHERE s.event_id = $1 AND s.status = 'proposed'
			AND NOT EXISTS (SELECT FROM conference.scores x
				WHERE x.session_id = s.id AND x.model = $2 AND x.prompt_name = $3 AND x.prompt_version = $4)
			AND NOT EXISTS (SELECT FROM conference.scoring_calls c
				WHERE c.session_id = s.id AND c.model = $2 AND c.prompt_name = $3 AND c.prompt_version = $4
					AND c.outcome IN ('scoring.refused', 'scoring.too_long'))
			AND (SELECT count(*) FROM conference.scoring_calls c
				WHERE c.session_id = s.id AND c.model = $2 AND c.prompt_name = $3 AND c.prompt_version = $4
					AND c.outcome = 'scoring.unparseable') < $5
		ORDER BY s.id`, event, m.scorer.Model(), prompt.Name, prompt.Version, maxUnparseable)
	if err != nil {
		return nil, fmt.Errorf("list what is to be scored: %w", err)
	}
	return pgx.CollectRows(rows, scanSession)
}

// scoreAll asks about each session, a few at a time, and returns what is worth another try. A model that cannot
// be used at all ends it early.
func (m *Module) scoreAll(ctx context.Context, pass uuid.UUID, left []Session) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var workers sync.WaitGroup
	var mu sync.Mutex
	var again []error
	next := make(chan Session)
	for range min(m.scoresAtOnce, len(left)) {
		workers.Go(func() {
			for s := range next {
				err := m.scoreOne(ctx, pass, s)
				if fault.Is(err, "scoring.misconfigured") {
					stop(err) // every other session would fail the same way
				}
				if err != nil {
					mu.Lock()
					again = append(again, err)
					mu.Unlock()
				}
			}
		})
	}
feed:
	for _, s := range left {
		select {
		case next <- s:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	workers.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errors.Join(again...)
}

// scoreOne makes one call, between two short transactions. It returns an error if the session is to be asked
// about again; one that the model refuses is done.
func (m *Module) scoreOne(ctx context.Context, pass uuid.UUID, s Session) error {
	call := uuid.Must(uuid.NewV7())
	err := m.source.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) error { return m.beginCall(ctx, tx, call, pass, s) })
	if err != nil {
		return err
	}
	score, err := m.scorer.Score(ctx, scoring.Proposal{SessionID: s.ID, Title: s.Title, Abstract: s.Abstract, Speaker: s.SpeakerName})
	if err == nil {
		return m.recordScore(ctx, RecordScore{Call: call, Pass: pass, Session: s, Score: score})
	}
	if ctx.Err() != nil {
		return err // the call stays open: nobody knows what came of it
	}
	outcome, final := "failed", fault.KindOf(err) == fault.Invalid
	if f := fault.As(err); f != nil {
		outcome = f.Code
	}
	noted := m.source.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) error { return endCall(ctx, tx, call, pass, outcome, final) })
	m.logger.WarnContext(ctx, "a session was not scored", slog.String("session", s.ID.String()), slog.Bool("final", final), slog.Any("error", err))
	if final {
		return noted
	}
	return errors.Join(err, noted)
}

func (m *Module) beginCall(ctx context.Context, tx *postgres.Tx, call, pass uuid.UUID, s Session) error {
	prompt := m.scorer.Prompt()
	_, err := tx.Exec(ctx, `
		INSERT INTO conference.scoring_calls (id, pass_id, session_id, model, prompt_name, prompt_version) VALUES ($1, $2, $3, $4, $5, $6)`,
		call, pass, s.ID, m.scorer.Model(), prompt.Name, prompt.Version)
	if err != nil {
		return fmt.Errorf("begin call: %w", err)
	}
	return nil
}

// endCall records what came of a call. A session whose call ends for good counts as done.
func endCall(ctx context.Context, tx *postgres.Tx, call, pass uuid.UUID, outcome string, final bool) error {
	_, err := tx.Exec(ctx, `UPDATE conference.scoring_calls SET outcome = $2, ended_on = clock_timestamp() WHERE id = $1`, call, outcome)
	if err != nil {
		return fmt.Errorf("end call: %w", err)
	}
	if !final {
		return nil
	}
	failed := 0
	if outcome != scored {
		failed = 1
	}
	_, err = tx.Exec(ctx, `UPDATE conference.scoring_passes SET done = done + 1, failed = failed + $2 WHERE id = $1`, pass, failed)
	if err != nil {
		return fmt.Errorf("count progress: %w", err)
	}
	return nil
}
