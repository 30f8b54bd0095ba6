package httpx_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/identity"
)

// The table of kinds, with each error wrapped twice on its way.
func TestFaultTable(t *testing.T) {
	t.Parallel()
	cases := []struct {
		err    error
		status int
		code   string
		header string // "Name: value" that must be there
	}{
		{errors.New("SELECT hunter2"), 500, "internal", ""},
		{fault.New(fault.Internal, "broken", "hunter2"), 500, "internal", ""},
		{fault.New(fault.Invalid, "x.invalid", "d"), 400, "x.invalid", ""},
		{fault.New(fault.Unauthenticated, "x.who", "d"), 401, "x.who", "WWW-Authenticate: Bearer"},
		{fault.New(fault.Forbidden, "x.no", "d"), 403, "x.no", ""},
		{fault.New(fault.NotFound, "x.none", "d"), 404, "x.none", ""},
		{fault.New(fault.Conflict, "x.conflict", "d"), 409, "x.conflict", ""},
		{&fault.Error{Kind: fault.Conflict, Code: "x.busy", Message: "d", RetryAfter: 5 * time.Second}, 409, "x.busy", "Retry-After: 5"},
		{fault.New(fault.PreconditionFailed, "x.stale", "d"), 412, "x.stale", ""},
		{&fault.Error{Kind: fault.RateLimited, Code: "x.fast", Message: "d", RetryAfter: 1500 * time.Millisecond}, 429, "x.fast", "Retry-After: 2"},
		{fault.New(fault.RateLimited, "x.fast", "d"), 429, "x.fast", "Retry-After: 1"},
		{fault.Wrap(errors.New("dial hunter2"), fault.Unavailable, "x.away", "d"), 503, "x.away", "Retry-After: 1"},
		{context.DeadlineExceeded, 503, "timeout", "Retry-After: 1"},
		{fault.Wrap(context.DeadlineExceeded, fault.Unavailable, "x.away", "d"), 503, "timeout", "Retry-After: 1"},
		{context.Canceled, 500, "internal", ""}, // ours, not the client's
		{&httpx.StatusError{Status: 422, Code: "key_reused", Message: "d"}, 422, "key_reused", ""},
		{&httpx.StatusError{Status: 405, Code: "x", Message: "d", Header: http.Header{"Allow": {"GET"}}}, 405, "x", "Allow: GET"},
	}
	for _, c := range cases {
		s := newShop(t)
		s.failing("/fail", func(context.Context) error {
			return fmt.Errorf("outer: %w", fmt.Errorf("inner: %w", c.err))
		})
		w := s.ask("GET", "/api/v1/fail", "")
		check(t, c.code, w, c.status, c.code)
		if name, value, ok := strings.Cut(c.header, ": "); ok && w.Header().Get(name) != value {
			t.Errorf("%s: %s = %q, want %q", c.code, name, w.Header().Get(name), value)
		}
		if w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s may be cached", c.code)
		}
	}
}

func TestValidationErrorsAreListed(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.failing("/fail", func(context.Context) error {
		var v fault.Violations
		v.Add("lines[0].quantity", "out_of_range", "must be 1 to 20")
		v.Add("email", "required", "is missing")
		return fmt.Errorf("order: %w", v.Err())
	})
	p := problem(t, s.ask("GET", "/api/v1/fail", ""))
	want := httpx.ProblemField{Field: "lines[0].quantity", Code: "out_of_range", Message: "must be 1 to 20"}
	if p.Status != 400 || len(p.Errors) != 2 || p.Errors[0] != want {
		t.Errorf("%+v", p)
	}
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	s := newShop(t, func(c *httpx.Config) { c.Timeout = time.Millisecond })
	s.failing("/slow", func(ctx context.Context) error {
		<-ctx.Done()
		return errors.New("interrupted")
	})
	check(t, "slow", s.ask("GET", "/api/v1/slow", ""), 503, "timeout")

	httpx.HandleRaw(s.API, httpx.Route{Method: "GET", Path: "/live", ID: "live", LongLived: true},
		func(w http.ResponseWriter, r *http.Request, _ struct{}) error {
			if _, limited := r.Context().Deadline(); limited {
				t.Error("a connection that stays open has a deadline")
			}
			w.WriteHeader(http.StatusNoContent)
			return nil
		})
	if w := s.ask("GET", "/api/v1/live", ""); w.Code != 204 {
		t.Errorf("live: %d", w.Code)
	}
}

func TestClientThatHasGoneIsNoFailure(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ctx, leave := context.WithCancel(context.Background())
	s.failing("/slow", func(ctx context.Context) error {
		leave()
		<-ctx.Done()
		return fault.Wrap(ctx.Err(), fault.Unavailable, "database_away", "the database does not answer")
	})
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/api/v1/slow", nil))
	if w.Code != 499 || w.Body.Len() > 0 {
		t.Errorf("answered %d %s", w.Code, w.Body)
	}
	if line := s.log.lines(t)[0]; line["level"] != "DEBUG" || line["status"] != 499.0 {
		t.Errorf("%v", line)
	}
}

