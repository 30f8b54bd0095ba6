package host_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/plenary/platform/host"
)

const second = time.Second

// timed returns a component whose Stop notes when it was called, in seconds since begin, and what time it was
// given, and then hangs until the test ends or, if it is polite, until its context ends.
func (d *diary) timed(t *testing.T, name string, begin *time.Time, polite bool, own time.Duration) host.Component {
	return host.Component{Name: name, StopTimeout: own, Stop: func(ctx context.Context) error {
		deadline, _ := ctx.Deadline()
		d.note(fmt.Sprintf("%s at %v for %v", name, time.Since(*begin), time.Until(deadline)))
		if polite {
			<-ctx.Done()
			return fmt.Errorf("drain: %w", ctx.Err())
		}
		<-t.Context().Done()
		return nil
	}}
}

func TestStopThatHangsCostsTheOthersNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var d diary
		var begin time.Time
		h := run(t, host.Config{Logger: slog.New(slog.DiscardHandler), StopTimeout: 20 * second},
			d.noting("a"), d.timed(t, "hangs", &begin, false, 0), d.noting("z"))
		begin = time.Now()
		h.stop()
		err := <-h.result
		if err == nil || !strings.Contains(err.Error(), "stop hangs: it did not stop within 10s") {
			t.Errorf("Run returned %v", err)
		}
		if lines := d.read(); !slices.Contains(lines, "stop a") || !slices.Contains(lines, "stop z") {
			t.Errorf("%q", lines)
		}
		if took := time.Since(begin); took != 10*second { // z took no time, so half of 20 s is left for two
			t.Errorf("it took %v", took)
		}
	})
}

func TestStopNeverTakesLongerThanItsBudget(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		polite bool
		own    [4]time.Duration // of the components, in the order in which they start
		want   []string
		took   time.Duration
	}{
		"equal shares": {
			false,
			[4]time.Duration{},
			[]string{"d at 0s for 4.5s", "c at 5s for 4.5s", "b at 10s for 4.5s", "a at 15s for 4.5s"},
			20 * second,
		},
		"what is asked for first": {
			false,
			[4]time.Duration{0, 8 * second, 0, 2 * second},
			[]string{"d at 0s for 1.8s", "c at 2s for 4.5s", "b at 7s for 7.2s", "a at 15s for 4.5s"},
			20 * second,
		},
		"all ask for little": {
			false,
			[4]time.Duration{second, second, second, second},
			[]string{"d at 0s for 900ms", "c at 1s for 900ms", "b at 2s for 900ms", "a at 3s for 900ms"},
			4 * second,
		},
		"what is not used goes on": {
			true,
			[4]time.Duration{0, 10 * second, 5 * second, 4 * second},
			[]string{"d at 0s for 3.6s", "c at 3.6s for 4.5s", "b at 8.1s for 9s", "a at 17.1s for 2.61s"},
			19710 * time.Millisecond,
		},
	}
	for name, c := range cases {
		synctest.Test(t, func(t *testing.T) {
			var d diary
			var begin time.Time
			var components []host.Component
			for i, own := range c.own {
				components = append(components, d.timed(t, string(rune('a'+i)), &begin, c.polite, own))
			}
			h := run(t, host.Config{Logger: slog.New(slog.DiscardHandler), StopTimeout: 20 * second}, components...)
			begin = time.Now()
			h.stop()
			err := <-h.result
			if took := time.Since(begin); took != c.took {
				t.Errorf("%s: it took %v, want %v", name, took, c.took)
			}
			if diff := cmp.Diff(c.want, d.read()); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
			if (err == nil) != c.polite {
				t.Errorf("%s: Run returned %v", name, err)
			}
		})
	}
}

func TestTimeThatIsLostBetweenComponentsIsNotAddedToTheBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var d diary
		var begin time.Time
		slowLog := slowly{slog.DiscardHandler}
		h := run(t, host.Config{Logger: slog.New(slowLog), StopTimeout: 20 * second},
			d.timed(t, "hangs", &begin, false, 18*second), host.Component{Name: "quick", StopTimeout: 2 * second})
		begin = time.Now()
		h.stop()
		<-h.result
		if diff := cmp.Diff([]string{"hangs at 3s for 15.3s"}, d.read()); diff != "" {
			t.Error(diff)
		}
	})
}

// slowly takes its time to log that something has stopped.
type slowly struct{ slog.Handler }

func (slowly) Enabled(context.Context, slog.Level) bool { return true }

func (slowly) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "stopped" {
		time.Sleep(3 * second) // the bubble's clock
	}
	return nil
}

