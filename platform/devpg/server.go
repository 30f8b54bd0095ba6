package devpg

import (
	"context"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.com/plenary/platform/fault"
)

// Superuser is the name of the role that owns the server.
const Superuser = "postgres"

// URLFile is the file below Options.Dir that holds, while the server runs, a URL for psql and the like.
const URLFile = "database.url"

// Options says where and how a server runs. Dir is required by Start; every other field may be zero.
type Options struct {
	Dir            string       // parent folder; the data lives below it in postgres-<major>
	Fast           bool         // for tests: gives up durability for speed
	BinDir         string       // folder of the programs initdb and postgres; "": see FindPrograms
	MaxConnections int          // 0: 100
	Logger         *slog.Logger // nil: slog.Default

	watcher bool // tie the server to this process by a pipe, though the kernel could do it
}

// Server is a running PostgreSQL. Its methods may be called by several goroutines.
type Server struct {
	programs  Programs
	dir       string // Options.Dir, absolute
	data      string
	sockets   string
	logFile   string
	temporary bool // Stop removes dir

	child    *child
	log      *slog.Logger
	stopping atomic.Bool
	release  func()
	cleanUp  sync.Once
}

// URL returns the address of a database for a role, in a form that pgx, libpq and psql understand.
func (s *Server) URL(user, database string) string {
	// The port is spelled out because PGPORT would win over the default.
	query := "host=" + url.QueryEscape(s.sockets) + "&port=" + socketPort + "&user=" + url.QueryEscape(user)
	return "postgres:///" + url.PathEscape(database) + "?" + plainQuery.Replace(query)
}

// plainQuery makes a query libpq's, to which a plus is a plus, and easier to read: a slash may stand there.
var plainQuery = strings.NewReplacer("+", "%20", "%2F", "/")

// Dir returns the folder of the server's data.
func (s *Server) Dir() string { return s.data }

// Version returns the server's major version.
func (s *Server) Version() int { return s.programs.Major }

// Done returns a channel that is closed when the server has ended, for whatever reason.
func (s *Server) Done() <-chan struct{} { return s.child.done }

// Err returns nil while the server runs and after Stop. If the server ended by itself, it returns an
// Unavailable fault with code "postgres_ended" that carries the end of the server's log.
func (s *Server) Err() error {
	select {
	case <-s.child.done:
	default:
		return nil
	}
	if s.stopping.Load() {
		return nil
	}
	return fault.Wrap(s.child.failure(s.logFile), fault.Unavailable, "postgres_ended",
		"the private PostgreSQL has ended by itself")
}

const (
	stopPatience = 10 * time.Second // for a shutdown that rolls back and writes everything
	quitPatience = 10 * time.Second // PostgreSQL itself kills the sessions that are left after 5
)

// Stop ends the server and waits until it has ended. Open sessions are rolled back. When ctx ends or ten
// seconds pass before that, the server is ended at once; then it recovers at its next start, nothing is lost,
// and an Unavailable fault with code "postgres_stop" comes back. A second call returns at once.
func (s *Server) Stop(ctx context.Context) error {
	s.stopping.Store(true)
	err := s.child.stop(ctx)
	s.cleanUp.Do(func() {
		_ = os.RemoveAll(s.sockets)
		_ = os.Remove(filepath.Join(s.dir, URLFile))
		if s.temporary {
			_ = os.RemoveAll(s.dir)
		}
		s.release()
	})
	return err
}

// writeURL leaves the server's address for programs that are started by hand.
func (s *Server) writeURL(user, database string) error {
	return os.WriteFile(filepath.Join(s.dir, URLFile), []byte(s.URL(user, database)+"\n"), 0o600)
}
