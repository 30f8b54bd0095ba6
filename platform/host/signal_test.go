package host_test

import (
	"bufio"
	"context"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/plenary/platform/host"
)

// childVariable makes the test binary a program with a host, for the tests that send it signals.
const childVariable = "HOST_TEST_CHILD"

func TestMain(m *testing.M) {
	if kind := os.Getenv(childVariable); kind != "" {
		os.Exit(child(kind))
	}
	os.Exit(m.Run())
}

func child(kind string) (code int) {
	cfg := host.Config{Logger: slog.New(slog.NewTextHandler(os.Stdout, nil))}
	hang := func(context.Context) error { select {} }
	worker := host.Component{Name: "worker", Run: func(ctx context.Context) error { <-ctx.Done(); return nil }}
	switch kind {
	case "stuck":
		cfg.StopTimeout, worker.Stop = 50*time.Millisecond, hang
	case "hanging stop":
		cfg.StopTimeout, worker.Stop = time.Hour, hang
	case "hanging start":
		cfg.StopTimeout = time.Hour
		worker.Start = func(ctx context.Context) error {
			cfg.Logger.Info("starting for ever")
			return hang(ctx)
		}
	}
	h := host.New(cfg)
	server := &http.Server{Addr: "127.0.0.1:0", Handler: h.Handler(), ReadHeaderTimeout: time.Second}
	h.Add(host.HTTPServer("http", server, nil), worker)
	if err := h.RunUntilSignal(context.Background()); err != nil {
		return 1
	}
	return 0
}

// process is a child with its output.
type process struct {
	*exec.Cmd
	t   *testing.T
	out *bufio.Scanner
}

func startChild(t *testing.T, kind string) *process {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // so that a bug does not hang the suite
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+kind)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &process{cmd, t, bufio.NewScanner(out)}
}

// reads waits for a line with this text.
func (p *process) reads(text string) {
	p.t.Helper()
	for p.out.Scan() {
		if strings.Contains(p.out.Text(), text) {
			return
		}
	}
	p.t.Fatalf("it ended without saying %s", text)
}

func (p *process) send(s os.Signal) {
	p.t.Helper()
	if err := p.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// ends waits until it has ended.
func (p *process) ends() syscall.WaitStatus {
	p.t.Helper()
	for p.out.Scan() { // Wait closes the pipe, so the rest is read first
		continue
	}
	_ = p.Wait()
	status, _ := p.ProcessState.Sys().(syscall.WaitStatus)
	return status
}

func TestSignalEndsTheProcessWithZero(t *testing.T) {
	t.Parallel()
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		p := startChild(t, "well behaved")
		p.reads("msg=ready")
		p.send(s)
		if status := p.ends(); !status.Exited() || status.ExitStatus() != 0 {
			t.Errorf("%v: %v", s, p.ProcessState)
		}
	}
}

func TestStuckProcessEndsWithinItsBudget(t *testing.T) {
	t.Parallel()
	p := startChild(t, "stuck")
	p.reads("msg=ready")
	p.send(syscall.SIGTERM)
	if status := p.ends(); !status.Exited() || status.ExitStatus() != 1 {
		t.Errorf("%v, want 1", p.ProcessState)
	}
}

func TestSecondSignalEndsTheProcessAtOnce(t *testing.T) {
	t.Parallel()
	p := startChild(t, "hanging stop")
	p.reads("msg=ready")
	p.send(syscall.SIGTERM)
	p.reads("msg=stopping")
	p.send(syscall.SIGINT)
	if status := p.ends(); !status.Signaled() || status.Signal() != syscall.SIGINT {
		t.Errorf("%v", p.ProcessState)
	}
}

func TestSecondSignalEndsAStartThatHangs(t *testing.T) {
	t.Parallel()
	p := startChild(t, "hanging start")
	p.reads("starting for ever")
	p.send(syscall.SIGTERM)
	p.reads("msg=stopping")
	p.send(syscall.SIGTERM)
	if status := p.ends(); !status.Signaled() || status.Signal() != syscall.SIGTERM {
		t.Errorf("%v", p.ProcessState)
	}
}
