package httpx_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"

	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/identity"
)

// The order is a decision: each neighbour's reason is a test below.
func TestOrderOfLayers(t *testing.T) {
	t.Parallel()
	want := []string{
		"location", "correlation", "trace", "security headers", "access log", "recovery",
		"cross-origin", "authentication", "limit", "timeout",
	}
	if got := newShop(t).LayerNames(); !slices.Equal(got, want) {
		t.Errorf("layers = %v", got)
	}
}

// Whatever answers, the answer bears the id and the headers, and the log has one line about it.
func TestEveryAnswerHasHeadersAndOneLogLine(t *testing.T) {
	t.Parallel()
	requests := map[string][]string{
		"ok":              {"GET", "/api/v1/items/" + someID},
		"not found":       {"GET", "/api/v1/nothing"},
		"not allowed":     {"DELETE", "/api/v1/items"},
		"cross-origin":    {"POST", "/api/v1/items", "Sec-Fetch-Site", "cross-site"},
		"bad token":       {"GET", "/api/v1/items", "Authorization", "Bearer x"},
		"broken layer":    {"GET", "/api/v1/items", "Authorization", "Bearer boom"},
		"bad query":       {"GET", "/api/v1/items?limit=0"},
		"panicking route": {"GET", "/api/v1/panic"},
		"document":        {"GET", "/api/openapi.json"},
	}
	for name, request := range requests {
		s := newShop(t)
		s.failing("/panic", func(context.Context) error { panic(errors.New("boom")) })
		w := s.ask(request[0], request[1], "", append(request[2:], "X-Correlation-Id", "c-1")...)
		for header, value := range map[string]string{
			"X-Correlation-Id": "c-1", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
			"Referrer-Policy": "same-origin", "Content-Security-Policy": httpx.DefaultContentPolicy,
		} {
			if got := w.Header().Get(header); got != value {
				t.Errorf("%s: %s = %q", name, header, got)
			}
		}
		lines := s.log.lines(t)
		if len(lines) != 1 || lines[0]["correlation_id"] != "c-1" || lines[0]["status"] != float64(w.Code) || len(s.observed) != 1 {
			t.Errorf("%s: answered %d, observed %v, logged %v", name, w.Code, s.observed, lines)
		}
	}
}

func TestOrderShowsInBehaviour(t *testing.T) {
	t.Parallel()
	t.Run("cross-origin before authentication", func(t *testing.T) {
		t.Parallel()
		s := newShop(t)
		w := s.ask("POST", "/api/v1/items", "{}", "Sec-Fetch-Site", "cross-site", "Cookie", "plenary_session=alice")
		check(t, "", w, 403, "cross_origin")
		if len(s.lookups) > 0 {
			t.Error("the session was looked up")
		}
	})
	t.Run("authentication before limit, limit before timeout", func(t *testing.T) {
		t.Parallel()
		s := newShop(t, func(c *httpx.Config) {
			c.Limit = func(http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if identity.PrincipalOf(r.Context()).ID != alice.ID {
						t.Error("it is not known who asks")
					}
					if _, on := r.Context().Deadline(); on {
						t.Error("the clock runs already")
					}
					w.WriteHeader(http.StatusTooManyRequests)
				})
			}
		})
		if w := s.ask("GET", "/api/v1/items", "", asAlice...); w.Code != 429 {
			t.Errorf("status %d", w.Code)
		}
	})
	t.Run("permission before body and parameters", func(t *testing.T) {
		t.Parallel()
		s := newShop(t)
		check(t, "nobody", s.ask("POST", "/api/v1/items?x=1", "{", "Content-Type", "text/plain"), 401, "unauthenticated")
		check(t, "viewer", s.ask("POST", "/api/v1/items?x=1", "{", "Authorization", "Bearer viewer"), 403, "permission_denied")
		check(t, "id", s.ask("PUT", "/api/v1/items/7", ""), 401, "unauthenticated")
	})
	t.Run("an unknown address looks up no session", func(t *testing.T) {
		t.Parallel()
		s := newShop(t)
		s.ask("GET", "/api/v1/nothing", "", asAlice...)
		if len(s.lookups) > 0 {
			t.Error("the session was looked up")
		}
	})
}

