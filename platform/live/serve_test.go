package live_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"example.com/plenary/platform/live"
)

func TestOrigins(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		origin, bearer string
		config         func(*live.Config)
		want           int
	}{
		{origin: "own", want: 101},
		{origin: "own in capitals", want: 101},
		{origin: "own by TLS", want: 101}, // a proxy has ended it
		{origin: "https://app.example.test", want: 101},
		{origin: "https://APP.example.test:443", want: 101},
		{origin: "http://app.example.test", want: 403},
		{origin: "https://app.example.test:8443", want: 403},
		{origin: "https://app.example.test.evil.test", want: 403},
		{origin: "https://evil.test/https://app.example.test", want: 403},
		{origin: "https://evil@app.example.test", want: 403},
		{origin: "other port", want: 403},
		{origin: "null", want: 403},
		{origin: "https://", want: 403},
		{origin: "https://evil.test", bearer: "Bearer token", want: 403},
		{origin: "own", config: func(c *live.Config) { c.SecureOrigin = true }, want: 403},
		{origin: "own by TLS", config: func(c *live.Config) { c.SecureOrigin = true }, want: 101},
		{origin: "", want: 403},
		{origin: "", bearer: "bearer token", want: 101},
		{origin: "", bearer: "Bearer ", want: 403},
		{origin: "", bearer: "Basic dG9rZW4=", want: 403},
	} {
		r := newReplica(t, newStore(), func(c *live.Config) {
			if test.config != nil {
				test.config(c)
			}
		})
		header := http.Header{}
		if test.bearer != "" {
			header.Set("Authorization", test.bearer)
		}
		host := strings.TrimPrefix(r.url, "http://")
		switch test.origin {
		case "":
		case "own":
			header.Set("Origin", r.url)
		case "own in capitals":
			header.Set("Origin", "HTTP://"+strings.ToUpper(host))
		case "own by TLS":
			header.Set("Origin", "https://"+host)
		case "other port":
			header.Set("Origin", "http://127.0.0.1:1")
		default:
			header.Set("Origin", test.origin)
		}
		// Without httpx, to which every bearer token here is unknown.
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			req.Host = host
			err := r.Serve(w, req, live.Join{Room: "a", Snapshot: func(ctx context.Context) (live.State, error) { return r.load(ctx, "a") }})
			if err != nil {
				w.WriteHeader(http.StatusForbidden)
			}
		}))
		conn, response, err := websocket.Dial(t.Context(), server.URL, &websocket.DialOptions{HTTPHeader: header})
		if response == nil || response.StatusCode != test.want {
			t.Errorf("origin %q, authorization %q: %v %v, want %d", test.origin, test.bearer, response, err, test.want)
		}
		if conn != nil {
			_ = conn.CloseNow()
		}
		r.stop()
		server.Close()
	}
}

func TestRefusalsAreProblemsBeforeAnythingIsWritten(t *testing.T) {
	t.Parallel()
	r := newReplica(t, newStore())
	for _, test := range []struct {
		header http.Header
		status int
		text   string
	}{
		{http.Header{"Origin": {"https://evil.test"}}, 403, "live.origin"},
		{http.Header{"Origin": {r.url}}, 426, "live.handshake"},
		{http.Header{"Origin": {r.url}, "Connection": {"Upgrade"}, "Upgrade": {"websocket"}}, 400, "live.handshake"},
	} {
		request, err := http.NewRequestWithContext(t.Context(), "GET", r.url+"/api/v1/rooms/a/live", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header = test.header
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if response.StatusCode != test.status || !strings.Contains(string(body), test.text) ||
			response.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%v: %d %s", test.header, response.StatusCode, body)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	r.snapshot = func(context.Context, string) (live.State, error) { return live.State{}, errors.New("no database") }
	_, response, _ := r.dial("a/live", http.Header{"Origin": {r.url}})
	if response == nil || response.StatusCode != 500 {
		t.Errorf("got %v", response)
	}
	r.snapshot = func(context.Context, string) (live.State, error) { panic("boom") }
	_, response, _ = r.dial("a/live", http.Header{"Origin": {r.url}})
	if response == nil || response.StatusCode != 500 {
		t.Errorf("got %v", response)
	}
	for range 5 {
		r.leaves(patience)
	}
	if s := r.Stats(); s.Clients != 0 || s.Rooms != 0 {
		t.Errorf("%+v", s)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		limits live.Limits
		room   string // of the third
		status int
	}{
		{live.Limits{Total: 2}, "b", 503},
		{live.Limits{PerRoom: 2}, "a", 503},
		{live.Limits{PerRoom: 2}, "b", 101},
		{live.Limits{PerAddress: 2}, "b", 429},
	} {
		r := newReplica(t, newStore(), func(c *live.Config) { c.Limits = test.limits })
		first, _ := r.join("a")
		r.join("a")
		try := func() int {
			conn, response, err := r.dial(test.room+"/live", http.Header{"Origin": {r.url}})
			if response == nil {
				t.Fatal(err)
			}
			if conn != nil {
				defer conn.CloseNow()
			}
			return response.StatusCode
		}
		if got := try(); got != test.status {
			t.Errorf("%+v: %d, want %d", test.limits, got, test.status)
		}
		r.leaves(patience)
		_ = first.CloseNow()
		r.leaves(patience)
		if got := try(); got != 101 {
			t.Errorf("%+v: %d when there is room again", test.limits, got)
		}
	}
}

// A connection that is broken off in the middle of the handshake leaves nothing behind.
func TestBrokenConnectionLeavesNothing(t *testing.T) {
	t.Parallel()
	r := newReplica(t, newStore())
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(conn, "GET /api/v1/rooms/a/live HTTP/1.1\r\nHost: x\r\nOrigin: http://x\r\nConnection: Upgrade\r\n"+
		"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
	_ = conn.Close()
	r.leaves(5 * time.Second)
	if s := r.Stats(); s.Clients != 0 || s.Rooms != 0 {
		t.Errorf("%+v", s)
	}
}
