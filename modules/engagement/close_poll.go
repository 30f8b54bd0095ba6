package engagement

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/later/internalcommand"
	"example.com/plenary/platform/postgres"
)

// ClosePoll closes a poll whose time is up. It is scheduled when the poll opens.
type ClosePoll struct {
	PollID uuid.UUID `json:"pollId"`
}

// Policy has no permission: time, not a user, closes these polls.
func (ClosePoll) Policy() command.Policy {
	return command.Policy{Name: "engagement.close_poll", Timeout: 15 * time.Second}
}

// closePoll decides by the poll, not by when it was scheduled: one that is gone, or that its host has closed, is left
// alone, and that is success.
func (m *Module) closePoll(ctx context.Context, tx *postgres.Tx, cmd ClosePoll) error {
	p, err := lockClosing(ctx, tx, cmd.PollID)
	if fault.Is(err, errNoPoll.Code) {
		m.logger.InfoContext(ctx, "a poll that was to close is gone", slog.String("poll", cmd.PollID.String()))
		return nil
	}
	if err != nil {
		return err
	}
	if p.Status != PollOpen || p.ClosesOn == nil {
		return nil
	}
	var left time.Duration
	if err := tx.QueryRow(ctx, `SELECT $1::timestamptz - clock_timestamp()`, *p.ClosesOn).Scan(&left); err != nil {
		return fmt.Errorf("read the clock: %w", err)
	}
	if left > 0 { // the database's clock was set back
		return internalcommand.PutOff(left, "the poll's time is not up yet")
	}
	return m.closeLocked(ctx, tx, &p)
}
