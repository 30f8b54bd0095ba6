package conference

import (
	"context"

	"github.com/google/uuid"

	"example.com/plenary/platform/command"
)

// Score runs the pass of a scheduled command as its runner would, but for the lease.
func (m *Module) Score(ctx context.Context, id uuid.UUID) error {
	return m.scoreEventSessions(command.WithRunID(ctx, id.String()), ScoreEventSessions{EventID: DemoEvent})
}