func TestCorrelationID(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	seen := ""
	s.failing("/seen", func(ctx context.Context) error { seen = identity.CorrelationID(ctx); return nil })
	canonical := regexp.MustCompile(`^[0-9a-f-]{36}$`)
	for sent, kept := range map[string]bool{
		"order-42_a.B": true, strings.Repeat("a", 64): true,
		"": false, strings.Repeat("a", 65): false, "a b": false, "a\u00e4": false, "<script>": false, "a;b": false, "a\n": false,
	} {
		w := s.ask("GET", "/api/v1/seen", "", "X-Correlation-Id", sent)
		got := w.Header().Get("X-Correlation-Id")
		if got != seen || (got == sent) != kept || !kept && !canonical.MatchString(got) {
			t.Errorf("%q: answered %q, handler saw %q", sent, got, seen)
		}
		if id, err := uuid.Parse(got); !kept && (err != nil || id.Version() != 7) {
			t.Errorf("%q was replaced by %q", sent, got)
		}
	}
}

func TestTraceIsContinued(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	var got trace.SpanContext
	s.failing("/seen", func(ctx context.Context) error { got = trace.SpanContextFromContext(ctx); return nil })
	s.ask("GET", "/api/v1/seen", "", "Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	if got.TraceID().String() != "0af7651916cd43dd8448eb211c80319c" || !got.IsRemote() || !got.IsSampled() {
		t.Errorf("trace = %v", got)
	}
	s.ask("GET", "/api/v1/seen", "", "Traceparent", "nonsense")
	if got.IsValid() {
		t.Errorf("trace = %v", got)
	}
}

func TestPanic(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.failing("/panic", func(context.Context) error { panic(fmt.Errorf("hunter2 in SQL")) })
	check(t, "panic", s.ask("GET", "/api/v1/panic", ""), 500, "internal")
	line := s.log.lines(t)[0]
	stack, _ := line["stack"].(string)
	if line["level"] != "ERROR" || !strings.Contains(fmt.Sprint(line["error"]), "hunter2") || !strings.Contains(stack, "layers_test.go") {
		t.Errorf("%v", line)
	}
}

// http.ErrAbortHandler is how a handler hangs up: no answer, and no failure in the log.
func TestHangingUp(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.failing("/abort", func(context.Context) error { panic(http.ErrAbortHandler) })
	defer func() {
		if v := recover(); v != http.ErrAbortHandler {
			t.Errorf("recovered %v", v)
		}
		if line := s.log.lines(t)[0]; line["level"] != "INFO" || line["stack"] != nil {
			t.Errorf("%v", line)
		}
	}()
	s.ask("GET", "/api/v1/abort", "")
	t.Error("there was an answer")
}

// A panic and an error after the first byte can only be told by breaking off.
func TestFailureAfterTheFirstByteBreaksOff(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func() error{
		"error": func() error { return errors.New("late") },
		"panic": func() error { panic("late") },
		"abort": func() error { panic(http.ErrAbortHandler) },
	} {
		s := newShop(t)
		httpx.HandleRaw(s.API, httpx.Route{Method: "GET", Path: "/file", ID: "file", Produces: "text/csv"},
			func(w http.ResponseWriter, _ *http.Request, _ struct{}) error {
				_, _ = w.Write([]byte("half"))
				return fail()
			})
		func() {
			defer func() {
				if v := recover(); v != http.ErrAbortHandler {
					t.Errorf("%s: recovered %v", name, v)
				}
			}()
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequest("GET", "/api/v1/file", nil))
			t.Errorf("%s: answered as if whole: %s", name, w.Body)
		}()
		if n := len(s.log.lines(t)); n != 1 {
			t.Errorf("%s: %d log lines", name, n)
		}
	}
}

func TestCrossOrigin(t *testing.T) {
	t.Parallel()
	s := newShop(t, func(c *httpx.Config) { c.TrustedOrigins = []string{"https://app.test"} })
	cases := []struct {
		name   string
		method string
		header []string
		status int
	}{
		{"same origin", "POST", []string{"Cookie", "plenary_session=alice", "Sec-Fetch-Site", "same-origin"}, 201},
		{"no browser", "POST", []string{"Cookie", "plenary_session=alice"}, 201},
		{"cross-site", "POST", []string{"Cookie", "plenary_session=alice", "Sec-Fetch-Site", "cross-site"}, 403},
		{"sibling", "POST", []string{"Cookie", "plenary_session=alice", "Sec-Fetch-Site", "same-site"}, 403},
		{"old browser", "POST", []string{"Cookie", "plenary_session=alice", "Origin", "https://evil.test"}, 403},
		{"trusted", "POST", []string{"Cookie", "plenary_session=alice", "Origin", "https://app.test", "Sec-Fetch-Site", "cross-site"}, 201},
		{"bearer", "POST", []string{"Authorization", "Bearer alice", "Sec-Fetch-Site", "cross-site"}, 201},
		{"bearer of another scheme", "POST", []string{"Authorization", "Basic YTpi", "Cookie", "plenary_session=alice", "Sec-Fetch-Site", "cross-site"}, 403},
		{"reading", "GET", []string{"Cookie", "plenary_session=alice", "Sec-Fetch-Site", "cross-site"}, 200},
	}
	for _, c := range cases {
		body := ""
		if c.method == "POST" {
			body = `{"name":"a","quantity":1}`
		}
		check(t, c.name, s.ask(c.method, "/api/v1/items", body, c.header...), c.status, "")
	}
}

