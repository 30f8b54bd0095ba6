package internalcommand

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/later/lease"
	"example.com/plenary/platform/postgres"
)

// Rows is what operators can do with the rows of this mechanism.
var Rows = lease.Table{Name: Table, Source: "t.source", Scheduled: "t.scheduled_on", Correlation: "t.correlation_id", Subject: "t.id"}

// Stored is what a row holds besides its state: what is to be done, and for whom.
type Stored struct {
	Payload []byte
	Version int
	Origin  identity.Origin
}

// Read returns what a row holds, or false if there is no such row.
func Read(ctx context.Context, r postgres.Reader, id uuid.UUID) (Stored, bool, error) {
	var s Stored
	err := r.QueryRow(ctx, `
		SELECT payload, payload_version, coalesce(user_id, ''), roles, coalesce(tenant, ''), coalesce(correlation_id, ''), coalesce(trace_parent, '')
		FROM platform.internal_commands WHERE id = $1`, id).
		Scan(&s.Payload, &s.Version, &s.Origin.UserID, &s.Origin.Roles, &s.Origin.Tenant, &s.Origin.CorrelationID, &s.Origin.TraceParent)
	if errors.Is(err, pgx.ErrNoRows) {
		return Stored{}, false, nil
	}
	if err != nil {
		return Stored{}, false, fmt.Errorf("read command: %w", err)
	}
	return s, true, nil
}
