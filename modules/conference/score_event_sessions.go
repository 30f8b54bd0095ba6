package conference

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/later/internalcommand"
	"example.com/plenary/platform/lock"
)

// ScoreEventSessions has every proposed session of a conference scored by the model.
type ScoreEventSessions struct {
	EventID     uuid.UUID `json:"eventId"`
	RequestedOn time.Time `json:"requestedOn"` // by the database's clock
}

// Policy asks again, when it runs, for what the organizer was allowed when it was scheduled.
func (ScoreEventSessions) Policy() command.Policy {
	return command.Policy{Name: "conference.score_event_sessions", Permission: PermissionSelect, Timeout: 12 * time.Minute}
}

// lockTTL is how long others wait for a holder that is not heard of any more. The command that it ran for does
// not wait: it owns the lock, and enters again as soon as its row is claimed anew.
const lockTTL = time.Minute

// scoreEventSessions runs one pass at a time for each conference. A command that finds another pass under way is
// put off to when the lock may be free; it is done when a pass has ended that began after it was asked for, for
// that one has seen all that this one would.
func (m *Module) scoreEventSessions(ctx context.Context, cmd ScoreEventSessions) error {
	pass, err := uuid.Parse(command.RunID(ctx))
	if err != nil {
		return fmt.Errorf("score sessions: a pass is only run as a deferred command: %w", err)
	}
	covered, err := m.covered(ctx, cmd, pass)
	if err != nil {
		return err
	}
	if covered {
		m.logger.InfoContext(ctx, "another pass has scored what this one was to score", slog.String("event", cmd.EventID.String()))
		return nil
	}
	err = m.locks.Hold(ctx, "scoring:"+cmd.EventID.String(), pass.String(), lock.Options{TTL: lockTTL}, func(ctx context.Context) error {
		return m.runPass(ctx, cmd, pass)
	})
	if taken, ok := errors.AsType[*lock.Taken](err); ok {
		return internalcommand.PutOff(taken.Remaining, "another pass over the sessions is under way")
	}
	return err
}

// covered reports whether a pass of another command has ended that began after this one was asked for.
func (m *Module) covered(ctx context.Context, cmd ScoreEventSessions, pass uuid.UUID) (yes bool, err error) {
	err = m.source.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM conference.scoring_passes
			WHERE event_id = $1 AND id <> $2 AND started_on > $3 AND ended_on IS NOT NULL)`, cmd.EventID, pass, cmd.RequestedOn).Scan(&yes)
	if err != nil {
		return false, fmt.Errorf("look for a later pass: %w", err)
	}
	return yes, nil
}
