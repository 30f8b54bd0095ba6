package main

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// behindProxy trusts this machine, so that a test can come from anywhere.
var behindProxy = []string{"TRUSTED_PROXIES", "127.0.0.1"}

func from(address string) []string { return []string{"X-Forwarded-For", address} }

// passes counts how many of n equal requests are not refused for their number. What is refused says when to come back.
func passes(t *testing.T, n int, ask func() reply) int {
	t.Helper()
	through := 0
	for range n {
		answer := ask()
		if answer.status != http.StatusTooManyRequests {
			through++
			continue
		}
		answer.isProblem(t, http.StatusTooManyRequests, "rate_limited")
		if seconds, err := strconv.Atoi(answer.header.Get("Retry-After")); err != nil || seconds < 1 {
			t.Errorf("Retry-After %q", answer.header.Get("Retry-After"))
		}
	}
	return through
}

func TestLimitsOfRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	r := w.start(append(behindProxy, "RATE_LIMIT_USER", "1/h burst 7", "RATE_LIMIT_ADDRESS", "1/h burst 5", "RATE_LIMIT_HALL", "1/h burst 8")...)
	const products = "/api/v1/sales/products"
	get := func(c client, path string, header ...string) func() reply {
		return func() reply { return c.send("GET", path, "", header...) }
	}

	for _, c := range []struct {
		name string
		ask  func() reply
		want int
	}{
		{"nobody", get(r.client, products, from("203.0.113.1")...), 5},
		{"nobody, again", get(r.client, products, from("203.0.113.1")...), 0},
		{"another path is no way round", get(r.client, "/api/v1/auth/me", from("203.0.113.1")...), 0},
		{"the same hall, on its way into a room", get(r.client, "/api/v1/engagement/rooms/CCCCCC", from("203.0.113.1")...), 8},
		{"another address", get(r.client, products, from("203.0.113.2")...), 5},
		{"the client's own word before the proxy's", get(r.client, products, from("198.51.100.77, 203.0.113.2")...), 0},
		{"IPv6", get(r.client, products, from("2001:db8::1")...), 5},
		{"a neighbour in the same /64", get(r.client, products, from("2001:db8::ffff:2")...), 0},
		{"probe", get(r.client, "/healthz", from("203.0.113.1")...), 10},
		{"metrics", get(r.client, "/metrics", from("203.0.113.1")...), 10},
		{"document", get(r.client, "/api/openapi.json", from("203.0.113.1")...), 10},
		{"tokens that are nobody's", get(r.client, products, append(from("203.0.113.3"), "Authorization", "Bearer x")...), 5},
		{"a stale cookie is nobody", get(r.client, products, append(from("203.0.113.4"), "Cookie", "plenary_session=x")...), 5},
	} {
		if got := passes(t, 10, c.ask); got != c.want {
			t.Errorf("%s: %d of 10 passed, want %d", c.name, got, c.want)
		}
	}

	alice, bob := r.as("alice@example.com"), r.as("bob@example.com")
	for i, address := range []string{"203.0.113.50", "203.0.113.1"} { // a user is the same everywhere
		if got := passes(t, 10, get(alice, products, from(address)...)); got != 7-7*i {
			t.Errorf("alice from %s: %d of 10 passed", address, got)
		}
	}
	if got := passes(t, 10, get(bob, products, from("203.0.113.1")...)); got != 7 {
		t.Errorf("bob: %d of 10 passed", got)
	}
}

// Without a trusted proxy, what a client says about its address is worth nothing.
func TestForgedAddressIsNoWayRoundTheLimit(t *testing.T) {
	t.Parallel()
	r := newWorld(t, true).start("RATE_LIMIT_ADDRESS", "1/h burst 5")
	i := 0
	got := passes(t, 20, func() reply {
		i++
		forged := fmt.Sprintf("203.0.113.%d", i)
		return r.send("GET", "/api/v1/sales/products", "", "X-Forwarded-For", forged, "X-Real-IP", forged, "Forwarded", "for="+forged)
	})
	if got != 5 {
		t.Errorf("%d passed", got)
	}
}

func TestDefaultLimitsAreThoseOfTheContract(t *testing.T) {
	t.Parallel()
	c, err := readConfig(nil)
	if err != nil {
		t.Fatal(err)
	}
	if u := c.RateLimitUser; u.Events != 100 || u.Per.Seconds() != 1 || u.Burst < 100 {
		t.Errorf("a user may %v", u)
	}
}

func (c client) signIn(email, password string, header ...string) reply {
	body := fmt.Sprintf(`{"email":%q,"password":%q}`, email, password)
	return c.send("POST", "/api/v1/auth/login", body, header...)
}

// Guessing closes the door to the one who guesses, and to nobody else.
func TestGuessingPasswords(t *testing.T) {
	t.Parallel()
	r := newWorld(t, true).start(behindProxy...)
	for _, email := range []string{"alice@example.com", "nobody@example.com"} { // whether the user exists makes no difference
		spellings := []string{email, strings.ToUpper(email)}
		guess := func(i int) reply { return r.signIn(spellings[i%2], "wrong", from("203.0.113.1")...) }
		for i := range 5 {
			guess(i).isProblem(t, http.StatusUnauthorized, "invalid_credentials")
		}
		closed := guess(5)
		for i := 6; i < 12 && closed.status == http.StatusUnauthorized; i++ { // it was closed for a second, on a slow machine
			closed = guess(i)
		}
		closed.isProblem(t, http.StatusTooManyRequests, "too_many_attempts")
		if closed.header.Get("Retry-After") == "" {
			t.Errorf("%s: it is not said when to come back", email)
		}
	}
	if got := r.signIn("alice@example.com", "demo", from("203.0.113.2")...); got.status != http.StatusOK {
		t.Errorf("the victim, from elsewhere: %d %s", got.status, got.body)
	}
	if got := r.signIn("bob@example.com", "demo", from("203.0.113.1")...); got.status != http.StatusOK {
		t.Errorf("another user, from where somebody guessed: %d %s", got.status, got.body)
	}
}

// A few passwords for many users is guessing, too.
func TestSprayingPasswords(t *testing.T) {
	t.Parallel()
	r := newWorld(t, true).start(append(behindProxy, "RATE_LIMIT_LOGIN", "1/h burst 4")...)
	for i := range 4 {
		got := r.signIn(fmt.Sprintf("user-%d@example.com", i), "wrong", from("2001:db8::1")...)
		got.isProblem(t, http.StatusUnauthorized, "invalid_credentials")
	}
	r.signIn("alice@example.com", "demo", from("2001:db8::2")...).isProblem(t, http.StatusTooManyRequests, "too_many_attempts")
	for range 10 { // what succeeds is not counted
		if got := r.signIn("alice@example.com", "demo", from("203.0.113.1")...); got.status != http.StatusOK {
			t.Fatalf("a good password from elsewhere: %d %s", got.status, got.body)
		}
	}
}
