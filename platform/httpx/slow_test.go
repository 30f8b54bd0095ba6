package httpx_test

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"example.com/plenary/platform/httpx"
)

// hurry is what the limits of NewServer are shortened to.
const hurry = 200 * time.Millisecond

// dial starts a server with one limit shortened, and opens a connection to it.
func dial(t *testing.T, h http.Handler, shorten func(*http.Server)) net.Conn {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, ended := httpx.NewServer("", h, slog.New(slog.DiscardHandler)), make(chan struct{})
	shorten(server)
	go func() { defer close(ended); _ = server.Serve(listener) }()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(); _ = server.Close(); <-ended })
	return conn
}

// drip writes a byte now and then, for as long as the other end takes it.
func drip(conn net.Conn, text string) {
	every := time.NewTicker(hurry / 20)
	defer every.Stop()
	for _, b := range []byte(text) {
		<-every.C
		if _, err := conn.Write([]byte{b}); err != nil {
			return
		}
	}
}

func TestSlowHeadersAreCut(t *testing.T) {
	t.Parallel()
	conn := dial(t, newShop(t), func(s *http.Server) { s.ReadHeaderTimeout = hurry })
	go drip(conn, "GET /api/v1/items HTTP/1.1\r\nHost: a\r\nX-Slow: "+strings.Repeat("a", 10_000))
	answer, err := io.ReadAll(conn)
	if len(answer) > 0 && !strings.HasPrefix(string(answer), "HTTP/1.1 400 ") || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%q, %v", answer, err)
	}
}

func TestSlowBodiesAreCut(t *testing.T) {
	t.Parallel()
	conn := dial(t, newShop(t), func(s *http.Server) { s.ReadTimeout = hurry })
	_, _ = io.WriteString(conn, "POST /api/v1/items HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer alice\r\n"+
		"Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n")
	go drip(conn, `{"name":"`+strings.Repeat("a", 10_000))
	reader := bufio.NewReader(conn)
	answer, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusRequestTimeout || !strings.Contains(string(body), `"body_too_slow"`) || !answer.Close {
		t.Errorf("%d, close %v: %s", answer.StatusCode, answer.Close, body)
	}
	if rest, err := io.ReadAll(reader); len(rest) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the connection goes on: %q, %v", rest, err)
	}
}

// Whoever does not take an answer frees the server all the same.
func TestSlowReadersAreCut(t *testing.T) {
	t.Parallel()
	failed := make(chan error, 1)
	conn := dial(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		part := make([]byte, 1<<20)
		for range 1000 { // more than the sockets hold
			if _, err := w.Write(part); err != nil {
				failed <- err
				return
			}
		}
		failed <- nil
	}), func(s *http.Server) { s.WriteTimeout = hurry })
	_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	select {
	case err := <-failed:
		if err == nil {
			t.Error("somebody took it")
		}
	case <-time.After(20 * time.Second):
		t.Error("the handler still waits")
	}
}

func TestIdleConnectionsAreCut(t *testing.T) {
	t.Parallel()
	conn := dial(t, newShop(t), func(s *http.Server) { s.IdleTimeout = hurry })
	_, _ = io.WriteString(conn, "GET /api/v1/items HTTP/1.1\r\nHost: a\r\n\r\n")
	if answer, err := io.ReadAll(conn); !strings.HasPrefix(string(answer), "HTTP/1.1 200") || err != nil {
		t.Errorf("%.40q, %v", answer, err)
	}
}
