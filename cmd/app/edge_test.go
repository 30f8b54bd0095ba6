package main

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"example.com/plenary/platform/httpx"
)

// reply is an answer as it came.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// stubborn follows no redirect: what the program answers is what is looked at.
var stubborn = &http.Client{
	Timeout:       patient.Timeout,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// send asks for a target of the whole server. A body is JSON unless a header says otherwise; header comes in pairs.
func (c client) send(method, target, body string, header ...string) reply {
	c.t.Helper()
	request, err := http.NewRequest(method, c.base+target, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Content-Type" || header[i] == "Authorization" {
			request.Header.Del(header[i])
		}
		request.Header.Add(header[i], header[i+1])
	}
	response, err := stubborn.Do(request)
	if err != nil {
		c.t.Fatalf("%s %.200s: %v", method, target, err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Fatalf("%s %.200s: %v", method, target, err)
	}
	return reply{response.StatusCode, response.Header, answer}
}

// isProblem requires a whole problem document with a status and a code.
func (r reply) isProblem(t *testing.T, status int, code string) (p httpx.Problem) {
	t.Helper()
	if got := r.header.Get("Content-Type"); r.status != status || got != "application/problem+json" {
		t.Errorf("%d %s, want %d %s: %.300s", r.status, got, status, code, r.body)
		return p
	}
	if err := json.Unmarshal(r.body, &p); err != nil {
		t.Errorf("%v in %.300s", err, r.body)
	}
	if p.Code != code || p.Status != status || p.Type == "" || p.Title != http.StatusText(status) || p.Detail == "" ||
		p.CorrelationID == "" || p.CorrelationID != r.header.Get("X-Correlation-Id") {
		t.Errorf("want %d %s: %.300s", status, code, r.body)
	}
	return p
}

// Whoever answers, the answer says what a browser may do with it.
func TestSecurityHeadersAreEverywhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	plain, secure := w.start(), w.start("SECURE_COOKIES", "true")
	for _, request := range []struct{ name, method, target string }{
		{"home", "GET", "/"},
		{"API", "GET", "/api/v1/sales/products"},
		{"HEAD", "HEAD", "/api/v1/sales/products"},
		{"document", "GET", "/api/openapi.json"},
		{"unauthenticated", "GET", "/api/v1/auth/me"},
		{"bad request", "GET", "/api/v1/sales/products?limit=0"},
		{"no such API", "GET", "/api/v1/nothing"},
		{"no such page", "GET", "/nothing"},
		{"wrong method", "DELETE", "/api/v1/sales/products"},
		{"unknown method", "BREW", "/api/v1/sales/products"},
		{"alive", "GET", "/healthz"},
		{"ready", "GET", "/readyz"},
		{"version", "GET", "/version"},
		{"metrics", "GET", "/metrics"},
		{"wrong method at a probe", "POST", "/healthz"},
	} {
		got := plain.send(request.method, request.target, "")
		for header, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "same-origin",
			"Cross-Origin-Opener-Policy": "same-origin", "Strict-Transport-Security": "",
			"Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
		} {
			if got.header.Get(header) != want {
				t.Errorf("%s: %s is %q", request.name, header, got.header.Get(header))
			}
		}
		policy := got.header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"} {
			if !strings.Contains(policy, part) || strings.Contains(policy, "unsafe") {
				t.Errorf("%s: policy %q", request.name, policy)
			}
		}
		if got.header.Get("Server") != "" || got.header.Get("X-Powered-By") != "" {
			t.Errorf("%s: says what serves it", request.name)
		}
		if hsts := secure.send(request.method, request.target, "").header.Get("Strict-Transport-Security"); hsts != "max-age=31536000" {
			t.Errorf("%s: under TLS Strict-Transport-Security is %q", request.name, hsts)
		}
	}
}

func sessionCookie(t *testing.T, r reply) *http.Cookie {
	t.Helper()
	for _, c := range (&http.Response{Header: r.header}).Cookies() {
		if c.Name == httpx.SessionCookie {
			return c
		}
	}
	t.Fatalf("no session cookie: %d %s", r.status, r.body)
	return nil
}

func TestSessionCookieUnderTLSAndWithout(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	for _, c := range []struct {
		name     string
		settings []string
		header   []string
		secure   bool
	}{
		{"plain", nil, nil, false},
		{"forged", nil, []string{"X-Forwarded-Proto", "https"}, false},
		{"behind a proxy", behindProxy, []string{"X-Forwarded-Proto", "https"}, true},
		{"behind a proxy without TLS", behindProxy, []string{"X-Forwarded-Proto", "http"}, false},
		{"set", []string{"SECURE_COOKIES", "true"}, nil, true},
	} {
		cookie := sessionCookie(t, w.start(c.settings...).signIn("alice@example.com", "demo", c.header...))
		if cookie.Secure != c.secure || !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.Path != "/" || cookie.Domain != "" {
			t.Errorf("%s: %v", c.name, cookie)
		}
	}
}

