package host_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/host"
)

// serving is a server at work, whose handler says when it has been entered and answers once it is told to.
type serving struct {
	url              string
	listener         net.Listener
	server           *http.Server
	component        host.Component
	entered, release chan struct{}
	cancelled        chan error
	ended            chan error // what Run has returned
}

func serve(t *testing.T) *serving {
	t.Helper()
	s := &serving{
		entered: make(chan struct{}), release: make(chan struct{}),
		cancelled: make(chan error, 1), ended: make(chan error, 1),
	}
	listener, err := host.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.listener, s.url = listener, "http://"+listener.Addr().String()
	s.server = &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(s.entered)
		select {
		case <-s.release:
			_, _ = io.WriteString(w, "finished")
		case <-r.Context().Done():
			s.cancelled <- r.Context().Err()
			<-s.release
		}
	})}
	s.component = host.HTTPServer("http", s.server, listener)
	if err := s.component.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	go func() { s.ended <- s.component.Run(t.Context()) }()
	return s
}

// request asks with a body that the handler does not read, so that it cannot notice a closed connection.
func (s *serving) request(t *testing.T) <-chan string {
	t.Helper()
	got := make(chan string, 1)
	go func() {
		answer, err := http.Post(s.url, "text/plain", strings.NewReader("unread"))
		if err != nil {
			got <- "failed"
			return
		}
		defer func() { _ = answer.Body.Close() }()
		body, _ := io.ReadAll(answer.Body)
		got <- string(body)
	}()
	<-s.entered
	return got
}

func TestServerFinishesOpenRequestsAndTakesNoMore(t *testing.T) {
	t.Parallel()
	s := serve(t)
	shutdown := make(chan struct{})
	s.server.RegisterOnShutdown(func() { close(shutdown) })
	got := s.request(t)

	stopped := make(chan error, 1)
	go func() { stopped <- s.component.Stop(t.Context()) }()
	<-shutdown
	_ = s.listener.(*net.TCPListener).SetDeadline(time.Unix(1, 0)) // so that an open one answers too
	if _, err := s.listener.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("it still accepts connections: %v", err)
	}
	if err := <-s.ended; err != nil {
		t.Errorf("Run returned %v", err)
	}
	close(s.release)
	if answer := <-got; answer != "finished" {
		t.Errorf("the open request got %q", answer)
	}
	if err := <-stopped; err != nil {
		t.Errorf("Stop returned %v", err)
	}
}

func TestServerCutsOffWhatDoesNotFinish(t *testing.T) {
	t.Parallel()
	s := serve(t)
	got := s.request(t)
	over, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	if err := s.component.Stop(over); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Stop returned %v", err)
	}
	if err := <-s.cancelled; !errors.Is(err, context.Canceled) {
		t.Errorf("the handler saw %v", err)
	}
	if answer := <-got; answer != "failed" { // though its handler has not returned
		t.Errorf("the request got %q", answer)
	}
	close(s.release)
	if err := <-s.ended; err != nil {
		t.Errorf("Run returned %v", err)
	}
}

func TestServerThatCannotServeFails(t *testing.T) {
	t.Parallel()
	listener, err := host.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
	c := host.HTTPServer("http", &http.Server{ReadHeaderTimeout: time.Second}, listener)
	if err := c.Run(t.Context()); err == nil {
		t.Error("Run returned nil")
	}
}

func TestTakenPortSaysWhatToDo(t *testing.T) {
	t.Parallel()
	taken, err := host.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	address := taken.Addr().String()

	// The server opens it itself: the message comes out of Start, wrapped by Run.
	h := host.New(quiet())
	h.Add(host.HTTPServer("http", &http.Server{Addr: address, ReadHeaderTimeout: time.Second}, nil))
	err = h.Run(t.Context())
	if !fault.Is(err, "address_in_use") || fault.KindOf(err) != fault.Conflict {
		t.Fatalf("Run returned %v", err)
	}
	text := err.Error()
	if !strings.Contains(text, address+" is already in use") || !strings.Contains(text, "HTTP_ADDR=127.0.0.1:") || strings.Contains(text, "\n") {
		t.Error(text)
	}
}

func TestImpossibleAddressNamesItsSetting(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"nonsense", "127.0.0.1:99999"} {
		if _, err := host.Listen(address); err == nil || !strings.Contains(err.Error(), "HTTP_ADDR="+address) {
			t.Errorf("Listen(%q): %v", address, err)
		}
	}
}

func ExampleListen() {
	listener, err := host.Listen("127.0.0.1:0")
	if err != nil {
		fmt.Println(err) // 127.0.0.1:8080 is already in use; choose another address, such as HTTP_ADDR=127.0.0.1:8081
		return
	}
	defer func() { _ = listener.Close() }()
	fmt.Println(listener.Addr().Network())
	// Output: tcp
}
