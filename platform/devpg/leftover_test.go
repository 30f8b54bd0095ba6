package devpg

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"example.com/plenary/platform/fault"
)

const signalStop = syscall.SIGSTOP

func TestServerEndsWithItsProcess(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"server", "server by watcher"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			dir := folder(t)
			a := stage(t, role, dir, nil)
			write(t, a.said, "before")

			// This session ends when the server does.
			session := mustConnect(t, a.said)
			ended := make(chan error, 1)
			go func() {
				_, err := session.Exec(t.Context(), "select pg_sleep(300)")
				ended <- err
			}()
			a.kill()
			select {
			case err := <-ended:
				if err == nil {
					t.Error("the session ended by itself")
				}
			case <-time.After(30 * time.Second):
				t.Fatal("its process is dead, and the server lives on")
			}
			if got := read(t, mustStart(t, quiet(dir)).URL(Superuser, "postgres")); got != "before" {
				t.Errorf("at the next start the data is %q", got)
			}
		})
	}
}

func TestNextStartFollowsAKillAtOnce(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	for i := range 3 {
		a := stage(t, "server", dir, nil)
		write(t, a.said, fmt.Sprint(i))
		a.kill()
	}
	if got := read(t, mustStart(t, quiet(dir)).URL(Superuser, "postgres")); got != "0 1 2" {
		t.Errorf("the data is %q", got)
	}
}

func TestFrozenLeftoverIsEnded(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	s := mustStart(t, quiet(dir))
	write(t, s.URL(Superuser, "postgres"), "frozen")
	if err := sendSignal(s.child.pid, signalStop); err != nil {
		t.Fatal(err)
	}
	s.release() // as if its process were dead; the kernel would wake the server if it really died
	if got := read(t, mustStart(t, quiet(dir)).URL(Superuser, "postgres")); got != "frozen" {
		t.Errorf("the data is %q", got)
	}
}

func TestStalePidFileIsNotInTheWay(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	s := mustStart(t, quiet(dir))
	write(t, s.URL(Superuser, "postgres"), "kept")
	pidFile := filepath.Join(s.data, "postmaster.pid")
	text, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	mustStop(t, s)

	// The server's process id now belongs to another program of the same user.
	acct, err := findAccount(dir)
	if err != nil {
		t.Fatal(err)
	}
	other := exec.Command("/bin/cat")
	other.SysProcAttr = attributes(acct)
	if _, err := other.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Process.Kill(); _ = other.Wait() })
	stale := fmt.Sprintf("%d\n%s", other.Process.Pid, text[len(fmt.Sprintln(s.child.pid)):])
	if err := os.WriteFile(pidFile, []byte(stale), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := acct.own(pidFile); err != nil {
		t.Fatal(err)
	}

	if got := read(t, mustStart(t, quiet(dir)).URL(Superuser, "postgres")); got != "kept" {
		t.Errorf("the data is %q", got)
	}
	if !exists(other.Process.Pid) {
		t.Error("a program that has nothing to do with it was ended")
	}
}

func TestServerOfSomebodyElseIsLeftAlone(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	s := mustStart(t, quiet(dir))
	mustStop(t, s)

	// Somebody starts it by hand, with a socket in a folder that is not ours.
	acct, err := findAccount(dir)
	if err != nil {
		t.Fatal(err)
	}
	s.sockets = filepath.Join(filepath.Dir(dir), "s")
	if err := os.Mkdir(s.sockets, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := acct.own(s.sockets); err != nil {
		t.Fatal(err)
	}
	if err := s.run(t.Context(), acct, quiet(dir)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.child.stop(t.Context()) })

	if _, err := Start(t.Context(), quiet(dir)); !fault.Is(err, "postgres_in_use") {
		t.Errorf("Start says %v", err)
	}
	write(t, s.URL(Superuser, "postgres"), "unharmed")
}

func TestServes(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]bool{
		"/usr/lib/postgresql/15/bin/postgres -D /x/postgres-15 -c port=5432": true,
		"/opt/my programs/bin/postgres -D /x/postgres-15":                    true,
		"/usr/lib/postgresql/15/bin/postgres -D /x/postgres-15-other":        false,
		"/usr/lib/postgresql/15/bin/postgres -D /var/lib/postgresql/15/main": false,
		"postgres":                         true, // PGDATA may say which
		"postmaster -p 5433":               true,
		"postgres: 15/main: checkpointer ": false,
		"/bin/cat":                         false,
		"":                                 false,
	} {
		if got := serves(command, "/x/postgres-15"); got != want {
			t.Errorf("serves(%q) = %v, want %v", command, got, want)
		}
	}
}

func TestTemporaryServersAreSwept(t *testing.T) {
	t.Parallel()
	abandoned := stage(t, "temporary server", "", nil)
	held := stage(t, "temporary server", "", nil)
	base := filepath.Dir(abandoned.said)
	abandoned.kill()

	sweep(t.Context(), base, time.Now().Add(-time.Hour))
	if _, err := os.Stat(abandoned.said); err != nil {
		t.Fatalf("a folder that may have been made a moment ago is gone: %v", err)
	}
	removeAbandoned(t.Context(), abandoned.said, time.Now().Add(time.Hour))
	removeAbandoned(t.Context(), held.said, time.Now().Add(time.Hour))
	if _, err := os.Stat(abandoned.said); !os.IsNotExist(err) {
		t.Errorf("the folder of a killed process is still there: %v", err)
	}
	if _, err := os.Stat(held.said); err != nil {
		t.Errorf("the folder of a living process is gone: %v", err)
	}

	_ = held.in.Close()
	if err := held.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(held.said); !os.IsNotExist(err) {
		t.Errorf("a server that was stopped left its folder: %v", err)
	}
}