// A sign-in makes a new session whatever the browser had before, and what it had is worth nothing any more.
func TestSessionRotatesAtSignIn(t *testing.T) {
	t.Parallel()
	r := newWorld(t, true).start()
	who := func(cookie string) int {
		return r.send("GET", "/api/v1/auth/me", "", "Cookie", httpx.SessionCookie+"="+cookie).status
	}
	const planted = "PLANTEDPLANTEDPLANTEDPLANTEDPLANTEDPLANTED"
	first := sessionCookie(t, r.signIn("alice@example.com", "demo", "Cookie", httpx.SessionCookie+"="+planted)).Value
	if first == planted || who(planted) != http.StatusUnauthorized || who(first) != http.StatusOK {
		t.Error("what was planted became a session")
	}
	second := sessionCookie(t, r.signIn("bob@example.com", "demo", "Cookie", httpx.SessionCookie+"="+first)).Value
	if second == first || who(first) != http.StatusUnauthorized || who(second) != http.StatusOK {
		t.Error("the session before the sign-in lives on")
	}
	if got := r.signIn("bob@example.com", "wrong", "Cookie", httpx.SessionCookie+"="+second); got.status != http.StatusUnauthorized || who(second) != http.StatusOK {
		t.Error("a failed sign-in ends a session")
	}
	got := r.send("POST", "/api/v1/auth/logout", "", "Cookie", httpx.SessionCookie+"="+second)
	if cookie := sessionCookie(t, got); got.status != http.StatusNoContent || cookie.MaxAge >= 0 || who(second) != http.StatusUnauthorized {
		t.Errorf("after the sign-out: %d %v", got.status, cookie)
	}
}

// Another site can make a browser send its cookie, and nothing else.
func TestCrossOrigin(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	r := w.start("TRUSTED_ORIGINS", "https://app.example.com")
	alice := r.as("alice@example.com")
	host := strings.TrimPrefix(r.base, "http://")
	cookie := []string{"Cookie", httpx.SessionCookie + "=" + sessionCookie(t, r.signIn("bob@example.com", "demo")).Value}
	order := `{"lines":[{"productId":"01936d10-0000-7000-8000-000000000101","quantity":1}],"paymentMethod":"tok_declined"}`
	for _, c := range []struct {
		name   string
		header []string
		ok     bool
	}{
		{"own page", []string{"Sec-Fetch-Site", "same-origin", "Origin", "http://" + host}, true},
		{"typed", []string{"Sec-Fetch-Site", "none"}, true},
		{"program", nil, true},
		{"old browser, own page", []string{"Origin", "http://" + host}, true},
		{"another app of ours", []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://app.example.com"}, true},
		{"another site", []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"}, false},
		{"sibling", []string{"Sec-Fetch-Site", "same-site", "Origin", "http://evil." + host}, false},
		{"old browser, another site", []string{"Origin", "https://evil.example"}, false},
		{"sandboxed frame", []string{"Origin", "null"}, false},
		{"nonsense", []string{"Origin", "://"}, false},
		{"no claim of a method helps", []string{"Sec-Fetch-Site", "cross-site", "X-HTTP-Method-Override", "GET"}, false},
		{"no claim of a host helps", []string{"Origin", "https://evil.example", "X-Forwarded-Host", "evil.example"}, false},
	} {
		got := r.send("POST", "/api/v1/sales/orders", order, append(cookie, c.header...)...)
		if c.ok && got.status != http.StatusCreated {
			t.Errorf("%s: %d %s", c.name, got.status, got.body)
		}
		if !c.ok {
			got.isProblem(t, http.StatusForbidden, "cross_origin")
		}
		if got := r.send("GET", "/api/v1/auth/me", "", append(cookie, c.header...)...); got.status != http.StatusOK {
			t.Errorf("%s, reading: %d %s", c.name, got.status, got.body)
		}
		if got := alice.send("POST", "/api/v1/sales/orders", order, c.header...); got.status != http.StatusCreated {
			t.Errorf("%s, with a bearer token: %d %s", c.name, got.status, got.body)
		}
	}
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} { // whatever would change something
		if got := r.send(method, "/api/v1/sales/orders", "", append(cookie, "Sec-Fetch-Site", "cross-site")...); got.status < 400 {
			t.Errorf("%s: %d", method, got.status)
		}
	}
	if allow := r.send("OPTIONS", "/api/v1/sales/orders", "", "Origin", "https://evil.example").header.Get("Access-Control-Allow-Origin"); allow != "" {
		t.Errorf("another origin may read: %q", allow)
	}
}

// A client that sends a header a byte a second holds a connection for as long as a header may take, and no longer.
func TestSlowHeaderIsCut(t *testing.T) {
	t.Parallel()
	r := newWorld(t, true).start()
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	began := time.Now()
	if err := conn.SetDeadline(began.Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	go func() {
		every := time.NewTicker(time.Second)
		defer every.Stop()
		for range every.C {
			if _, err := conn.Write([]byte("G")); err != nil {
				return
			}
		}
	}()
	_, err = io.ReadAll(conn)
	if took := time.Since(began); errors.Is(err, os.ErrDeadlineExceeded) || took > 15*time.Second {
		t.Errorf("cut after %v, %v", took, err)
	}
	r.send("GET", "/api/v1/sales/products", "")
}
