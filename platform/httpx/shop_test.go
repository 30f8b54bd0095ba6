package httpx_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/telemetry"
)

// shop is an API with one route of every sort, and all that it told anyone.
type shop struct {
	*httpx.API
	log      *safeBuffer
	lookups  []string // tokens that were looked up
	observed []string
}

type tokens struct{ shop *shop }

var alice = identity.User(uuid.MustParse("019076a1-5e0c-7c3e-8d4f-000000000001"), "customer")

func (a tokens) Authenticate(_ context.Context, token string) (identity.Principal, error) {
	a.shop.lookups = append(a.shop.lookups, token)
	switch token {
	case "alice":
		return alice, nil
	case "viewer":
		return identity.User(uuid.MustParse("019076a1-5e0c-7c3e-8d4f-000000000002"), "viewer"), nil
	case "voter":
		return identity.Principal{ID: "voter:1"}, nil
	case "away":
		return identity.Principal{}, fault.New(fault.Unavailable, "database_away", "the database does not answer")
	case "boom":
		panic("authenticator")
	default:
		return identity.Principal{}, fault.New(fault.Unauthenticated, "unknown_token", "this token is not known")
	}
}

type item struct {
	Name     string         `json:"name"`
	Quantity int            `json:"quantity"`
	Tags     []string       `json:"tags,omitzero"`
	On       *time.Time     `json:"on,omitzero"`
	Counts   map[string]int `json:"counts,omitzero"`
}

type postItem struct {
	Body item
}

type getItem struct {
	ID uuid.UUID `path:"id"`
}

type listItems struct {
	httpx.Paging
	Status string     `query:"status" enum:"open,closed"`
	From   *time.Time `query:"from"`
	Owner  uuid.UUID  `query:"owner"`
	Q      string     `query:"q" maxLength:"5"`
	Flag   *bool      `query:"flag"`
	Small  int8       `query:"small"`
	Trace  string     `header:"X-Trace" maxLength:"10"`
	Room   string     `cookie:"room"`
}

type putItem struct {
	ID      uuid.UUID     `path:"id"`
	IfMatch httpx.IfMatch `header:"If-Match" required:"true"`
	Body    *item
}

func newShop(t testing.TB, change ...func(*httpx.Config)) *shop {
	t.Helper()
	s := &shop{log: &safeBuffer{}}
	permissions := &identity.Permissions{}
	permissions.Grant("customer", "sales:order")
	config := httpx.Config{
		Title: "Shop", Version: "1", Authenticator: tokens{s}, Permissions: permissions,
		Log: telemetry.NewLogger(s.log, slog.LevelDebug, "json"),
		Observe: func(method, route string, status int, d time.Duration) {
			if d < 0 {
				t.Errorf("took %v", d)
			}
			s.observed = append(s.observed, method+" "+route+" "+http.StatusText(status))
		},
	}
	for _, c := range change {
		c(&config)
	}
	s.API = httpx.NewAPI(config)
	s.declare()
	return s
}

func (s *shop) declare() {
	httpx.Handle(s.API, httpx.Route{
		Method: "POST", Path: "/items", ID: "postItem", Permission: "sales:order", Status: 201,
	}, func(_ context.Context, in postItem) (httpx.Response[item], error) {
		return httpx.Created("/api/v1/items/1", in.Body).WithVersion(1), nil
	})
	httpx.Handle(s.API, httpx.Route{Method: "GET", Path: "/items/{id}", ID: "getItem"},
		func(ctx context.Context, in getItem) (httpx.Response[item], error) {
			return httpx.OK(item{Name: in.ID.String() + " " + identity.PrincipalOf(ctx).ID}), nil
		})
	httpx.Handle(s.API, httpx.Route{Method: "GET", Path: "/items", ID: "listItems"},
		func(_ context.Context, in listItems) (httpx.Response[listItems], error) { return httpx.OK(in), nil })
	httpx.Handle(s.API, httpx.Route{Method: "PUT", Path: "/items/{id}", ID: "putItem", SignedIn: true},
		func(_ context.Context, in putItem) (httpx.Response[httpx.Empty], error) {
			return httpx.NoContent(), in.IfMatch.Check(3)
		})
	httpx.Handle(s.API, httpx.Route{Method: "POST", Path: "/items/{name}/cancellation", ID: "cancelItem", Status: 200},
		func(_ context.Context, in struct {
			Name string `path:"name" maxLength:"20"`
		},
		) (httpx.Response[item], error) {
			return httpx.OK(item{Name: in.Name}), nil
		})
	httpx.HandleRaw(s.API, httpx.Route{Method: "GET", Path: "/items.csv", ID: "itemsCSV", Produces: "text/csv"},
		func(w http.ResponseWriter, _ *http.Request, _ struct{}) error {
			w.Header().Set("Content-Type", "text/csv")
			_, err := w.Write([]byte("a,b\n"))
			return err
		})
}

// failing adds a route that fails as h does.
func (s *shop) failing(path string, h func(ctx context.Context) error) {
	httpx.Handle(s.API, httpx.Route{Method: "GET", Path: path, ID: path},
		func(ctx context.Context, _ struct{}) (httpx.Response[httpx.Empty], error) {
			return httpx.NoContent(), h(ctx)
		})
}

// ask sends a request; header comes as pairs. A body is JSON unless a Content-Type says otherwise.
func (s *shop) ask(method, target, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if body == "" {
		r = httptest.NewRequest(method, target, nil)
	} else {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
		if header[i] == "Content-Type" {
			r.Header.Set(header[i], header[i+1])
		}
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func problem(t testing.TB, w *httptest.ResponseRecorder) httpx.Problem {
	t.Helper()
	var p httpx.Problem
	if got := w.Header().Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("%d: Content-Type = %q: %s", w.Code, got, w.Body)
		return p
	}
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Errorf("%v in %s", err, w.Body)
	}
	if p.Status != w.Code || p.Type != "about:blank" || p.Title != http.StatusText(w.Code) || p.Code == "" ||
		p.Detail == "" || p.CorrelationID == "" || p.CorrelationID != w.Header().Get("X-Correlation-Id") {
		t.Errorf("%d: incomplete problem %s", w.Code, w.Body)
	}
	return p
}

// firstField returns "path code" of the first complaint, or else the problem's code.
func firstField(p httpx.Problem) string {
	if len(p.Errors) == 0 {
		return p.Code
	}
	return cmp.Or(p.Errors[0].Field, "-") + " " + p.Errors[0].Code
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// lines returns what was logged, one map a line.
func (b *safeBuffer) lines(t testing.TB) []map[string]any {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	var lines []map[string]any
	for line := range bytes.Lines(b.b.Bytes()) {
		var m map[string]any
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, m)
	}
	return lines
}
