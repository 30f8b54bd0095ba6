//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package devpg

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

const supported = true

const (
	signalFast      = syscall.SIGINT  // PostgreSQL's fast shutdown
	signalImmediate = syscall.SIGQUIT // its immediate shutdown, with recovery at the next start
	signalContinue  = syscall.SIGCONT
	signalKill      = syscall.SIGKILL
)

func sendSignal(pid int, sig syscall.Signal) error { return syscall.Kill(pid, sig) }

// exists reports whether there is a process with that id, whoever owns it.
func exists(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

func ownerOf(info fs.FileInfo) (uid, gid int) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return -1, -1
	}
	return int(stat.Uid), int(stat.Gid)
}

// attributes puts a child into a process group of its own, so that a Ctrl-C at the terminal is not its
// business, and gives it the account's rights.
func attributes(a account) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if a.drop {
		attr.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
	}
	return attr
}

// lockFile takes the kernel's lock on an open file, or reports that another open file has it. The kernel
// frees it when the last descriptor of this open file is closed, thus with the process.
func lockFile(file *os.File) (taken bool, err error) {
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		default:
			return false, err
		}
	}
}
