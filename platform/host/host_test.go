package host_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"example.com/plenary/platform/host"
)

func Example() {
	say := func(what string) func(context.Context) error {
		return func(context.Context) error {
			fmt.Println(what)
			return nil
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	h := host.New(host.Config{Logger: slog.New(slog.DiscardHandler)})
	h.Add(
		host.Component{Name: "database", Start: say("open database"), Stop: say("close database")},
		host.Component{Name: "processor", Stop: say("processor is done"), Run: func(ctx context.Context) error {
			fmt.Println("process")
			stop() // a program would wait for a signal: RunUntilSignal
			<-ctx.Done()
			return nil
		}},
	)
	fmt.Println(h.Run(ctx))
	// Output:
	// open database
	// process
	// processor is done
	// close database
	// <nil>
}

// diary notes what happens, in order.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) note(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, what)
}

func (d *diary) read() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.lines)
}

// noting returns a component all whose functions write the diary.
func (d *diary) noting(name string) host.Component {
	return host.Component{
		Name:  name,
		Start: func(context.Context) error { d.note("start " + name); return nil },
		Run: func(ctx context.Context) error {
			<-ctx.Done()
			d.note("end " + name)
			return ctx.Err()
		},
		Stop: func(context.Context) error { d.note("stop " + name); return nil },
	}
}

func quiet() host.Config { return host.Config{Logger: slog.New(slog.DiscardHandler)} }

// running is a host that runs in the background of a synctest bubble.
type running struct {
	*host.Host
	stop   context.CancelFunc
	result chan error
}

func run(t *testing.T, cfg host.Config, components ...host.Component) *running {
	t.Helper()
	h := host.New(cfg)
	h.Add(components...)
	ctx, stop := context.WithCancel(t.Context())
	r := &running{h, stop, make(chan error, 1)}
	go func() { r.result <- h.Run(ctx) }()
	synctest.Wait()
	return r
}

func TestStartsInOrderAndStopsInReverse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var d diary
		h := run(t, quiet(), d.noting("a"), d.noting("b"), d.noting("c"))
		if diff := cmp.Diff([]string{"start a", "start b", "start c"}, d.read()); diff != "" {
			t.Error(diff)
		}
		h.stop()
		if err := <-h.result; err != nil {
			t.Errorf("a clean stop returned %v", err)
		}
		// The end of Run and Stop of one component go together; those of two never mix.
		stopped := d.read()[3:]
		for i, name := range []string{"c", "b", "a"} {
			pair := slices.Sorted(slices.Values(stopped[2*i : 2*i+2]))
			if diff := cmp.Diff([]string{"end " + name, "stop " + name}, pair); diff != "" {
				t.Errorf("in %q: %s", stopped, diff)
			}
		}
	})
}

func TestFailingStartStopsWhatHadStarted(t *testing.T) {
	t.Parallel()
	cause := errors.New("no route to database")
	for name, fail := range map[string]func(context.Context) error{
		"error": func(context.Context) error { return cause },
		"panic": func(context.Context) error { panic(cause) },
	} {
		synctest.Test(t, func(t *testing.T) {
			var d diary
			broken := d.noting("broken")
			broken.Start = fail
			h := run(t, quiet(), d.noting("a"), broken, d.noting("never"))
			err := <-h.result
			if err == nil || !strings.Contains(err.Error(), "start broken") || !strings.Contains(err.Error(), cause.Error()) {
				t.Errorf("%s: Run returned %v", name, err)
			}
			lines := d.read()
			if slices.Sort(lines); !slices.Equal(lines, []string{"end a", "start a", "stop a"}) {
				t.Errorf("%s: %q", name, lines)
			}
		})
	}
}

