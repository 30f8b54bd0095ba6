package devpg

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// The tests kill processes that hold servers and locks. Such a process is the test binary with this variable.
const roleVariable = "DEVPG_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		if err := play(role); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// play does what a test wants to happen in another process, says so on standard output, and waits for the end
// of standard input, or to be killed.
func play(role string) error {
	ctx := context.Background()
	dir := os.Getenv("DEVPG_TEST_DIR")
	options := quiet(dir)
	options.watcher = role == "server by watcher"
	switch role {
	case "lock":
		if _, err := LockDir(dir, "pid 1, http://127.0.0.1:1"); err != nil {
			return err
		}
		fmt.Println("ready")
		_, _ = io.Copy(io.Discard, os.Stdin)
		return nil
	case "temporary server":
		s, err := StartTemporary(ctx, options)
		if err != nil {
			return err
		}
		fmt.Println("ready", s.dir)
		_, _ = io.Copy(io.Discard, os.Stdin)
		return s.Stop(ctx)
	default:
		s, err := Start(ctx, options)
		if err != nil {
			return err
		}
		fmt.Println("ready", s.URL(Superuser, "postgres"))
		_, _ = io.Copy(io.Discard, os.Stdin)
		return s.Stop(ctx)
	}
}

// actor is another process that plays a role.
type actor struct {
	cmd  *exec.Cmd
	in   io.Closer
	said string // what it said behind "ready"
}

// stage starts a process that plays the role, as another user if attr says so, and waits until it is ready.
func stage(t *testing.T, role, dir string, prepare func(*exec.Cmd)) *actor {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), roleVariable+"="+role, "DEVPG_TEST_DIR="+dir)
	if prepare != nil {
		prepare(cmd)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	a := &actor{cmd: cmd, in: in}
	t.Cleanup(a.kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	said, ok := strings.CutPrefix(line, "ready")
	if !ok {
		t.Fatalf("the process that plays %q says %q (%v)", role, line, err)
	}
	a.said = strings.TrimSpace(said)
	return a
}

// kill ends the process as kill -9 does, and returns when it is gone.
func (a *actor) kill() {
	_ = a.cmd.Process.Kill()
	_ = a.cmd.Wait()
}

// folder returns a new folder that whoever the server runs as can reach, which is not so for t.TempDir as root.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "devpg-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "data")
}

// quiet returns options for a server that starts fast. It loses nothing when a process is killed, only when the
// machine is.
func quiet(dir string) Options {
	return Options{Dir: dir, Fast: true, Logger: slog.New(slog.DiscardHandler)}
}

func mustStart(t *testing.T, o Options) *Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	return s
}

func mustStop(t *testing.T, s *Server) {
	t.Helper()
	if err := s.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func mustConnect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// write leaves a mark in the database, and read finds it.
func write(t *testing.T, url, mark string) {
	t.Helper()
	conn := mustConnect(t, url)
	if _, err := conn.Exec(t.Context(), "create table if not exists marks (mark text)"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "insert into marks values ($1)", mark); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, url string) string {
	t.Helper()
	var marks string
	err := mustConnect(t, url).QueryRow(t.Context(), "select string_agg(mark, ' ' order by mark) from marks").Scan(&marks)
	if err != nil {
		t.Fatal(err)
	}
	return marks
}
