package inbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/emersion/go-smtp"
)

// Config says where the inbox listens and what it takes. Only Dir is needed.
type Config struct {
	Dir           string
	Addr          string        // "" means 127.0.0.1:0, a free port
	Keep          int           // how many messages stay, the newest; 0 means 1000
	MaxBytes      int64         // of one message; 0 means 5 MiB
	MaxRecipients int           // of one message; 0 means 20
	Timeout       time.Duration // for each command, the transfer of a message, and each answer; 0 means 30 s
	// BeforeAnswer, if set, runs after a message is stored and before the sender hears of it. The sender waits.
	BeforeAnswer func(Mail)
	Logger       *slog.Logger // nil discards
}

// Server is a listening inbox. It is safe for concurrent use.
type Server struct {
	config   Config
	store    *Store
	smtp     *smtp.Server
	listener *listener
	served   chan struct{} // closed when no more connections are accepted
	down     atomic.Bool
	stop     sync.Once
	stopErr  error // of Shutdown; written within stop
}

// Listen opens the folder and starts the server. The caller ends it with Shutdown or Close.
func Listen(config Config) (*Server, error) {
	config.Addr = cmp.Or(config.Addr, "127.0.0.1:0")
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	store, err := OpenStore(config.Dir, config.Keep)
	if err != nil {
		return nil, err
	}
	tcp, err := net.Listen("tcp", config.Addr)
	if err != nil {
		return nil, fmt.Errorf("start the mail inbox: %w", err)
	}
	s := &Server{
		config: config, store: store,
		listener: &listener{Listener: tcp, open: map[*conn]struct{}{}},
		served:   make(chan struct{}),
	}
	s.smtp = smtp.NewServer(smtp.BackendFunc(s.newSession))
	s.smtp.Domain = "inbox.localhost"
	s.smtp.MaxMessageBytes = cmp.Or(config.MaxBytes, 5<<20)
	s.smtp.MaxRecipients = cmp.Or(config.MaxRecipients, 20)
	s.smtp.ReadTimeout = cmp.Or(config.Timeout, 30*time.Second)
	s.smtp.WriteTimeout = s.smtp.ReadTimeout
	s.smtp.ErrorLog = slog.NewLogLogger(config.Logger.Handler(), slog.LevelWarn)
	go s.serve()
	return s, nil
}

func (s *Server) serve() {
	defer close(s.served)
	if err := s.smtp.Serve(s.listener); err != nil && !errors.Is(err, net.ErrClosed) {
		s.config.Logger.Error("the mail inbox stopped", "error", err)
	}
}

// Addr is the address that the server listens on.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// URL is the SMTP_URL by which a sender reaches the server.
func (s *Server) URL() string { return "smtp://" + s.Addr() + "?tls=none" }

// Store is the folder that the server fills.
func (s *Server) Store() *Store { return s.store }

// SetDown makes the server answer 421 to every attempt to give it a message, or ends that.
func (s *Server) SetDown(down bool) { s.down.Store(down) }

// Shutdown stops listening and waits for those who are connected. When ctx ends first, it cuts them off and
// returns the context's error. Either way nothing of the server runs any more when it returns. A second call
// waits for the first and returns the same.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stop.Do(func() {
		// In this order no connection is accepted while the library already counts those that are left.
		_ = s.listener.Close()
		<-s.served
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = s.smtp.Shutdown(context.Background())
		}()
		select {
		case <-done:
		case <-ctx.Done():
			s.listener.cut()
			<-done
			s.stopErr = ctx.Err()
		}
	})
	return s.stopErr
}

// Close is Shutdown without patience.
func (s *Server) Close() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = s.Shutdown(ctx)
}

// listener remembers the open connections: the library closes none of them once its Shutdown has begun.
type listener struct {
	net.Listener
	mu   sync.Mutex
	open map[*conn]struct{}
}

type conn struct {
	net.Conn
	listener *listener
}

func (l *listener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: accepted, listener: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[c] = struct{}{}
	return c, nil
}

func (c *conn) Close() error {
	c.listener.mu.Lock()
	delete(c.listener.open, c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}

func (l *listener) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.open {
		_ = c.Conn.Close()
	}
}