func TestAuthentication(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		header []string
		status int
		who    string
	}{
		{"nobody", nil, 200, ""},
		{"cookie", []string{"Cookie", "plenary_session=alice"}, 200, alice.ID},
		{"bearer", []string{"Authorization", "Bearer alice"}, 200, alice.ID},
		{"scheme in any case", []string{"Authorization", "bearer alice"}, 200, alice.ID},
		{"bearer counts, not the cookie", []string{"Authorization", "Bearer voter", "Cookie", "plenary_session=alice"}, 200, "voter:1"},
		{"stale cookie", []string{"Cookie", "plenary_session=stale"}, 200, ""},
		{"empty cookie", []string{"Cookie", "plenary_session="}, 200, ""},
		{"huge cookie", []string{"Cookie", "plenary_session=" + strings.Repeat("a", 600)}, 200, ""},
		{"another scheme", []string{"Authorization", "Basic YTpi"}, 200, ""},
		{"unknown bearer", []string{"Authorization", "Bearer hunter2"}, 401, ""},
		{"unknown bearer, good cookie", []string{"Authorization", "Bearer hunter2", "Cookie", "plenary_session=alice"}, 401, ""},
		{"empty bearer", []string{"Authorization", "Bearer "}, 401, ""},
		{"bare bearer", []string{"Authorization", "Bearer"}, 401, ""},
		{"malformed bearer", []string{"Authorization", "Bearer alice alice"}, 401, ""},
		{"huge bearer", []string{"Authorization", "Bearer " + strings.Repeat("a", 600)}, 401, ""},
		{"database away", []string{"Authorization", "Bearer away"}, 503, ""},
		{"database away, cookie", []string{"Cookie", "plenary_session=away"}, 503, ""},
	}
	for _, c := range cases {
		s := newShop(t)
		w := s.ask("GET", "/api/v1/items/"+someID, "", c.header...)
		check(t, c.name, w, c.status, "")
		if want := fmt.Sprintf("%q", someID+" "+c.who); c.status == 200 && !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %s", c.name, w.Body)
		}
		if c.status == 401 && w.Header().Get("WWW-Authenticate") != `Bearer error="invalid_token"` {
			t.Errorf("%s: challenge %q", c.name, w.Header().Get("WWW-Authenticate"))
		}
		if user, _ := s.log.lines(t)[0]["user_id"].(string); user != c.who {
			t.Errorf("%s: logged user %q", c.name, user)
		}
	}
	s := newShop(t)
	check(t, "a voter is not signed in", s.ask("PUT", "/api/v1/items/"+someID, "", "Authorization", "Bearer voter"), 401, "unauthenticated")
}

func TestLogSaysNothingThatWasSent(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.ask("GET", "/api/v1/items?q=hunter2", "", "Cookie", "room=hunter2", "Authorization", "Bearer hunter2")
	s.ask("POST", "/api/v1/items?hunter2=hunter2", `{"hunter2":"hunter2"}`, asAlice...)
	s.ask("POST", "/api/v1/items/hunter2/cancellation", "")
	s.ask("GET", "/hunter2", "")
	s.ask("HUNTER2", "/api/v1/items", "")
	for _, line := range s.log.lines(t) {
		if strings.Contains(strings.ToLower(fmt.Sprint(line)), secret) {
			t.Errorf("%v", line)
		}
	}
	if line := s.log.lines(t)[0]; line["code"] != "invalid_token" || line["level"] != "INFO" {
		t.Errorf("a refusal is logged as %v", line)
	}
	want := []string{
		"GET /api/v1/items Unauthorized", "POST /api/v1/items Bad Request", "POST /api/v1/items/{name}/cancellation OK",
		"GET unmatched Not Found", "OTHER unmatched Method Not Allowed",
	}
	if !slices.Equal(s.observed, want) {
		t.Errorf("observed %q", s.observed)
	}
}