func TestUnknownAddressesAndMethods(t *testing.T) {
	t.Parallel()
	s := newShop(t, func(c *httpx.Config) {
		c.NotFound = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	})
	cases := []struct {
		method, path string
		status       int
		allow        string
	}{
		{"GET", "/api/v1/nothing", 404, ""},
		{"GET", "/api/v2/items", 404, ""},
		{"GET", "/api/v1/items/", 404, ""},
		{"GET", "/page", 418, ""},
		{"DELETE", "/api/v1/items", 405, "GET, HEAD, POST"},
		{"PATCH", "/api/v1/items/" + someID, 405, "GET, HEAD, PUT"},
		{"GET", "/api/v1/items/a%2Fb/cancellation", 405, "POST"},
		{"OPTIONS", "/api/v1/items", 405, "GET, HEAD, POST"},
		{"BREW", "/api/v1/items", 405, "GET, HEAD, POST"},
		{"BREW", "/api/v1/nothing", 404, ""},
		{"POST", "/api/openapi.json", 405, "GET"},
	}
	for _, c := range cases {
		w := s.ask(c.method, c.path, "")
		if w.Code != c.status || w.Header().Get("Allow") != c.allow {
			t.Errorf("%s %s: %d, Allow %q", c.method, c.path, w.Code, w.Header().Get("Allow"))
		}
		if w.Code != http.StatusTeapot {
			problem(t, w)
		}
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	w := s.ask("POST", "/api/v1/items", `{"name":"a","quantity":1,"on":"2026-01-01T02:00:00+02:00"}`, asAlice...)
	for name, want := range map[string]string{
		"Location": "/api/v1/items/1", "ETag": `"1"`, "Content-Type": "application/json", "Cache-Control": "no-store",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	if want := `{"name":"a","quantity":1,"on":"2026-01-01T00:00:00Z"}`; w.Code != 201 || w.Body.String() != want {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := s.ask("PUT", "/api/v1/items/"+someID, "", append(asAlice, "If-Match", "*")...); w.Code != 204 ||
		w.Body.Len() > 0 || w.Header().Get("Content-Type") != "" {
		t.Errorf("no content: %d %q %v", w.Code, w.Body, w.Header())
	}
	if w := s.ask("GET", "/api/v1/items.csv", ""); w.Code != 200 || w.Body.String() != "a,b\n" {
		t.Errorf("raw: %d %s", w.Code, w.Body)
	}
	if w := s.ask("HEAD", "/api/v1/items/"+someID, ""); w.Code != 200 {
		t.Errorf("HEAD: %d", w.Code)
	}
}

func TestNilSlicesAndOddTimesAreWritable(t *testing.T) {
	t.Parallel()
	type list struct {
		Items []item    `json:"items"`
		On    time.Time `json:"on"`
	}
	s := newShop(t)
	httpx.Handle(s.API, httpx.Route{Method: "GET", Path: "/list", ID: "list"},
		func(context.Context, struct{}) (httpx.Response[list], error) {
			return httpx.OK(list{On: time.Date(294276, 1, 1, 0, 0, 0, 0, time.UTC)}), nil
		})
	if got := s.ask("GET", "/api/v1/list", "").Body.String(); got != `{"items":[],"on":"9999-12-31T23:59:59Z"}` {
		t.Error(got)
	}
}

// What cannot be written must not go out as the beginning of a success, nor a status that nobody declared.
func TestAnswerThatIsNone(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	httpx.Handle(s.API, httpx.Route{Method: "GET", Path: "/unwritable", ID: "unwritable"},
		func(context.Context, struct{}) (httpx.Response[map[string]string], error) {
			return httpx.OK(map[string]string{"a": "\xff"}), nil
		})
	httpx.Handle(s.API, httpx.Route{Method: "GET", Path: "/undeclared", ID: "undeclared"},
		func(context.Context, struct{}) (httpx.Response[item], error) { return httpx.Created("/x", item{}), nil })
	for _, path := range []string{"/api/v1/unwritable", "/api/v1/undeclared"} {
		w := s.ask("GET", path, "")
		check(t, path, w, 500, "internal")
		if w.Header().Get("Location") != "" {
			t.Error("a failure has a location")
		}
	}
}

func TestCookies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		url        string
		configured bool
		secure     bool
	}{{"http://a.test/api/v1/in", false, false}, {"https://a.test/api/v1/in", false, true}, {"http://a.test/api/v1/in", true, true}} {
		s := newShop(t, func(config *httpx.Config) { config.SecureCookies = c.configured })
		httpx.Handle(s.API, httpx.Route{Method: "GET", Path: "/in", ID: "in"},
			func(context.Context, struct{}) (httpx.Response[httpx.Empty], error) {
				return httpx.NoContent().WithCookie(httpx.NewSessionCookie("t", time.Hour)).WithCookie(httpx.EndSessionCookie()), nil
			})
		cookies := s.ask("GET", c.url, "").Result().Cookies()
		if len(cookies) != 2 {
			t.Fatalf("%d cookies", len(cookies))
		}
		in, out := cookies[0], cookies[1]
		if in.Name != "plenary_session" || in.Value != "t" || in.MaxAge != 3600 || !in.HttpOnly || in.Path != "/" ||
			in.SameSite != http.SameSiteLaxMode || in.Secure != c.secure || out.MaxAge >= 0 || out.Secure != c.secure {
			t.Errorf("%s: %v", c.url, cookies)
		}
	}
}

// Pages share the layers; static files do without those that look up who asks.
func TestRouterAndPublic(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	show := func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(identity.PrincipalOf(r.Context()).ID))
	}
	s.Router().Get("/page/{name}", show)
	s.Public().Get("/static/a.css", show)
	if got := s.ask("GET", "/page/a", "", "Cookie", "plenary_session=alice").Body.String(); got != alice.ID {
		t.Errorf("page: %q", got)
	}
	if got := s.ask("GET", "/static/a.css", "", "Cookie", "plenary_session=alice").Body.String(); got != "" || len(s.lookups) != 1 {
		t.Errorf("public: %q after %v", got, s.lookups)
	}
	if s.observed[0] != "GET /page/{name} OK" {
		t.Error(s.observed)
	}
}
