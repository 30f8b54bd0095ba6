package main

import (
	"context"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/ratelimit"
)

// limits are how often somebody may ask: who is known by who they are, wherever they sit, and everybody else by the
// network that they come from. Probes, metrics and static files ask nobody's leave.
type limits struct {
	users    *ratelimit.Limiter[string]
	networks *ratelimit.Limiter[netip.Prefix]
	halls    *ratelimit.Limiter[netip.Prefix] // on the way into a room, where one network is many people
	tokens   *ratelimit.Limiter[netip.Prefix] // tokens that are nobody's
}

func newLimits(c Config) *limits {
	return &limits{
		users:    ratelimit.New[string](ratelimit.Config{Rate: c.RateLimitUser}),
		networks: ratelimit.New[netip.Prefix](ratelimit.Config{Rate: c.RateLimitAddress}),
		halls:    ratelimit.New[netip.Prefix](ratelimit.Config{Rate: c.RateLimitHall}),
		tokens:   ratelimit.New[netip.Prefix](ratelimit.Config{Rate: c.RateLimitAddress}),
	}
}

// wrap refuses what is too much.
func (l *limits) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if wait := l.take(r); wait > 0 {
			httpx.WriteProblem(w, r, ratelimit.Refuse(wait))
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (l *limits) take(r *http.Request) time.Duration {
	if p := identity.PrincipalOf(r.Context()); !p.Anonymous() {
		return l.users.Take(p.ID)
	}
	network := httpx.ClientNetwork(r.Context())
	if intoARoom(r.URL.Path) {
		return l.halls.Take(network)
	}
	return l.networks.Take(network)
}

// intoARoom reports whether somebody without an account comes this way when the code appears on the wall: until they
// have joined, nothing but their network is known of them.
func intoARoom(path string) bool {
	return path == "/join" || strings.HasPrefix(path, "/rooms/") || strings.HasPrefix(path, "/api/v1/engagement/")
}

// limitedLookups keeps those who try tokens from keeping the database busy: that is asked before anybody knows who
// asks, so it comes before the limits above.
type limitedLookups struct {
	users  httpx.Authenticator
	limits *limits
}

// Authenticate is that of users, or a RateLimited fault ("rate_limited") for a network from which too many unknown
// tokens have come.
func (l limitedLookups) Authenticate(ctx context.Context, token string) (identity.Principal, error) {
	network := httpx.ClientNetwork(ctx)
	if wait := l.limits.tokens.Wait(network); wait > 0 {
		return identity.Principal{}, ratelimit.Refuse(wait)
	}
	p, err := l.users.Authenticate(ctx, token)
	if fault.KindOf(err) == fault.Unauthenticated {
		l.limits.tokens.Take(network)
	}
	return p, err
}
