package conference

import (
	"context"

	"github.com/google/uuid"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/httpx"
)

// GetSession asks for one session.
type GetSession struct{ ID uuid.UUID }

// Policy lets everybody look.
func (GetSession) Policy() command.Policy { return command.Policy{Name: "conference.get_session"} }

func (m *Module) getSession(ctx context.Context, q GetSession) (Session, error) {
	return loadSession(ctx, m.source, q.ID)
}

func (m *Module) getSessionRoute(ctx context.Context, in byID) (httpx.Response[Session], error) {
	s, err := m.GetSession(ctx, GetSession(in))
	return httpx.OK(s), err
}
