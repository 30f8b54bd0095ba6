package devpg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"example.com/plenary/platform/fault"
)

const (
	pollEvery       = 10 * time.Millisecond
	leftoverLimit   = 30 * time.Second
	leftoverInsists = 10 * time.Second
)

// postmaster is what postmaster.pid says about the server of a data folder.
type postmaster struct {
	pid     int
	sockets string
	ready   bool
}

func readPostmaster(data string) (p postmaster, ok bool) {
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return postmaster{}, false
	}
	lines := strings.Split(string(text), "\n")
	line := func(n int) string {
		if n > len(lines) {
			return "" // the file is written bit by bit
		}
		return strings.TrimSpace(lines[n-1])
	}
	pid, err := strconv.Atoi(line(1))
	if err != nil || pid <= 0 {
		return postmaster{}, false
	}
	return postmaster{pid: pid, sockets: line(5), ready: line(8) == "ready"}, true
}

// endLeftover sees to it that no server runs on the data folder. The caller holds the folder's lock, so a
// server that is found belongs to a process that died: usually it is ending already. It is woken, told so
// again, and after a while ended at once, which costs no data. What somebody started by hand is left alone.
func endLeftover(ctx context.Context, data string) error {
	begin := time.Now()
	var told, insisted bool
	for {
		p, ok := readPostmaster(data)
		if !ok || !exists(p.pid) {
			return nil
		}
		if !serves(commandLine(ctx, p.pid), data) {
			// The process id was given to another program. PostgreSQL would not start; the file is stale.
			return os.Remove(filepath.Join(data, "postmaster.pid"))
		}
		if p.sockets != "" && !strings.HasPrefix(filepath.Base(p.sockets), socketPrefix) {
			return fault.Newf(fault.Conflict, "postgres_in_use",
				"process %d is a PostgreSQL on %s that was started by other means: stop it first", p.pid, data)
		}
		waited := time.Since(begin)
		switch {
		case waited > leftoverLimit:
			return fault.Newf(fault.Unavailable, "postgres_in_use",
				"process %d, a PostgreSQL on %s left by a process that died, does not end: end it by hand", p.pid, data)
		case !told:
			told = true
			_ = sendSignal(p.pid, signalContinue)
			_ = sendSignal(p.pid, signalFast)
		case waited > leftoverInsists && !insisted:
			insisted = true
			_ = sendSignal(p.pid, signalImmediate)
		}
		if err := pause(ctx); err != nil {
			return fmt.Errorf("wait for the server of a process that died: %w", err)
		}
	}
}

// serves reports whether a command line is that of a server on the data folder. In doubt it says yes.
func serves(command, data string) bool {
	if strings.Contains(command+" ", " -D "+data+" ") {
		return true
	}
	program, rest, _ := strings.Cut(command, " ")
	switch filepath.Base(program) {
	case "postgres", "postmaster":
		return !strings.Contains(rest, "-D ")
	default:
		return false // a server's own children call themselves "postgres: …"
	}
}

// commandLine returns the words of a process's command, with spaces between, or "" if it is none or dead.
func commandLine(ctx context.Context, pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err == nil {
		return strings.TrimSpace(strings.ReplaceAll(string(text), "\x00", " "))
	}
	if !errors.Is(err, os.ErrNotExist) {
		return "postgres" // it must not be seen, so it may be one
	}
	out, _ := exec.CommandContext(ctx, "ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	return strings.TrimSpace(string(out))
}

func pause(ctx context.Context) error {
	timer := time.NewTimer(pollEvery)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
