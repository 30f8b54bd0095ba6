package devpg

import (
	"bytes"
	"log/slog"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestRootGivesItsRightsUp is about root; for anybody else the other tests are about that user.
func TestRootGivesItsRightsUp(t *testing.T) {
	t.Parallel()
	s := mustStart(t, quiet(folder(t)))
	info, err := os.Stat(s.data)
	if err != nil {
		t.Fatal(err)
	}
	uid, _ := ownerOf(info)
	if uid == 0 || os.Geteuid() != 0 && uid != os.Geteuid() {
		t.Errorf("the data belongs to uid %d", uid)
	}
	if info.Mode().Perm() != 0o700 {
		t.Errorf("the data's mode is %v", info.Mode())
	}
}

func TestFolderThatTheServerCannotReach(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "private", "data")
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	var logged bytes.Buffer
	options := Options{Dir: dir, Logger: slog.New(slog.NewTextHandler(&logged, nil))}

	s := mustStart(t, options)
	if os.Geteuid() != 0 {
		if s.data != dataDir(dir, s.Version()) || logged.Len() > 0 {
			t.Errorf("an ordinary user reaches its own folder, yet the data is in %s: %s", s.data, &logged)
		}
		return
	}
	elsewhere := filepath.Dir(s.data)
	t.Cleanup(func() { _ = os.RemoveAll(elsewhere) })
	if strings.HasPrefix(s.data, dir) || !strings.Contains(logged.String(), elsewhere) {
		t.Errorf("the data is in %s, and the log says %q", s.data, &logged)
	}
	write(t, s.URL(Superuser, "postgres"), "elsewhere")
	mustStop(t, s)
	if got := read(t, mustStart(t, options).URL(Superuser, "postgres")); got != "elsewhere" {
		t.Errorf("at the next start the data is %q", got)
	}
}

// asUser lets a role be played by an ordinary user: by this one or, as root, by nobody, who gets a copy of this
// program because go test hides it in a private folder.
func asUser(t *testing.T, dir string) (account, func(*exec.Cmd)) {
	t.Helper()
	acct := account{uid: os.Geteuid(), gid: os.Getegid()}
	if acct.uid == 0 {
		nobody, err := user.Lookup("nobody")
		if err != nil {
			t.Fatal(err)
		}
		acct.drop = true
		acct.uid, _ = strconv.Atoi(nobody.Uid)
		acct.gid, _ = strconv.Atoi(nobody.Gid)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// It is not copied by this process, whose open file another test's fork would keep busy.
	theirs := filepath.Join(filepath.Dir(dir), "program")
	if out, err := exec.Command("cp", program, theirs).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return acct, func(cmd *exec.Cmd) {
		cmd.Path = theirs
		cmd.SysProcAttr = attributes(acct)
	}
}

func TestOrdinaryUser(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	acct, asUser := asUser(t, dir)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := acct.own(dir); err != nil {
		t.Fatal(err)
	}
	a := stage(t, "server", dir, asUser)
	write(t, a.said, "ordinary")
	_ = a.in.Close()
	if err := a.cmd.Wait(); err != nil {
		t.Fatalf("it did not stop well: %v", err)
	}
	a = stage(t, "server", dir, asUser)
	if got := read(t, a.said); got != "ordinary" {
		t.Errorf("at the next start the data is %q", got)
	}
	a.kill()

	// Whoever starts next, it is the owner of the data who runs the server.
	if got := read(t, mustStart(t, quiet(dir)).URL(Superuser, "postgres")); got != "ordinary" {
		t.Errorf("after that the data is %q", got)
	}
}

func TestDataOfAnotherUserIsRefused(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		return // nobody but root can give the data to another user
	}
	dir := folder(t)
	acct, asUser := asUser(t, dir)
	installed, err := FindPrograms(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dataDir(dir, installed[0].Major), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := acct.own(dir); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("")
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), roleVariable+"=server", "DEVPG_TEST_DIR="+dir)
	asUser(cmd)
	cmd.Args = []string{cmd.Path}
	cmd.Err = nil
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "belongs to another user (uid 0)") {
		t.Errorf("it says %q, %v", out, err)
	}
}
