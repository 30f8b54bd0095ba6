package conference

import (
	"context"

	"github.com/google/uuid"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/httpx"
)

// GetEvent asks for one conference.
type GetEvent struct{ ID uuid.UUID }

// Policy lets everybody look.
func (GetEvent) Policy() command.Policy { return command.Policy{Name: "conference.get_event"} }

func (m *Module) getEvent(ctx context.Context, q GetEvent) (Event, error) {
	return loadEvent(ctx, m.source, q.ID)
}

type byID struct {
	ID uuid.UUID `path:"id"`
}

func (m *Module) getEventRoute(ctx context.Context, in byID) (httpx.Response[Event], error) {
	e, err := m.GetEvent(ctx, GetEvent(in))
	return httpx.OK(e), err
}
