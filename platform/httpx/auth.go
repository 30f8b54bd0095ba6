package httpx

import (
	"context"
	"net/http"
	"strings"
	"time"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/identity"
)

// SessionCookie is the name of the cookie that carries a session's token.
const SessionCookie = "plenary_session"

// authenticationLimit bounds how long it may take to find out who asks.
const authenticationLimit = 5 * time.Second

// maxToken bounds what is looked up.
const maxToken = 512

// NewSessionCookie returns the cookie that signs its receiver in for ttl. Response adds Secure under TLS.
func NewSessionCookie(token string, ttl time.Duration) *http.Cookie {
	return &http.Cookie{
		Name: SessionCookie, Value: token, Path: "/", MaxAge: int(ttl.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
}

// EndSessionCookie returns the cookie that removes it.
func EndSessionCookie() *http.Cookie {
	c := NewSessionCookie("", 0)
	c.MaxAge = -1
	return c
}

// bearerToken returns the token of the Authorization header, and whether there is one at all: "" and true is a
// header that names the scheme and nothing, or nonsense.
func bearerToken(r *http.Request) (string, bool) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	if token = strings.TrimSpace(token); len(token) > maxToken || strings.ContainsAny(token, " \t,") {
		return "", true
	}
	return token, true
}

// authenticate finds out who asks. A bearer token that is not known is refused: its sender meant to be somebody.
// A stale cookie is what a browser sends for weeks: its sender is simply nobody.
func (a *API) authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, bearer := bearerToken(r)
		if !bearer {
			if c, err := r.Cookie(SessionCookie); err == nil && len(c.Value) <= maxToken {
				token = c.Value
			}
		}
		principal, err := a.ownerOf(r, token)
		switch {
		case err == nil:
		case fault.KindOf(err) != fault.Unauthenticated:
			WriteProblem(w, r, err)
			return
		case bearer:
			w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
			WriteProblem(w, r, &StatusError{
				Status: http.StatusUnauthorized, Code: "invalid_token", Message: "the token is not valid, or no longer",
			})
			return
		}
		entryOf(r.Context()).principal = principal
		next.ServeHTTP(w, r.WithContext(identity.WithPrincipal(r.Context(), principal)))
	})
}

// ownerOf returns whose token it is, or an error and nobody.
func (a *API) ownerOf(r *http.Request, token string) (identity.Principal, error) {
	if token == "" || a.config.Authenticator == nil {
		return identity.Principal{}, fault.New(fault.Unauthenticated, "unauthenticated", "nobody")
	}
	// The request's own time limit is further in; a database that hangs must not hang what comes before.
	ctx, cancel := context.WithTimeout(r.Context(), authenticationLimit)
	defer cancel()
	p, err := a.config.Authenticator.Authenticate(ctx, token)
	if err != nil {
		return identity.Principal{}, err
	}
	return p, nil
}

// authorize is a route's first step.
func (a *API) authorize(r *http.Request, route Route) error {
	if route.SignedIn {
		if _, user := identity.PrincipalOf(r.Context()).UserID(); !user {
			return fault.New(fault.Unauthenticated, "unauthenticated", "sign in first")
		}
	}
	if route.Permission != "" {
		return a.config.Permissions.Require(r.Context(), route.Permission)
	}
	return nil
}
