package httpx_test

import (
	"bufio"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/plenary/platform/httpx"
)

// serve starts a server as NewServer makes it, and returns its address.
func serve(t *testing.T, h http.Handler) (*http.Server, string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, ended := httpx.NewServer("", h, slog.New(slog.DiscardHandler)), make(chan struct{})
	go func() { defer close(ended); _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close(); <-ended })
	return server, listener.Addr().String()
}

func TestServerRefusesHugeHeaders(t *testing.T) {
	t.Parallel()
	server, address := serve(t, newShop(t))
	for size, want := range map[int]int{16 << 10: http.StatusOK, 128 << 10: http.StatusRequestHeaderFieldsTooLarge} {
		r, _ := http.NewRequest("GET", "http://"+address+"/api/v1/items", nil)
		r.Header.Set("X-Big", strings.Repeat("a", size))
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%d bytes: %d, want %d", size, answer.StatusCode, want)
		}
	}
	if server.ReadHeaderTimeout == 0 || server.ReadTimeout == 0 || server.WriteTimeout == 0 || server.IdleTimeout == 0 {
		t.Error("a limit is missing")
	}
}

// A WebSocket takes over the connection through all layers, and is logged when it ends.
func TestConnectionCanBeTakenOver(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ended := make(chan struct{})
	httpx.HandleRaw(s.API, httpx.Route{Method: "GET", Path: "/live", ID: "live", Status: 101, LongLived: true},
		func(w http.ResponseWriter, _ *http.Request, _ struct{}) error {
			w.WriteHeader(http.StatusSwitchingProtocols)
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return err
			}
			_, err = conn.Write([]byte("hello\n"))
			_ = conn.Close()
			return err
		})
	_, address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		s.ServeHTTP(w, r)
	}))
	conn, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, _ = conn.Write([]byte("GET /api/v1/live HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"))
	r := bufio.NewReader(conn)
	answer, err := http.ReadResponse(r, nil)
	if err != nil || answer.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v, %v", answer, err)
	}
	if line, err := r.ReadString('\n'); line != "hello\n" {
		t.Errorf("%q, %v", line, err)
	}
	<-ended
	if lines := s.log.lines(t); len(lines) != 1 || lines[0]["status"] != 101.0 {
		t.Errorf("%v", lines)
	}
}
