package pgtest

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/devpg"
)

// patience is how long one operation on the server may take, recovery of a busy machine included.
const patience = 2 * time.Minute

// Handle is the server that the tests of this process use.
type Handle struct {
	url      string // a superuser's
	password string // of the roles of the test databases, "" where the server asks for none
	keeper   *keeper

	prepare  sync.Once
	strategy string // how to copy a template; set by prepare
}

// URL returns a superuser's address of a database, "postgres" for one that is always there. It is for tests
// that do something to the server, like ending a session.
func (h *Handle) URL(database string) string {
	return readdress(h.url, "", "", database)
}

// Server returns the server, starting one if need be. It fails the test if there is none to be had.
func Server(t testing.TB) *Handle {
	t.Helper()
	h, err := server()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

var server = sync.OnceValues(func() (*Handle, error) {
	if url := os.Getenv("TEST_DATABASE_URL"); url != "" {
		return newHandle(url)
	}
	url, keeper, err := startKeeper()
	if err != nil {
		return nil, err
	}
	h, err := newHandle(url)
	if err != nil {
		return nil, err
	}
	h.keeper = keeper
	return h, nil
})

func newHandle(url string) (*Handle, error) {
	user, password, err := credentials(url)
	if err != nil {
		return nil, err
	}
	h := &Handle{url: url}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := h.with(ctx, func(conn *pgx.Conn) error { return conn.Ping(ctx) }); err != nil {
		// The driver spreads its attempts over several lines.
		return nil, fmt.Errorf("the server for the tests does not answer: %s", strings.Join(strings.Fields(err.Error()), " "))
	}
	if password != "" {
		// Every process must come to the same password for the roles that they share.
		sum := sha256.Sum256([]byte(user + "\x00" + password))
		h.password = hex.EncodeToString(sum[:16])
	}
	return h, nil
}

// keeperVariable makes a test binary run as the keeper of a private server instead of running tests.
const keeperVariable = "PGTEST_KEEPER"

// The keeper must be another process: it removes the server's folder after the tests have ended, however they
// ended, and a test process that looks for leaked goroutines finds none of the server's. It is the
// test binary itself, because that is the one program that is sure to be there.
func init() {
	if os.Getenv(keeperVariable) != "" {
		keep(os.Stdin, os.Stdout)
		os.Exit(0)
	}
}

// keeper is the process that keeps the private server. It ends, and the server with it, when the pipe is closed,
// which the kernel does when this process ends.
type keeper struct {
	cmd  *exec.Cmd
	pipe io.Closer
}

// startKeeper starts a private server.
func startKeeper() (url string, k *keeper, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("start a server for the tests: %w", err)
		}
	}()
	program, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), keeperVariable+"=1")
	cmd.SysProcAttr = ownGroup() // a Ctrl-C is for the tests, and the keeper follows them
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if url, ok := strings.CutPrefix(strings.TrimSpace(line), "url "); ok {
		return url, &keeper{cmd, in}, nil
	}
	if message, ok := strings.CutPrefix(strings.TrimSpace(line), "error "); ok {
		err = errors.New(message)
	}
	return "", nil, errors.Join(err, cmd.Wait())
}

// keep starts a server, writes its address or what is wrong as one line, and stops it when in ends.
func keep(in io.Reader, out io.Writer) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := devpg.StartTemporary(ctx, devpg.Options{
		Fast: true, MaxConnections: 300, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		_, _ = fmt.Fprintln(out, "error", strings.ReplaceAll(err.Error(), "\n", " "))
		return
	}
	_, _ = fmt.Fprintln(out, "url", s.URL(devpg.Superuser, "postgres"))
	_, _ = io.Copy(io.Discard, in)
	_ = s.Stop(context.Background())
}