func TestRunThatEndsBringsTheProgramDown(t *testing.T) {
	t.Parallel()
	cause := errors.New("lost the connection")
	for name, end := range map[string]func() error{
		"error":   func() error { return cause },
		"panic":   func() error { panic(cause) },
		"nothing": func() error { return nil },
		"cancel":  func() error { return context.Canceled },
	} {
		synctest.Test(t, func(t *testing.T) {
			var d diary
			broken, now := d.noting("broken"), make(chan struct{})
			broken.Run = func(context.Context) error { <-now; return end() }
			h := run(t, quiet(), d.noting("a"), broken, d.noting("z"))
			close(now)
			err := <-h.result
			if err == nil || !strings.Contains(err.Error(), "run broken") {
				t.Errorf("%s: Run returned %v", name, err)
			}
			if name == "error" && !errors.Is(err, cause) {
				t.Errorf("the cause is lost in %v", err)
			}
			lines := d.read()
			if !slices.Contains(lines, "stop a") || !slices.Contains(lines, "stop broken") || !slices.Contains(lines, "stop z") {
				t.Errorf("%s: %q", name, lines)
			}
		})
	}
}

func TestRunThatFailsWhileOthersStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var d diary
		broken := host.Component{Name: "broken", Run: func(context.Context) error { return errors.New("boom") }}
		slow := d.noting("slow")
		slow.Start = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		h := run(t, quiet(), broken, slow, d.noting("never"))
		if err := <-h.result; err == nil || !strings.Contains(err.Error(), "run broken: boom") {
			t.Errorf("Run returned %v", err)
		}
		if len(d.read()) != 0 {
			t.Errorf("%q", d.read())
		}
	})
}

func TestStopWhileStartingIsClean(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var d diary
		slow := d.noting("slow")
		slow.Start = func(ctx context.Context) error { <-ctx.Done(); return fmt.Errorf("connect: %w", ctx.Err()) }
		h := run(t, quiet(), d.noting("a"), slow, d.noting("never"))
		h.stop()
		if err := <-h.result; err != nil {
			t.Errorf("Run returned %v", err)
		}
		lines := d.read()
		if slices.Sort(lines); !slices.Equal(lines, []string{"end a", "start a", "stop a"}) {
			t.Errorf("%q", lines)
		}
	})
}

func TestFailureOfStopIsReported(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		stop, run func(context.Context) error
	}{
		"stop fails":  {stop: func(context.Context) error { return errors.New("boom") }},
		"stop panics": {stop: func(context.Context) error { panic("boom") }},
		"run fails":   {run: func(ctx context.Context) error { <-ctx.Done(); return errors.New("boom") }},
		"run panics":  {run: func(ctx context.Context) error { <-ctx.Done(); panic("boom") }},
	}
	for name, c := range cases {
		synctest.Test(t, func(t *testing.T) {
			var d diary
			var log bytes.Buffer
			h := run(t, host.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))},
				d.noting("a"), host.Component{Name: "broken", Run: c.run, Stop: c.stop})
			h.stop()
			err := <-h.result
			if err == nil || !strings.Contains(err.Error(), "stop broken") || !strings.Contains(err.Error(), "boom") {
				t.Errorf("%s: Run returned %v", name, err)
			}
			if !slices.Contains(d.read(), "stop a") {
				t.Errorf("%s: the others were not stopped", name)
			}
			panicked := strings.HasSuffix(name, "panics")
			if strings.Contains(log.String(), "goroutine ") != panicked || strings.Contains(err.Error(), "goroutine ") {
				t.Errorf("%s: a stack belongs into the log alone\nerror: %v\nlog: %s", name, err, log.String())
			}
			if n := strings.Count(log.String(), "level=ERROR"); n != 1 {
				t.Errorf("%s: %d lines for one failure:\n%s", name, n, log.String())
			}
		})
	}
}

func TestHostRunsOnce(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	h := host.New(quiet())
	if err := h.Run(ctx); err != nil {
		t.Errorf("the first run returned %v", err)
	}
	if err := h.Run(ctx); err == nil {
		t.Error("it ran twice")
	}
}
