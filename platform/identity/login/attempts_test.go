package login

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/postgres/postgrestest"
)

// at returns the context of a request from an address.
func at(address string) context.Context {
	var ctx context.Context
	api := httpx.NewAPI(httpx.Config{})
	api.Public().Get("/", func(_ http.ResponseWriter, r *http.Request) { ctx = context.WithoutCancel(r.Context()) })
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = netip.AddrPortFrom(netip.MustParseAddr(address), 1).String()
	api.ServeHTTP(httptest.NewRecorder(), r)
	return ctx
}

// fails is a wrong password, after as long a wait as is asked for.
func (a *attempts) fails(t *testing.T, who attempt) (waited time.Duration) {
	t.Helper()
	err := a.begin(who)
	if refused := fault.As(err); refused != nil {
		if refused.Kind != fault.RateLimited || refused.Code != "too_many_attempts" {
			t.Fatalf("%+v", refused)
		}
		waited = refused.RetryAfter
		time.Sleep(waited)
		if err := a.begin(who); err != nil {
			t.Fatalf("after %v: %v", waited, err)
		}
	}
	a.fail(who)
	return waited
}

func TestGuessesGetSlower(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAttempts(Limits{Guesses: DefaultLimits().Guesses})
		alice := attemptOf(at("203.0.113.1"), "Alice@Example.com")
		for i, want := range []time.Duration{0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300} {
			if got := a.fails(t, alice); got != want*time.Second {
				t.Errorf("guess %d waits %v, want %v", i, got, want*time.Second)
			}
		}
		for _, other := range []attempt{
			attemptOf(at("203.0.113.2"), "alice@example.com"), attemptOf(at("203.0.113.1"), "bob@example.com"),
			attemptOf(context.Background(), "alice@example.com"),
		} {
			if err := a.refuse(other); err != nil {
				t.Errorf("%v pays for another: %v", other, err)
			}
		}
		if a.refuse(attemptOf(at("203.0.113.1"), "ALICE@example.com")) == nil {
			t.Error("another spelling is another door")
		}
		time.Sleep(5 * time.Minute)
		a.succeed(alice)
		if a.fails(t, alice) != 0 {
			t.Error("a success forgets nothing")
		}
	})
}

func TestFailuresFromOneNetwork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAttempts(DefaultLimits())
		var waited time.Duration
		for i := range 30 { // twenty at once, and then ten a minute
			waited += a.fails(t, attemptOf(at(fmt.Sprintf("2001:db8::%d", i+1)), fmt.Sprintf("user-%d@example.com", i)))
		}
		if waited != time.Minute {
			t.Errorf("30 failures took %v", waited)
		}
		if a.refuse(attemptOf(at("2001:db8:0:1::1"), "user-1@example.com")) != nil {
			t.Error("the neighbours pay")
		}
		if a.refuse(attemptOf(context.Background(), "user-1@example.com")) != nil {
			t.Error("what comes from no network pays for the networks")
		}
	})
}

// Somebody with a thousand networks guesses no faster than the account's limit, and cannot keep its user out of
// where that user has been before.
func TestGuessingFromManyNetworks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAttempts(DefaultLimits())
		a.succeed(attemptOf(at("198.51.100.1"), "alice@example.com"))
		through := 0
		for i := range 3000 {
			bot := attemptOf(at(fmt.Sprintf("203.0.%d.%d", i/250, i%250+1)), "alice@example.com")
			if a.begin(bot) == nil {
				a.fail(bot)
				through++
			}
			if err := a.refuse(attemptOf(at("198.51.100.1"), "alice@example.com")); err != nil {
				t.Fatalf("after %d guesses the user is kept out: %v", i, err)
			}
			time.Sleep(time.Second)
		}
		if through < 250 || through > 100+200 {
			t.Errorf("%d guesses in 50 minutes", through)
		}
	})
}

// A text that no address can be takes no more memory than one.
func TestLongEmails(t *testing.T) {
	t.Parallel()
	if got := attemptOf(context.Background(), strings.Repeat("a", 1<<20)); len(got.email) > longestEmail {
		t.Errorf("%d bytes are remembered", len(got.email))
	}
}

// An address that nobody has waits for its turn like any other, and is compared with a hash that is as dear.
func TestUnknownAddressCostsAsMuch(t *testing.T) {
	t.Parallel()
	s, err := New(Deps{Source: postgrestest.Open(t).Source("platform"), Pipeline: command.New(command.Deps{}), Permissions: &identity.Permissions{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.AddMissing(t.Context(), []NewUser{{User: User{ID: uuid.New(), Email: "alice@example.com", Roles: []string{}}, Password: "demo"}}); err != nil {
		t.Fatal(err)
	}
	stored := postgrestest.Value[string](t, s.source, `SELECT password_hash FROM platform.users`)
	cost := func(hash string) string { return strings.Join(strings.Split(hash, "$")[:4], "$") }
	if cost(stored) != cost(s.decoy) || len(stored) != len(s.decoy) {
		t.Errorf("%s is not as dear as %s", cost(s.decoy), cost(stored))
	}
	for range cap(s.hasher.slots) {
		if err := s.hasher.enter(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, email := range []string{"alice@example.com", "nobody@example.com"} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if _, err := s.SignIn(ctx, SignIn{Email: email, Password: "wrong"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s is answered without a hash: %v", email, err)
		}
		cancel()
	}
}
