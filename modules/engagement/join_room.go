package engagement

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/postgres"
)

// JoinRoom lets the one who asks into a room. Who is in stays who they are: nobody gets a second vote by joining again.
type JoinRoom struct{ Code string }

// Policy lets anybody in who has the code.
func (JoinRoom) Policy() command.Policy { return command.Policy{Name: "engagement.join_room"} }

// Joined is somebody who is in.
type Joined struct {
	Room      Room
	Principal identity.Principal // whom the room knows from now on
	Token     string
}

// joinRoom records users as members, who are known by who they are. Everybody else is a voter of this room only, and
// nothing is stored of them before they vote.
func (m *Module) joinRoom(ctx context.Context, tx *postgres.Tx, cmd JoinRoom) (Joined, error) {
	room, err := roomByCode(ctx, tx, cmd.Code)
	if err != nil {
		return Joined{}, err
	}
	p := identity.PrincipalOf(ctx)
	if user, ok := p.UserID(); ok {
		_, err := tx.Exec(ctx, `INSERT INTO engagement.members (room_id, user_id) VALUES ($1, $2) ON CONFLICT DO NOTHING`, room.ID, user)
		if err != nil {
			return Joined{}, fmt.Errorf("store member: %w", err)
		}
		return Joined{Room: room, Principal: p, Token: m.tokens.issue(room.ID, user)}, nil
	}
	voter, ok := voterOf(p, room.ID)
	if !ok {
		voter, ok = m.voterByCookie(ctx, room)
	}
	if !ok {
		voter = uuid.New()
	}
	return Joined{Room: room, Principal: voterPrincipal(room.ID, voter), Token: m.tokens.issue(room.ID, voter)}, nil
}

// JoinedView is what somebody who has joined gets.
type JoinedView struct {
	Room       RoomView `json:"room"`
	VoterToken string   `json:"voterToken" doc:"Serves as bearer in this room, for programs; browsers have a cookie"`
}

func (m *Module) postJoin(ctx context.Context, in struct {
	Code string `path:"code"`
},
) (httpx.Response[JoinedView], error) {
	var none httpx.Response[JoinedView]
	if err := m.AdmitJoin(ctx, in.Code); err != nil {
		return none, err
	}
	j, err := m.JoinRoom(ctx, JoinRoom{Code: in.Code})
	if err != nil {
		return none, err
	}
	view, err := m.GetRoom(identity.WithPrincipal(ctx, j.Principal), GetRoom{Code: j.Room.Code})
	if err != nil {
		return none, err
	}
	answer := httpx.OK(JoinedView{Room: view, VoterToken: j.Token})
	if cookie := j.Cookie(); cookie != nil {
		answer = answer.WithCookie(cookie)
	}
	return answer, nil
}
