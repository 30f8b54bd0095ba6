package devpg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"example.com/plenary/platform/fault"
)

const (
	socketPort   = "5432" // only a part of the socket's name
	socketFile   = ".s.PGSQL." + socketPort
	socketPrefix = "devpg-"
	socketLimit  = 100 // bytes of a socket's path; the least of the systems' limits is 103
)

// socketDir makes the folder of the server's socket. Whoever reaches the socket is trusted, so the folder is
// for the account alone. It has the same name each time, unless somebody else has taken that name.
func (a account) socketDir(ctx context.Context, data string) (string, error) {
	name := a.socketName(data)
	base, err := a.tempBase(ctx, name)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(base, name)
	err = os.Mkdir(dir, 0o700)
	if errors.Is(err, os.ErrExist) {
		if a.isPrivate(dir) {
			return dir, clearSockets(dir)
		}
		dir, err = os.MkdirTemp(base, socketPrefix)
	}
	if err != nil {
		return "", fmt.Errorf("make socket folder: %w", err)
	}
	return dir, a.own(dir)
}

func (a account) socketName(data string) string {
	return socketPrefix + strconv.Itoa(a.uid) + "-" + digest(data)
}

// isPrivate reports whether a path is a folder that the account owns and nobody else may enter. A link is none:
// in a folder that is open to all it could lead anywhere.
func (a account) isPrivate(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 {
		return false
	}
	uid, _ := ownerOf(info)
	return uid == a.uid
}

// clearSockets removes what a killed server left, whose lock file would stop the next one if its process id
// has been given to another program.
func clearSockets(dir string) error {
	for _, name := range []string{socketFile, socketFile + ".lock"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("clear socket folder: %w", err)
		}
	}
	return nil
}

// tempBase returns a folder for temporary things that the account can reach and in which a socket's path stays
// short enough.
func (a account) tempBase(ctx context.Context, name string) (string, error) {
	for _, base := range []string{os.TempDir(), "/tmp", "/var/tmp"} {
		base, err := filepath.Abs(base)
		if err == nil && len(filepath.Join(base, name, socketFile)) <= socketLimit && a.reaches(ctx, base) {
			return base, nil
		}
	}
	return "", fault.Newf(fault.Unavailable, "postgres_folder",
		"PostgreSQL, as uid %d, can reach no temporary folder with a name short enough for a socket", a.uid)
}
