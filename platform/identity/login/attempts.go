package login

import (
	"context"
	"net/netip"
	"strings"
	"sync"
	"time"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/ratelimit"
)

// Limits make guessing passwords slow. Only failures count: somebody who knows the password is never slowed down by
// signing in often. All of it is kept in this process; see package ratelimit.
type Limits struct {
	// Guesses is for one e-mail address from one network.
	Guesses ratelimit.Backoff
	// Network is how often sign-ins from one network may fail, whatever e-mail address they name.
	Network ratelimit.Rate
	// Account is how often sign-ins to one e-mail address may fail, from wherever they come. It does not hold for
	// networks that its user has signed in from.
	Account ratelimit.Rate
}

// DefaultLimits are those of Deps without any.
//
// Four failures at one e-mail address from one network are free; the fifth within half an hour closes the door for
// a second, each further one for twice as long, up to five minutes. Because the door is that network's alone,
// nobody can close it to somebody who sits elsewhere. Who guesses from many networks meets the limit on the account,
// which its user, coming from where they have been before, does not.
func DefaultLimits() Limits {
	return Limits{
		Guesses: ratelimit.Backoff{
			Free: 4, First: time.Second, Most: 5 * time.Minute, Window: 30 * time.Minute, Trust: 30 * 24 * time.Hour,
		},
		Network: ratelimit.PerMinute(10, 20),
		Account: ratelimit.Rate{Events: 200, Per: time.Hour, Burst: 100},
	}
}

// attempts counts failed sign-ins.
type attempts struct {
	guesses  *ratelimit.Lockout[attempt]
	networks *ratelimit.Limiter[netip.Prefix]
	accounts *ratelimit.Limiter[string]
	begins   sync.Mutex // so that what is looked at together is decided together
}

// attempt is whose door is knocked at, and from where.
type attempt struct {
	email   string
	network netip.Prefix // zero outside of HTTP
}

func newAttempts(l Limits) *attempts {
	return &attempts{
		guesses:  ratelimit.NewLockout[attempt](ratelimit.LockoutConfig{Backoff: l.Guesses}),
		networks: ratelimit.New[netip.Prefix](ratelimit.Config{Rate: l.Network}),
		accounts: ratelimit.New[string](ratelimit.Config{Rate: l.Account}),
	}
}

// longestEmail bounds what is remembered; mail to a longer address cannot be sent.
const longestEmail = 254

// attemptOf is the same for all spellings that the database takes for the same user.
func attemptOf(ctx context.Context, email string) attempt {
	email = strings.ToLower(email)
	return attempt{email: email[:min(len(email), longestEmail)], network: httpx.ClientNetwork(ctx)}
}

// refuse returns a RateLimited fault ("too_many_attempts") if the attempt may not be made now, without counting it.
func (a *attempts) refuse(t attempt) error {
	wait := max(a.guesses.Wait(t), a.limited(t))
	if wait == 0 {
		return nil
	}
	e := fault.New(fault.RateLimited, "too_many_attempts", "too many sign-ins have failed; wait a little")
	e.RetryAfter = wait
	return e
}

func (a *attempts) limited(t attempt) time.Duration {
	var wait time.Duration
	if t.network.IsValid() {
		wait = a.networks.Wait(t.network)
	}
	if !a.guesses.Trusted(t) {
		wait = max(wait, a.accounts.Wait(t.email))
	}
	return wait
}

// begin is refuse for an attempt that is made at once, and that one of the three others ends.
func (a *attempts) begin(t attempt) error {
	a.begins.Lock()
	defer a.begins.Unlock()
	if err := a.refuse(t); err != nil {
		return err
	}
	a.guesses.Begin(t)
	return nil
}

func (a *attempts) fail(t attempt) {
	a.guesses.Fail(t)
	a.accounts.Take(t.email)
	if t.network.IsValid() {
		a.networks.Take(t.network)
	}
}

func (a *attempts) succeed(t attempt) { a.guesses.Succeed(t) }

func (a *attempts) withdraw(t attempt) { a.guesses.Withdraw(t) }
