package conference

import (
	"context"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/postgres"
)

// RequestScoring asks for the proposed sessions of a conference to be scored.
type RequestScoring struct{ EventID uuid.UUID }

// Policy is for those who select the sessions.
func (RequestScoring) Policy() command.Policy {
	return command.Policy{Name: "conference.request_scoring", Permission: PermissionSelect}
}

// requestScoring schedules the pass and returns the id by which its progress is followed. Whether somebody has
// asked already is not its business: two requests are two passes, and the second finds little left to do.
func (m *Module) requestScoring(ctx context.Context, tx *postgres.Tx, cmd RequestScoring) (uuid.UUID, error) {
	if _, err := loadEvent(ctx, tx, cmd.EventID); err != nil {
		return uuid.Nil, err
	}
	var now time.Time
	if err := tx.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&now); err != nil {
		return uuid.Nil, err
	}
	return m.commands.Schedule(ctx, tx, ScoreEventSessions{EventID: cmd.EventID, RequestedOn: now})
}

// Operation is work that goes on after its request was answered.
type Operation struct {
	OperationID uuid.UUID `json:"operationId"`
}

func (m *Module) postScoring(ctx context.Context, in byID) (httpx.Response[Operation], error) {
	return httpx.Act(ctx, m.RequestScoring, RequestScoring{EventID: in.ID}, func(id uuid.UUID) httpx.Response[Operation] {
		return httpx.Accepted("/api/v1/operations/"+id.String(), Operation{OperationID: id})
	})
}
