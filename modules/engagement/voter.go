package engagement

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/postgres"
)

// voterScheme begins the principal of a voter without an account: "voter:", the room, ":", the voter. Only a token
// makes one.
const voterScheme = "voter:"

func voterPrincipal(room, voter uuid.UUID) identity.Principal {
	return identity.Principal{ID: voterScheme + room.String() + ":" + voter.String()}
}

// voterOf returns the voter that p is in room.
func voterOf(p identity.Principal, room uuid.UUID) (uuid.UUID, bool) {
	id, ok := strings.CutPrefix(p.ID, voterScheme+room.String()+":")
	voter, err := uuid.Parse(id)
	return voter, ok && err == nil
}

// viewer is who looks at a room, and how much of it is theirs to see.
type viewer struct {
	voter     uuid.UUID
	host      bool
	moderator bool
}

var (
	errNobody    = fault.New(fault.Unauthenticated, "engagement.not_joined", "join the room first")
	errNotJoined = fault.New(fault.Forbidden, "engagement.not_joined", "join the room first")
)

// viewerIn finds out who asks about a room. A signed-in user is the voter wherever they sit, and has joined once;
// hosts and moderators need not. Everybody else has a token, as a bearer or in the room's cookie. To those who have
// not joined: Unauthenticated if nobody is known to be asking, else Forbidden ("engagement.not_joined").
func (m *Module) viewerIn(ctx context.Context, r postgres.Reader, room Room) (viewer, error) {
	p := identity.PrincipalOf(ctx)
	if user, ok := p.UserID(); ok {
		v := viewer{voter: user, host: m.permissions.Allows(p, PermissionHost), moderator: m.permissions.Allows(p, PermissionModerate)}
		if v.host || v.moderator {
			return v, nil
		}
		var joined bool
		err := r.QueryRow(ctx, `SELECT EXISTS (SELECT FROM engagement.members WHERE room_id = $1 AND user_id = $2)`, room.ID, user).Scan(&joined)
		if err != nil {
			return viewer{}, fmt.Errorf("read member: %w", err)
		}
		if !joined {
			return viewer{}, errNotJoined
		}
		return v, nil
	}
	if voter, ok := voterOf(p, room.ID); ok {
		return viewer{voter: voter}, nil
	}
	if voter, ok := m.voterByCookie(ctx, room); ok {
		return viewer{voter: voter}, nil
	}
	if p.Anonymous() {
		return viewer{}, errNobody
	}
	return viewer{}, errNotJoined
}
