package channel_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/plenary/platform/later/channel"
)

func TestSecondReaderIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	inside, release := make(chan struct{}), make(chan struct{})
	stop := r.drain(func(context.Context, update) error { close(inside); <-release; return nil })
	r.push("1", "2")
	<-inside
	never := func(context.Context, update) error { t.Error("two read"); return nil }
	if _, err := r.Drain(t.Context(), never); !errors.Is(err, channel.ErrSecondReader) {
		t.Errorf("Drain: %v", err)
	}
	if _, err := r.RunOnce(t.Context(), never); !errors.Is(err, channel.ErrSecondReader) {
		t.Errorf("RunOnce: %v", err)
	}
	inside = make(chan struct{})
	close(release)
	stop()
	r.push("3")
	if got := r.taken(); got != "3" { // the place is free again
		t.Errorf("got %q", got)
	}
}

func TestFailureAndPanicCostOneItemAndOneLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 10)
		var got record
		stop := r.drain(func(ctx context.Context, u update) error {
			got.add(u.n)
			switch u.n {
			case 1, 4:
				panic("boom")
			case 2, 5:
				return errors.New("nobody is there")
			case 3:
				<-ctx.Done() // hangs, until its time is up
				return context.Cause(ctx)
			}
			return nil
		})
		begin := time.Now()
		r.push("1", "2", "3", "6")
		synctest.Wait()
		if took := time.Since(begin); took != 0 || got.String() != "[1 2 3]" {
			t.Errorf("after %v: %v", took, got.String())
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got.String() != "[1 2 3 6]" {
			t.Errorf("%s: the reader does not get on", got.String())
		}
		lines := r.log.Lines("failed and is dropped")
		if len(lines) != 1 || !strings.Contains(lines[0], `level=ERROR`) || !strings.Contains(lines[0], `kind=tally error="panic: boom" failed=1 stack=`) {
			t.Errorf("%q", lines)
		}
		time.Sleep(10 * time.Second)
		r.push("5", "4")
		stop()
		lines = r.log.Lines("failed and is dropped")
		if len(lines) != 2 || !strings.Contains(lines[1], `kind=tally error="nobody is there" failed=4`) {
			t.Errorf("%q", lines)
		}
		if s := r.balances(); s.Failed != 5 || s.Handled != 1 {
			t.Errorf("%+v", s)
		}
	})
}

func TestWaitingReaderHearsOfEachItem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		var got record
		stop := r.drain(func(_ context.Context, u update) error { got.add(u.n); return nil })
		for n := range 3 {
			synctest.Wait()
			r.Push(update{n: n})
		}
		synctest.Wait()
		if got.String() != "[0 1 2]" {
			t.Errorf("got %s", got.String())
		}
		stop()
	})
}

func TestStopFlushesWithinItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 100, func(c *channel.Config[update]) { c.FlushTimeout = 5 * time.Second })
		var whole, cut []int
		stop := r.drain(func(ctx context.Context, u update) error {
			select {
			case <-time.After(time.Second):
				whole = append(whole, u.n)
				return nil
			case <-ctx.Done():
				cut = append(cut, u.n)
				return ctx.Err()
			}
		})
		for n := range 20 {
			r.Push(update{n: n})
		}
		time.Sleep(1500 * time.Millisecond) // 0 is done, 1 is half done
		begin := time.Now()
		left := stop()
		if took := time.Since(begin); took != 5*time.Second {
			t.Errorf("it took %v", took)
		}
		if fmt.Sprint(whole, cut) != "[0 1 2 3 4 5] [6]" || left != 13 {
			t.Errorf("%v, %v cut off, %d left", whole, cut, left)
		}
		if lines := r.log.Lines("stopped with items left"); len(lines) != 1 || !strings.Contains(lines[0], "left=13") {
			t.Errorf("%q", lines)
		}
		r.balances()
	})
}

func TestStopWithoutItemsTakesNoTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 2)
		stop := r.drain(func(context.Context, update) error { return nil })
		synctest.Wait()
		begin := time.Now()
		if left := stop(); left != 0 || time.Since(begin) != 0 || r.log.String() != "" {
			t.Errorf("%d left after %v\n%s", left, time.Since(begin), r.log)
		}
	})
}

// What was left, or came while nobody read, is there for the next reader, even one that is stopped already.
func TestNextReaderFindsWhatIsPending(t *testing.T) {
	t.Parallel()
	r := newRig(t, 4)
	stop := r.drain(func(context.Context, update) error { return nil })
	stop()
	r.push("1", "2")
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if n, err := r.RunOnce(stopped, nil); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	var got []int
	left, err := r.Drain(stopped, func(ctx context.Context, u update) error {
		got = append(got, u.n)
		return ctx.Err()
	})
	if fmt.Sprint(got) != "[1 2]" || left != 0 || err != nil {
		t.Errorf("%v, %d left, %v", got, left, err)
	}
	if s := r.balances(); s.Failed != 0 {
		t.Errorf("%+v", s)
	}
}

// A handler that causes the next item must not keep RunOnce from returning.
func TestRunOnceEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	r.push("1")
	n, err := r.RunOnce(t.Context(), func(_ context.Context, u update) error {
		r.Push(update{n: u.n + 1})
		return nil
	})
	if n != 3 || err != nil || r.Stats().Depth != 1 {
		t.Errorf("%d, %v, %+v", n, err, r.Stats())
	}
}