func TestCutOffWorkIsACleanStopWithAWarning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var d diary
		var log bytes.Buffer
		begin := time.Now()
		h := run(t, host.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}, d.timed(t, "busy", &begin, true, 0))
		h.stop()
		if err := <-h.result; err != nil {
			t.Errorf("Run returned %v", err)
		}
		if !strings.Contains(log.String(), "level=WARN") || strings.Contains(log.String(), "level=ERROR") {
			t.Error(log.String())
		}
	})
}

func TestRunThatIgnoresItsEndIsLeftBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var d diary
		deaf := host.Component{Name: "deaf", Run: func(context.Context) error { <-t.Context().Done(); return nil }}
		h := run(t, quiet(), d.noting("a"), deaf)
		begin := time.Now()
		h.stop()
		if err := <-h.result; err == nil || !strings.Contains(err.Error(), "stop deaf") {
			t.Errorf("Run returned %v", err)
		}
		if took := time.Since(begin); took != host.DefaultStopTimeout/2 || !slices.Contains(d.read(), "stop a") {
			t.Errorf("it took %v: %q", took, d.read())
		}
	})
}

func TestStartThatIgnoresItsEndIsLeftBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var d diary
		var begin time.Time
		deaf := d.noting("deaf")
		deaf.Start = func(context.Context) error { <-t.Context().Done(); return nil }
		h := run(t, quiet(), d.timed(t, "hangs", &begin, false, 0), deaf, d.noting("never"))
		begin = time.Now()
		h.stop()
		if err := <-h.result; err == nil || !strings.Contains(err.Error(), "start deaf") {
			t.Errorf("Run returned %v", err)
		}
		if took := time.Since(begin); took != host.DefaultStopTimeout {
			t.Errorf("it took %v", took)
		}
		if diff := cmp.Diff([]string{"hangs at 9s for 8.1s"}, d.read()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestRunGoesOnUntilItsTurnToStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var worked bool
		work, done := make(chan string), make(chan struct{})
		worker := host.Component{Name: "worker", Run: func(ctx context.Context) error {
			for {
				select {
				case <-work:
					worked = true
					close(done)
				case <-ctx.Done():
					return nil
				}
			}
		}}
		server := host.Component{Name: "server", Stop: func(context.Context) error { work <- "the last request"; <-done; return nil }}
		h := run(t, quiet(), worker, server)
		h.stop()
		if err := <-h.result; err != nil || !worked {
			t.Errorf("the worker stopped before the server that needs it: %v", err)
		}
	})
}

func TestDrainDelayLetsThemWorkOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var d diary
		h := run(t, host.Config{Logger: slog.New(slog.DiscardHandler), DrainDelay: 3 * second}, d.noting("a"))
		begin := time.Now()
		h.stop()
		synctest.Wait()
		if checks := h.Ready(t.Context()); checks[0].Error != "stopping" || len(d.read()) != 1 {
			t.Errorf("%v, %q: want one that is stopping, and all at work", checks, d.read())
		}
		if err := <-h.result; err != nil || time.Since(begin) != 3*second {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
	})
}

func TestMistakesAreFoundBeforeAnythingStarts(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		cfg        host.Config
		components []host.Component
		ok         bool
	}{
		"no name":      {host.Config{}, []host.Component{{}}, false},
		"same name":    {host.Config{}, []host.Component{{Name: "a"}, {Name: "a"}}, false},
		"too long":     {host.Config{StopTimeout: 5 * second}, []host.Component{{Name: "a", StopTimeout: 6 * second}}, false},
		"no share":     {host.Config{StopTimeout: 5 * second}, []host.Component{{Name: "a", StopTimeout: 5 * second}, {Name: "b"}}, false},
		"long drain":   {host.Config{StopTimeout: 5 * second, DrainDelay: 5 * second}, []host.Component{{Name: "a"}}, false},
		"just enough":  {host.Config{StopTimeout: 5 * second}, []host.Component{{Name: "a", StopTimeout: 5 * second}}, true},
		"no component": {host.Config{}, nil, true},
	}
	for name, c := range cases {
		var d diary
		ctx, stop := context.WithCancel(t.Context())
		if c.ok {
			stop()
		}
		c.cfg.Logger = slog.New(slog.DiscardHandler)
		h := host.New(c.cfg)
		for _, component := range c.components {
			component.Start = func(context.Context) error { d.note("start"); stop(); return nil }
			h.Add(component)
		}
		if err := h.Run(ctx); (err == nil) != c.ok || len(d.read()) > 0 {
			t.Errorf("%s: %v, %q", name, err, d.read())
		}
		stop()
	}
}
