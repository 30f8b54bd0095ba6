package conference

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/httpx"
)

// ListSessions asks for the sessions of a conference, newest first.
type ListSessions struct {
	EventID uuid.UUID
	Limit   int
	After   uuid.UUID // the last one of the page before; zero: from the start
}

// Policy lets everybody look.
func (ListSessions) Policy() command.Policy { return command.Policy{Name: "conference.list_sessions"} }

func (m *Module) listSessions(ctx context.Context, q ListSessions) ([]Session, error) {
	if _, err := loadEvent(ctx, m.source, q.EventID); err != nil {
		return nil, err
	}
	rows, err := m.source.Query(ctx, `
		SELECT `+sessionColumns+` FROM conference.sessions s
		WHERE s.event_id = $1 AND ($2::uuid = '00000000-0000-0000-0000-000000000000' OR s.id < $2)
		ORDER BY s.id DESC LIMIT $3`, q.EventID, q.After, q.Limit)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	return pgx.CollectRows(rows, scanSession)
}

func (m *Module) getSessions(ctx context.Context, in struct {
	byID
	httpx.Paging
},
) (httpx.Response[httpx.Page[Session]], error) {
	return httpx.ByID(ctx, in.Paging, func(ctx context.Context, limit int, after uuid.UUID) ([]Session, error) {
		return m.ListSessions(ctx, ListSessions{EventID: in.ID, Limit: limit, After: after})
	}, func(s Session) uuid.UUID { return s.ID })
}
