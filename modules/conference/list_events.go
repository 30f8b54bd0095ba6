package conference

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/httpx"
)

// ListEvents asks for the conferences, the latest first.
type ListEvents struct {
	Limit int
	After uuid.UUID // the last one of the page before; zero: from the start
}

// Policy lets everybody look.
func (ListEvents) Policy() command.Policy { return command.Policy{Name: "conference.list_events"} }

func (m *Module) listEvents(ctx context.Context, q ListEvents) ([]Event, error) {
	rows, err := m.source.Query(ctx, `
		SELECT `+eventColumns+` FROM conference.events
		WHERE $1::uuid = '00000000-0000-0000-0000-000000000000' OR id < $1 ORDER BY id DESC LIMIT $2`, q.After, q.Limit)
	if err != nil {
		return nil, fmt.Errorf("list events: %w", err)
	}
	return pgx.CollectRows(rows, scanEvent)
}

func (m *Module) getEvents(ctx context.Context, in struct{ httpx.Paging }) (httpx.Response[httpx.Page[Event]], error) {
	return httpx.ByID(ctx, in.Paging, func(ctx context.Context, limit int, after uuid.UUID) ([]Event, error) {
		return m.ListEvents(ctx, ListEvents{Limit: limit, After: after})
	}, func(e Event) uuid.UUID { return e.ID })
}
