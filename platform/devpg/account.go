package devpg

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"

	"example.com/plenary/platform/fault"
)

// account is the user that the server runs as: this process's own, unless that is root.
type account struct {
	uid, gid int
	drop     bool // this process is root and gives its rights up for the child
}

// findAccount decides who runs the server. As root that is the owner of the data that is there, else postgres,
// else nobody.
func findAccount(home string) (account, error) {
	if os.Geteuid() != 0 {
		return account{uid: os.Geteuid(), gid: os.Getegid()}, nil
	}
	for _, major := range majorsIn(home) {
		if info, err := os.Stat(dataDir(home, major)); err == nil {
			if uid, gid := ownerOf(info); uid > 0 {
				return account{uid: uid, gid: gid, drop: true}, nil
			}
		}
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.Atoi(u.Uid)
		gid, err2 := strconv.Atoi(u.Gid)
		if err1 == nil && err2 == nil && uid != 0 {
			return account{uid: uid, gid: gid, drop: true}, nil
		}
	}
	return account{}, fault.New(fault.Unavailable, "postgres_user",
		"PostgreSQL refuses to run as root, and there is no user postgres or nobody to run it as")
}

// reaches reports whether the account may enter a folder. It tries, because modes are not the whole story.
func (a account) reaches(ctx context.Context, dir string) bool {
	if !a.drop {
		return true
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", `cd -- "$1"`, "sh", dir)
	cmd.Dir = "/"
	cmd.SysProcAttr = attributes(a)
	return cmd.Run() == nil
}

// own gives a file or folder that this process has made to the account.
func (a account) own(path string) error {
	if !a.drop {
		return nil
	}
	return os.Lchown(path, a.uid, a.gid)
}

// settle returns the folder that holds the data folders: dir itself, or a private one elsewhere if the account
// cannot get into dir. The latter's name follows from dir's, so that the data is found again.
func (a account) settle(ctx context.Context, dir string) (home string, elsewhere bool, err error) {
	if a.reaches(ctx, dir) {
		return dir, false, nil
	}
	// Unlike /tmp, /var/tmp survives a restart of the machine.
	for _, base := range []string{"/var/tmp", os.TempDir(), "/tmp"} {
		if !a.reaches(ctx, base) {
			continue
		}
		home := filepath.Join(base, "devpg-"+digest(dir))
		if err := ownFolder(home); err != nil {
			return "", false, err
		}
		return home, true, nil
	}
	return "", false, fault.Newf(fault.Unavailable, "postgres_folder",
		"the user that PostgreSQL runs as (uid %d) can reach neither %s nor a temporary folder", a.uid, dir)
}

// ownFolder makes a folder in a place where others may write too, or accepts one that this user made before.
func ownFolder(path string) error {
	err := os.Mkdir(path, 0o711)
	if err == nil {
		return os.Chmod(path, 0o711) // whatever the umask is: the server's user must get through
	}
	if !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("make folder: %w", err)
	}
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("check folder: %w", err)
	}
	if uid, _ := ownerOf(info); !info.IsDir() || uid != os.Geteuid() {
		return fault.Newf(fault.Conflict, "postgres_folder",
			"%s is needed for the data of PostgreSQL and was made by somebody else: remove it", path)
	}
	return nil
}

// digest shortens a path to a name that is the same each time.
func digest(path string) string {
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:6])
}
