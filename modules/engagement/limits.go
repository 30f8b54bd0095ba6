package engagement

import (
	"context"
	"net/netip"

	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/ratelimit"
)

// limits are how often one voter may do something, and one network. A hall full of people is one network: what it may
// do at once is what a hall does when the code appears on the wall. Above that, joining is making up voters.
//
// Nobody is held up for trying codes: they are no secret, and who guesses would lock out those who sit beside them.
type limits struct {
	votes     *ratelimit.Limiter[string] // and upvotes
	questions *ratelimit.Limiter[string]
	joins     *ratelimit.Limiter[joining]
}

// joining is what joins are counted by.
type joining struct {
	network netip.Prefix
	code    string
}

func newLimits() limits {
	return limits{
		votes:     ratelimit.New[string](ratelimit.Config{Rate: ratelimit.PerSecond(20, 200)}),
		questions: ratelimit.New[string](ratelimit.Config{Rate: ratelimit.PerSecond(2, 100)}),
		joins:     ratelimit.New[joining](ratelimit.Config{Rate: ratelimit.PerSecond(300, 2000)}),
	}
}

// AdmitVote counts a vote, or an upvote, of whoever asks. API and pages ask before they do anything else for it, even
// open a transaction: RateLimited ("rate_limited").
func (m *Module) AdmitVote(ctx context.Context) error { return take(m.limits.votes, asking(ctx)) }

// AdmitQuestion is AdmitVote for a question.
func (m *Module) AdmitQuestion(ctx context.Context) error {
	return take(m.limits.questions, asking(ctx))
}

// AdmitJoin is AdmitVote for somebody who wants into a room. What cannot be a room's code is counted as one.
func (m *Module) AdmitJoin(ctx context.Context, code string) error {
	if code = normalizeCode(code); len(code) != codeLength {
		code = ""
	}
	return take(m.limits.joins, joining{httpx.ClientNetwork(ctx), code})
}

func take[K comparable](l *ratelimit.Limiter[K], key K) error {
	if wait := l.Take(key); wait > 0 {
		return ratelimit.Refuse(wait)
	}
	return nil
}

// asking is who is counted: a user or a voter, or the network of somebody who is neither and will be refused.
func asking(ctx context.Context) string {
	if p := identity.PrincipalOf(ctx); !p.Anonymous() {
		return p.ID
	}
	return httpx.ClientNetwork(ctx).String()
}
