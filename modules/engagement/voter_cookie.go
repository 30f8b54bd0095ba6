package engagement

import (
	"context"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"example.com/plenary/platform/identity"
)

const (
	// cookiePrefix begins the names of room cookies; the room's code ends them, so that one browser is a voter in
	// several rooms, and nobody can tell that it is the same.
	cookiePrefix = "plenary_room_"
	maxCookies   = 64 // that are looked at
)

// roomCookie returns the cookie that makes its receiver a voter. Response adds Secure under TLS.
func roomCookie(room Room, token string) *http.Cookie {
	return &http.Cookie{
		Name: cookiePrefix + room.Code, Value: token, Path: "/", MaxAge: int(tokenLife.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
}

// Cookie is what makes a browser the voter that has joined; nil for a user, whom the session makes known.
func (j Joined) Cookie() *http.Cookie {
	if _, user := j.Principal.UserID(); user {
		return nil
	}
	return roomCookie(j.Room, j.Token)
}

type cookiesKey struct{}

// Voters is a layer after authentication: it finds voters by their room cookies, where nobody is signed in. Limits and
// idempotency keys then go by the voter and not by the hall that they sit in.
//
// It looks at the paths of the API and at those of the pages, /join and /rooms/. In the path of a room the principal is
// the voter of that room. Elsewhere it is one of those that the browser has cookies for; the handler, which knows the
// room, takes the right one. To the rest of the program such a voter is nobody.
func (m *Module) Voters(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !identity.PrincipalOf(r.Context()).Anonymous() || !aboutRooms(r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		cookies := roomCookies(r)
		if len(cookies) == 0 {
			next.ServeHTTP(w, r)
			return
		}
		ctx := context.WithValue(r.Context(), cookiesKey{}, cookies)
		if p, ok := m.principalByCookie(cookies, codeInPath(r.URL.Path)); ok {
			ctx = identity.WithPrincipal(ctx, p)
		}
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

func aboutRooms(path string) bool {
	return strings.Contains(path, "/engagement/") || path == "/join" || strings.HasPrefix(path, "/rooms/")
}

// roomCookies returns the room cookies of a request, by code.
func roomCookies(r *http.Request) map[string]string {
	var found map[string]string
	for _, c := range r.Cookies() {
		code, ok := strings.CutPrefix(c.Name, cookiePrefix)
		if !ok || len(found) == maxCookies {
			continue
		}
		if found == nil {
			found = map[string]string{}
		}
		found[code] = c.Value
	}
	return found
}

func codeInPath(path string) string {
	_, rest, _ := strings.Cut(path, "/rooms/")
	code, _, _ := strings.Cut(rest, "/")
	return normalizeCode(code)
}

// principalByCookie takes the cookie for code, or any that is good if the path names no room.
func (m *Module) principalByCookie(cookies map[string]string, code string) (identity.Principal, bool) {
	if code != "" {
		cookies = map[string]string{code: cookies[code]}
	}
	for _, token := range cookies {
		if room, voter, ok := m.tokens.read(token); ok {
			return voterPrincipal(room, voter), true
		}
	}
	return identity.Principal{}, false
}

// voterByCookie returns who the sender of a request is in room, if it has a cookie that says so.
func (m *Module) voterByCookie(ctx context.Context, room Room) (uuid.UUID, bool) {
	cookies, _ := ctx.Value(cookiesKey{}).(map[string]string)
	signed, voter, ok := m.tokens.read(cookies[room.Code])
	return voter, ok && signed == room.ID
}
