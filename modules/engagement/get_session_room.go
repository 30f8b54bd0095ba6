package engagement

import (
	"context"

	"github.com/google/uuid"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/httpx"
)

// GetSessionRoom asks for the room of a session. Its code is on the wall; it is no secret.
type GetSessionRoom struct{ SessionID uuid.UUID }

// Policy lets anybody ask.
func (GetSessionRoom) Policy() command.Policy {
	return command.Policy{Name: "engagement.get_session_room"}
}

func (m *Module) getSessionRoom(ctx context.Context, q GetSessionRoom) (Room, error) {
	return readRoom(ctx, m.source, `SELECT `+roomColumns+` FROM engagement.rooms r WHERE r.session_id = $1`, errNoRoom, q.SessionID)
}

// SessionRoomView is where to join.
type SessionRoomView struct {
	Code string `json:"code"`
}

func (m *Module) getSessionRoomRoute(ctx context.Context, in struct {
	SessionID uuid.UUID `path:"sessionId"`
},
) (httpx.Response[SessionRoomView], error) {
	room, err := m.GetSessionRoom(ctx, GetSessionRoom{SessionID: in.SessionID})
	return httpx.OK(SessionRoomView{Code: room.Code}), err
}
