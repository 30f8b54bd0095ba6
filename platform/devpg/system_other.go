//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package devpg

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// supported is false where there are no Unix sockets, users and locks as the launcher needs them: it compiles
// there, and Start and LockDir say that they do not work.
const supported = false

const (
	signalFast      = syscall.SIGINT
	signalImmediate = syscall.SIGQUIT
	signalContinue  = syscall.SIGTERM
	signalKill      = syscall.SIGKILL
)

var errUnsupported = errors.New("not supported by this operating system")

func sendSignal(int, syscall.Signal) error      { return errUnsupported }
func exists(int) bool                           { return false }
func ownerOf(fs.FileInfo) (uid, gid int)        { return -1, -1 }
func attributes(account) *syscall.SysProcAttr   { return &syscall.SysProcAttr{} }
func lockFile(*os.File) (taken bool, err error) { return false, errUnsupported }
