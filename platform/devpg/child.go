package devpg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"example.com/plenary/platform/fault"
)

// child is a server process that ends when this process does.
type child struct {
	pid  int
	done chan struct{} // closed when the process has ended
	err  error         // how it ended; to be read after done
}

// watch becomes the server, after leaving behind a process that waits for the pipe on descriptor 3. End of
// file there means that the writer died, and the server is told to stop; a line means that the server is gone.
// The watcher is orphaned on purpose: PostgreSQL takes an unknown child that dies for a crash of its own.
const watch = `( ( read -r _ <&3 || kill -INT $$ ) & ) >/dev/null 2>&1; exec "$@" 3<&-`

// launch starts cmd, tied to this process: by the kernel if it can do that, otherwise by a watcher on a pipe.
func launch(cmd *exec.Cmd, watcher bool) (*child, error) {
	var alive *os.File
	if watcher || !kernelTether {
		reader, writer, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		defer reader.Close()
		cmd.Args = append([]string{"sh", "-c", watch, "sh", cmd.Path}, cmd.Args[1:]...)
		cmd.Path = "/bin/sh"
		cmd.ExtraFiles = []*os.File{reader}
		alive = writer
	} else {
		setDeathSignal(cmd.SysProcAttr)
	}

	c := &child{done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// The kernel's signal is sent when the thread ends that forked, so this goroutine keeps its thread.
		runtime.LockOSThread()
		err := cmd.Start()
		if err == nil {
			c.pid = cmd.Process.Pid
		}
		started <- err
		if err == nil {
			c.err = cmd.Wait()
		}
		if alive != nil {
			_, _ = alive.WriteString("ended\n") // lest the watcher signals a process that has the same id by then
			_ = alive.Close()
		}
		close(c.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

// stop asks the server to end, insists when ctx or its patience ends, and returns when it has ended.
func (c *child) stop(ctx context.Context) error {
	if c.ended(ctx, 0) {
		return nil
	}
	_ = sendSignal(c.pid, signalFast)
	if c.ended(ctx, stopPatience) {
		return nil
	}
	_ = sendSignal(c.pid, signalContinue)
	_ = sendSignal(c.pid, signalImmediate)
	if !c.ended(context.WithoutCancel(ctx), quitPatience) {
		_ = sendSignal(c.pid, signalKill)
		<-c.done
	}
	return fault.New(fault.Unavailable, "postgres_stop",
		"the private PostgreSQL did not stop in time and was ended at once; it recovers when it starts again")
}

// ended waits for the end of the process, for ctx, or for the time to pass.
func (c *child) ended(ctx context.Context, patience time.Duration) bool {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-c.done:
		return true
	case <-ctx.Done():
	case <-timer.C:
	}
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// failure tells how the server ended, with the end of its log.
func (c *child) failure(logFile string) error {
	err := c.err
	if err == nil {
		err = errors.New("exit status 0")
	}
	return fmt.Errorf("%w: %s", err, lastLines(logFile, 5))
}

func lastLines(file string, n int) string {
	text, _ := os.ReadFile(file)
	lines := strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
	return strings.Join(lines[max(0, len(lines)-n):], " | ")
}
