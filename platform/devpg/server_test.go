package devpg

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/plenary/platform/fault"
)

func TestDataIsKeptBetweenRuns(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	installed, err := FindPrograms(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	// A first start that was interrupted leaves an unfinished folder.
	if err := os.MkdirAll(filepath.Join(dataDir(dir, installed[0].Major)+".new-1", "base"), 0o755); err != nil {
		t.Fatal(err)
	}

	first := mustStart(t, quiet(dir))
	write(t, first.URL(Superuser, "postgres"), "first")
	address, err := os.ReadFile(filepath.Join(dir, URLFile))
	if err != nil || strings.TrimSpace(string(address)) != first.URL(Superuser, "postgres") {
		t.Errorf("%s says %q, %v", URLFile, address, err)
	}
	mustStop(t, first)
	mustStop(t, first)
	if err := first.Err(); err != nil {
		t.Errorf("stopped as asked, yet Err() = %v", err)
	}
	for _, gone := range []string{filepath.Join(dir, URLFile), first.sockets} {
		if _, err := os.Stat(gone); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there after Stop", gone)
		}
	}

	if left := withPrefix(dir, "postgres-"+fmt.Sprint(first.Version())+".new"); left != nil {
		t.Errorf("%v is still there", left)
	}

	second := mustStart(t, quiet(dir))
	if got := read(t, second.URL(Superuser, "postgres")); got != "first" {
		t.Errorf("after a restart the data is %q", got)
	}
	if second.Version() != installed[0].Major || second.Dir() != dataDir(dir, installed[0].Major) {
		t.Errorf("version %d in %s", second.Version(), second.Dir())
	}
	if second.sockets != first.sockets {
		t.Error("the address changed from one run to the next")
	}
}

func TestDevelopmentDataIsDurable(t *testing.T) {
	t.Parallel()
	s := mustStart(t, Options{Dir: folder(t)})
	conn := mustConnect(t, s.URL(Superuser, "postgres"))
	for setting, want := range map[string]string{
		"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on", "listen_addresses": "",
		"server_encoding": "UTF8", "max_connections": "100",
	} {
		var got string
		if err := conn.QueryRow(t.Context(), "select current_setting($1)", setting).Scan(&got); err != nil || got != want {
			t.Errorf("%s = %q (%v), want %q", setting, got, err, want)
		}
	}
}

func TestOneFolderHasOneServer(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	first := mustStart(t, quiet(dir))

	_, err := Start(t.Context(), quiet(dir))
	if !fault.Is(err, "folder_in_use") || !strings.Contains(err.Error(), fmt.Sprintf("process %d", os.Getpid())) {
		t.Errorf("a second start says %v", err)
	}
	write(t, first.URL(Superuser, "postgres"), "unharmed")

	mustStop(t, first)
	mustStart(t, quiet(dir))
}

func TestServerThatEndsByItselfIsNoticed(t *testing.T) {
	t.Parallel()
	s := mustStart(t, quiet(folder(t)))
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	if err := sendSignal(s.child.pid, signalFast); err != nil {
		t.Fatal(err)
	}
	<-s.Done()
	if err := s.Err(); !fault.Is(err, "postgres_ended") || !strings.Contains(err.Error(), "shut down") {
		t.Errorf("Err() = %v", err)
	}
}

func TestStopInsistsAndLosesNothing(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	s := mustStart(t, Options{Dir: dir})
	write(t, s.URL(Superuser, "postgres"), "committed")
	// A shutdown waits for its sessions, and this one does not hear of it.
	var session int
	conn := mustConnect(t, s.URL(Superuser, "postgres"))
	if err := conn.QueryRow(t.Context(), "select pg_backend_pid()").Scan(&session); err != nil {
		t.Fatal(err)
	}
	if err := sendSignal(session, signalStop); err != nil {
		t.Fatal(err)
	}
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Stop(impatient); !fault.Is(err, "postgres_stop") {
		t.Errorf("Stop says %v", err)
	}
	<-s.Done()
	if strings.Contains(fmt.Sprint(s.child.err), "killed") {
		t.Error("it was killed: sessions may have outlived it")
	}

	again := mustStart(t, Options{Dir: dir})
	if got := read(t, again.URL(Superuser, "postgres")); got != "committed" {
		t.Errorf("the data is %q", got)
	}
}

func TestServerThatCannotStartSaysWhy(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	s := mustStart(t, quiet(dir))
	mustStop(t, s)
	if err := os.Remove(filepath.Join(s.data, "global", "pg_control")); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), quiet(dir))
	if !fault.Is(err, "postgres_start") || !strings.Contains(err.Error(), "pg_control") {
		t.Errorf("got %v", err)
	}
	// The failed start holds nothing back.
	release, err := lockPath(dir, "postgres.lock", "")
	if err != nil {
		t.Fatal(err)
	}
	release()
}

func TestInitdbThatFailsSaysWhy(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	programs, err := FindPrograms(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	binDir := filepath.Join(filepath.Dir(dir), "bin")
	if err := os.Mkdir(binDir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(binDir, "initdb"), []byte("#!/bin/sh\necho no space left >&2; exit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := &Server{programs: Programs{Major: programs[0].Major, Dir: binDir}, data: dataDir(dir, programs[0].Major)}
	s.logFile = s.data + ".log"
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	acct, err := findAccount(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.makeData(t.Context(), acct, Options{}); !fault.Is(err, "postgres_start") || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("got %v", err)
	}
	if left := withPrefix(dir, filepath.Base(s.data)+".new"); left != nil || majorsIn(dir) != nil {
		t.Errorf("%v is left", left)
	}
}
