package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/later/lease"
	"example.com/plenary/platform/postgres"
)

// Deliveries is what operators can do with the rows of this mechanism.
var Deliveries = lease.Table{
	Name: Table, From: "JOIN platform.events e ON e.id = t.event_id",
	Source: "e.source", Scheduled: "t.created_on", Correlation: "e.correlation_id", Subject: "t.event_id",
	AlsoNamed: "t.event",
}

// Stored is a published event.
type Stored struct {
	ID         uuid.UUID
	Source     string
	Name       string
	OccurredOn time.Time
	Version    int
	Payload    []byte
	Origin     identity.Origin
	Deliveries []lease.Row
}

const eventColumns = `e.id, e.source, e.name, e.occurred_on, e.payload_version, e.payload, coalesce(e.user_id, ''), e.roles,
	coalesce(e.tenant, ''), coalesce(e.correlation_id, ''), coalesce(e.trace_parent, '')`

func scanEvent(row pgx.CollectableRow) (Stored, error) {
	var e Stored
	err := row.Scan(&e.ID, &e.Source, &e.Name, &e.OccurredOn, &e.Version, &e.Payload, &e.Origin.UserID, &e.Origin.Roles,
		&e.Origin.Tenant, &e.Origin.CorrelationID, &e.Origin.TraceParent)
	return e, err
}

// List returns events by descending id, newest first, from before on, with all their deliveries. A filter's
// state means events with a delivery in that state; its name means the event's, or one handler's.
func List(ctx context.Context, r postgres.Reader, f lease.Filter, before uuid.UUID, limit int) ([]Stored, error) {
	if before == uuid.Nil {
		before = uuid.Max
	}
	inState := `true`
	if f.State != "" {
		inState = `EXISTS (SELECT FROM platform.deliveries t WHERE t.event_id = e.id AND ` + f.State.InSQL() + `)`
	}
	rows, err := r.Query(ctx, `
		SELECT `+eventColumns+` FROM platform.events e
		WHERE e.id < $1 AND ($2 = '' OR e.source = $2) AND ($3 = '' OR e.correlation_id = $3)
			AND ($4 = '' OR e.name = $4 OR EXISTS (SELECT FROM platform.deliveries t WHERE t.event_id = e.id AND t.name = $4))
			AND `+inState+`
		ORDER BY e.id DESC LIMIT $5`, before, f.Source, f.CorrelationID, f.Name, limit)
	if err != nil {
		return nil, fmt.Errorf("list events: %w", err)
	}
	events, err := pgx.CollectRows(rows, scanEvent)
	if err != nil {
		return nil, fmt.Errorf("list events: %w", err)
	}
	return events, attachDeliveries(ctx, r, events)
}

// Get returns one event with its deliveries, or false.
func Get(ctx context.Context, r postgres.Reader, id uuid.UUID) (Stored, bool, error) {
	rows, err := r.Query(ctx, `SELECT `+eventColumns+` FROM platform.events e WHERE e.id = $1`, id)
	if err != nil {
		return Stored{}, false, fmt.Errorf("read event: %w", err)
	}
	e, err := pgx.CollectExactlyOneRow(rows, scanEvent)
	if errors.Is(err, pgx.ErrNoRows) {
		return Stored{}, false, nil
	}
	if err != nil {
		return Stored{}, false, fmt.Errorf("read event: %w", err)
	}
	events := []Stored{e}
	err = attachDeliveries(ctx, r, events)
	return events[0], true, err
}

func attachDeliveries(ctx context.Context, r postgres.Reader, events []Stored) error {
	byEvent := map[uuid.UUID]*Stored{}
	ids := make([]uuid.UUID, len(events))
	for i := range events {
		ids[i] = events[i].ID
		byEvent[ids[i]] = &events[i]
	}
	deliveries, err := Deliveries.About(ctx, r, ids)
	if err != nil {
		return err
	}
	for _, d := range deliveries {
		e := byEvent[d.Subject]
		e.Deliveries = append(e.Deliveries, d)
	}
	return nil
}
