package devpg

import (
	"path/filepath"
	"strings"
	"testing"

	"example.com/plenary/platform/fault"
)

func TestLockIsForOne(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "not", "made", "yet")
	release, err := LockDir(dir, "pid 4711,\nhttp://127.0.0.1:8080")
	if err != nil {
		t.Fatal(err)
	}
	_, err = LockDir(dir, "another")
	if fault.KindOf(err) != fault.Conflict || !fault.Is(err, "folder_in_use") ||
		!strings.Contains(err.Error(), "pid 4711, http://127.0.0.1:8080") || !strings.Contains(err.Error(), dir) {
		t.Errorf("a second one hears %v", err)
	}

	release()
	again, err := LockDir(dir, "short")
	if err != nil {
		t.Fatalf("after the release: %v", err)
	}
	if _, err := LockDir(dir, "x"); !strings.HasSuffix(err.Error(), "(short)") {
		t.Errorf("the note is not the holder's own: %v", err)
	}
	again()
}

func TestLockDiesWithItsProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := stage(t, "lock", dir, nil)
	if _, err := LockDir(dir, "x"); err == nil || !strings.Contains(err.Error(), "pid 1, http://127.0.0.1:1") {
		t.Fatalf("while it lives: %v", err)
	}
	a.kill()
	release, err := LockDir(dir, "x")
	if err != nil {
		t.Fatalf("after its death: %v", err)
	}
	release()
}
