package devpg

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const (
	temporaryPrefix = "devpg-tmp-"
	// sweepAfter spares a folder that was made a moment ago and is not locked yet.
	sweepAfter = time.Minute
)

// StartTemporary is Start in a new temporary folder, which Stop removes; Options.Dir is ignored. It also
// removes the folders that killed processes of this user left behind.
func StartTemporary(ctx context.Context, o Options) (*Server, error) {
	acct, err := findAccount("")
	if err != nil {
		return nil, err
	}
	base, err := acct.tempBase(ctx, temporaryPrefix+"0123456789")
	if err != nil {
		return nil, err
	}
	sweep(ctx, base, time.Now().Add(-sweepAfter))

	if o.Dir, err = os.MkdirTemp(base, temporaryPrefix); err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	if err := os.Chmod(o.Dir, 0o711); err != nil { // the server's user must get through
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	s, err := Start(ctx, o)
	if err != nil {
		_ = os.RemoveAll(o.Dir)
		return nil, err
	}
	s.temporary = true
	return s, nil
}

// sweep removes the temporary folders of this user that are older than a time and that no process holds.
// What it cannot remove now it leaves for the next sweep.
func sweep(ctx context.Context, base string, before time.Time) {
	for _, dir := range withPrefix(base, temporaryPrefix) {
		removeAbandoned(ctx, dir, before)
	}
}

func removeAbandoned(ctx context.Context, dir string, before time.Time) {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || info.ModTime().After(before) {
		return
	}
	if uid, _ := ownerOf(info); uid != os.Geteuid() {
		return
	}
	release, err := lockPath(dir, "postgres.lock", fmt.Sprintf("process %d, removing it", os.Getpid()))
	if err != nil {
		return // in use
	}
	defer release()
	acct, err := findAccount(dir)
	if err != nil {
		return
	}
	for _, major := range majorsIn(dir) {
		data := dataDir(dir, major)
		if endLeftover(ctx, data) != nil {
			return
		}
		if sockets := filepath.Join(filepath.Dir(dir), acct.socketName(data)); acct.isPrivate(sockets) {
			_ = os.RemoveAll(sockets)
		}
	}
	_ = os.RemoveAll(dir)
}
