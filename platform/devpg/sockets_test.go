package devpg

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSocketFolderIsPrivate(t *testing.T) {
	t.Parallel()
	acct, err := findAccount("")
	if err != nil {
		t.Fatal(err)
	}
	// A name that somebody in the shared folder has taken is not used, whatever it is there.
	traps := map[string]func(path string) error{
		"link": func(path string) error { return os.Symlink(t.TempDir(), path) },
		"file": func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"open": func(path string) error {
			return errors.Join(os.Mkdir(path, 0o777), os.Chmod(path, 0o777), acct.own(path))
		},
		"foreign": func(path string) error { return errors.Join(os.Mkdir(path, 0o700), disown(acct, path)) },
	}
	for name, set := range traps {
		data := filepath.Join(t.TempDir(), name)
		trapped := mustSocketDir(t, acct, data)
		if err := os.Remove(trapped); err != nil {
			t.Fatal(err)
		}
		if err := set(trapped); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(trapped) })

		dir := mustSocketDir(t, acct, data)
		if name == "foreign" && os.Geteuid() != 0 {
			continue // only root can give a folder away
		}
		if dir == trapped || !acct.isPrivate(dir) {
			t.Errorf("%s: %s is used", name, dir)
		}
		if !strings.HasPrefix(filepath.Base(dir), socketPrefix) {
			t.Errorf("%s: %s would not be recognised as ours", name, dir)
		}
	}
}

func TestSocketFolderIsFoundAgainWithoutLeftovers(t *testing.T) {
	t.Parallel()
	acct, err := findAccount("")
	if err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	first := mustSocketDir(t, acct, data)
	lock := filepath.Join(first, socketFile+".lock")
	if err := os.WriteFile(lock, []byte("1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if second := mustSocketDir(t, acct, data); second != first {
		t.Errorf("first %s, then %s", first, second)
	}
	if _, err := os.Stat(lock); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the lock of a dead server is still there")
	}
	if len(filepath.Join(first, socketFile)) > socketLimit {
		t.Errorf("%s is too long", first)
	}
}

func mustSocketDir(t *testing.T, acct account, data string) string {
	t.Helper()
	dir, err := acct.socketDir(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// disown gives a folder to a user that is not the account's, which only root can do.
func disown(acct account, path string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	return os.Chown(path, acct.uid+1, acct.gid)
}

func TestURLSurvivesOddNames(t *testing.T) {
	t.Parallel()
	s := &Server{sockets: "/tmp/devpg-1-a b&c"}
	want := "postgres:///my%20data%2Fbase?host=/tmp/devpg-1-a%20b%26c&port=5432&user=a%26b"
	if got := s.URL("a&b", "my data/base"); got != want {
		t.Errorf("got %s", got)
	}
}

func TestFolderElsewhereIsNotAnybodys(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	path := filepath.Join(base, "devpg-x")
	for range 2 { // made, then found again
		if err := ownFolder(path); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(base, "devpg-y")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if err := ownFolder(link); err == nil {
		t.Error("a link is taken for a folder of ours")
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(path, 1, 1); err != nil {
			t.Fatal(err)
		}
		if err := ownFolder(path); err == nil {
			t.Error("somebody else's folder is taken for ours")
		}
	}
}
