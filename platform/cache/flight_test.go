package cache_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/plenary/platform/cache"
	"example.com/plenary/platform/fault"
)

// answer is what a Get returned.
type answer struct {
	value string
	err   error
}

// ask calls Get in a goroutine of its own and returns where its answer will be.
func ask(ctx context.Context, c *cache.Cache, load func(context.Context) (string, error)) <-chan answer {
	got := make(chan answer, 1)
	go func() {
		value, err := cache.Get(ctx, c, "scores:42", time.Hour, load)
		got <- answer{value, err}
	}()
	return got
}

// reading is a load that lasts until it is told what it has read.
type reading chan string

func (r reading) load(ctx context.Context) (string, error) {
	select {
	case value := <-r:
		return value, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func TestLoadThatBeganBeforeAnEvictionIsNeitherKeptNorJoined(t *testing.T) {
	t.Parallel()
	evictions := map[string]func(*cache.Cache){
		"key":     func(c *cache.Cache) { _ = c.Evict("scores:42") },
		"segment": func(c *cache.Cache) { _ = c.Evict("scores") },
		"flush":   func(c *cache.Cache) { c.Flush() },
	}
	for name, evict := range evictions {
		synctest.Test(t, func(t *testing.T) {
			c, before, after := cache.New(cache.Config{}), make(reading), make(reading)
			early := ask(t.Context(), c, before.load)
			synctest.Wait() // the early load has begun

			evict(c)
			late := ask(t.Context(), c, after.load)
			synctest.Wait() // the late caller has joined the early load, or has begun its own

			before <- "old"
			if got := <-early; got != (answer{"old", nil}) {
				t.Errorf("%s: the early caller got %v", name, got)
			}
			later := ask(t.Context(), c, after.load)
			synctest.Wait()
			select {
			case after <- "new":
			default:
				t.Errorf("%s: nobody loads after the eviction", name)
			}
			for _, caller := range []<-chan answer{late, later, ask(t.Context(), c, before.load)} {
				if got := <-caller; got != (answer{"new", nil}) {
					t.Errorf("%s: a caller after the eviction got %v", name, got)
				}
			}
		})
	}
}

func TestOtherKeysKeepTheirLoads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, read := cache.New(cache.Config{}), make(reading)
		first := ask(t.Context(), c, read.load)
		synctest.Wait()
		_ = c.Evict("scores:4", "score")
		second := ask(t.Context(), c, func(context.Context) (string, error) { return "a load too many", nil })
		synctest.Wait()
		read <- "x"
		if one, two := <-first, <-second; one.value != "x" || two.value != "x" {
			t.Errorf("got %v and %v", one, two)
		}
	})
}

func TestManyCallersLoadOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var loads, misses atomic.Int32
		c := cache.New(cache.Config{Observe: func(_ string, hit bool) {
			if !hit {
				misses.Add(1)
			}
		}})
		read := make(reading)
		var callers []<-chan answer
		for range 100 {
			callers = append(callers, ask(t.Context(), c, func(ctx context.Context) (string, error) {
				loads.Add(1)
				return read.load(ctx)
			}))
		}
		synctest.Wait()
		read <- "x"
		for _, caller := range callers {
			if got := <-caller; got != (answer{"x", nil}) {
				t.Fatalf("got %v", got)
			}
		}
		if loads.Load() != 1 || misses.Load() != 1 {
			t.Errorf("%d loads, %d misses", loads.Load(), misses.Load())
		}
	})
}

func TestFirstCallerLeavesAndTheLoadGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, read := cache.New(cache.Config{}), make(reading)
		impatient, leave := context.WithTimeout(t.Context(), time.Hour)
		first := ask(impatient, c, read.load)
		synctest.Wait()
		second := ask(t.Context(), c, func(context.Context) (string, error) { return "a load too many", nil })
		synctest.Wait()

		leave()
		if got := <-first; !errors.Is(got.err, context.Canceled) {
			t.Errorf("the one who left got %v", got)
		}
		read <- "x"
		if got := <-second; got != (answer{"x", nil}) {
			t.Errorf("the one who stayed got %v", got)
		}
	})
}

func TestLastCallerLeavesAndTheLoadEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, ended := cache.New(cache.Config{}), make(chan error, 1)
		ctx, leave := context.WithCancel(t.Context())
		stubborn := make(chan struct{})
		for range 2 {
			ask(ctx, c, func(ctx context.Context) (string, error) {
				<-ctx.Done()
				ended <- ctx.Err()
				<-stubborn
				return "stale", nil
			})
		}
		synctest.Wait()
		leave()
		synctest.Wait()
		select {
		case err := <-ended:
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		default:
			t.Error("the load goes on for nobody")
		}
		// A newcomer inherits neither the cancellation nor the result of what was given up.
		newcomer := ask(t.Context(), c, func(context.Context) (string, error) { return "fresh", nil })
		synctest.Wait()
		close(stubborn)
		synctest.Wait()
		again := ask(t.Context(), c, func(context.Context) (string, error) { return "a load too many", nil })
		if one, two := <-newcomer, <-again; one != (answer{"fresh", nil}) || two != one {
			t.Errorf("got %v, then %v", one, two)
		}
	})
}

func TestLoadSeesValuesButNoDeadline(t *testing.T) {
	t.Parallel()
	type key struct{}
	ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), key{}, "alice"), time.Hour)
	defer cancel()
	got := <-ask(ctx, cache.New(cache.Config{}), func(ctx context.Context) (string, error) {
		if _, has := ctx.Deadline(); has {
			return "", errors.New("the first caller's deadline limits the others")
		}
		return ctx.Value(key{}).(string), nil
	})
	if got != (answer{"alice", nil}) {
		t.Errorf("got %v", got)
	}
}

func TestCallerWhoHasLeftStartsNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := cache.Get(ctx, cache.New(cache.Config{}), "k", time.Hour, func(context.Context) (int, error) {
		t.Error("loaded")
		return 0, nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestLoadThatDoesNotReturnFreesItsKey(t *testing.T) {
	t.Parallel()
	c := cache.New(cache.Config{})
	got := <-ask(t.Context(), c, func(context.Context) (string, error) { panic("boom") })
	if !fault.Is(got.err, "load_panicked") || fault.KindOf(got.err) != fault.Internal {
		t.Errorf("panic: %v", got.err)
	}
	if text := got.err.Error(); !strings.Contains(text, "boom") || !strings.Contains(text, "flight_test.go") {
		t.Errorf("the log would not show where: %s", text)
	}
	if got := fault.As(got.err).Message; strings.Contains(got, "boom") {
		t.Errorf("the caller would see %q", got)
	}

	got = <-ask(t.Context(), c, func(context.Context) (string, error) { runtime.Goexit(); return "", nil })
	if got.err == nil {
		t.Error("a load that ended its goroutine gave a value")
	}
	if got := <-ask(t.Context(), c, func(context.Context) (string, error) { return "x", nil }); got != (answer{"x", nil}) {
		t.Errorf("afterwards: %v", got)
	}
}
