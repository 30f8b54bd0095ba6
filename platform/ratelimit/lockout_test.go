package ratelimit

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var guessing = Backoff{Free: 4, First: time.Second, Most: 300 * time.Second, Window: 30 * time.Minute, Trust: 24 * time.Hour}

func TestEachFailureClosesTheDoorForLonger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := NewLockout[string](LockoutConfig{Backoff: guessing})
		for i, want := range []time.Duration{0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300} {
			want *= time.Second
			if got := l.Wait("a"); got != want {
				t.Fatalf("before attempt %d the door is closed for %v, want %v", i, got, want)
			}
			if want > 0 {
				time.Sleep(want - time.Nanosecond)
				if l.Begin("a") == 0 {
					t.Fatal("it opens too early")
				}
				time.Sleep(time.Nanosecond)
			}
			if l.Begin("a") != 0 {
				t.Fatalf("attempt %d is refused in its time", i)
			}
			l.Fail("a")
		}
		if l.Begin("b") != 0 {
			t.Error("one key pays for another")
		}
	})
}

func TestFailuresAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := NewLockout[string](LockoutConfig{Backoff: guessing})
		fail := func(n int) {
			for range n {
				time.Sleep(l.Wait("a"))
				l.Begin("a")
				l.Fail("a")
			}
		}
		fail(8)
		time.Sleep(l.Wait("a"))
		l.Begin("a")
		l.Succeed("a")
		if fail(4); l.Wait("a") != 0 {
			t.Error("a success does not forget")
		}
		time.Sleep(guessing.Window)
		if fail(4); l.Wait("a") != 0 {
			t.Error("the window does not end")
		}
		time.Sleep(guessing.Window - time.Second)
		if fail(1); l.Wait("a") != time.Second {
			t.Error("the window ends too early")
		}
	})
}

// While the door is about to close further, only one at a time may try: else each opening would be worth as many
// guesses as can be sent at once.
func TestParallelGuesses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := NewLockout[string](LockoutConfig{Backoff: guessing})
		for range 6 {
			time.Sleep(l.Wait("a"))
			l.Begin("a")
			l.Fail("a")
		}
		time.Sleep(l.Wait("a"))
		var let atomic.Int64
		var group sync.WaitGroup
		for range 50 {
			group.Go(func() {
				if l.Begin("a") == 0 {
					let.Add(1)
				}
			})
		}
		group.Wait()
		if let.Load() != 1 {
			t.Errorf("%d were let in", let.Load())
		}
		l.Withdraw("a")
		if l.Begin("a") != 0 {
			t.Error("an attempt that was withdrawn counts")
		}
	})
}

// Who does nothing wrong may sign in at many places at once.
func TestParallelSuccesses(t *testing.T) {
	t.Parallel()
	l := NewLockout[string](LockoutConfig{Backoff: guessing})
	for range 50 {
		if l.Begin("a") != 0 {
			t.Fatal("refused")
		}
	}
	l.Succeed("a")
}

func TestTrust(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := NewLockout[int](LockoutConfig{Backoff: guessing, Keys: 2000})
		l.Succeed(-1)
		for range 9 {
			l.Fail(-1)
		}
		for i := range 10_000 {
			time.Sleep(time.Millisecond)
			l.Fail(i)
		}
		if len(l.past.rows) > 2000 {
			t.Errorf("%d keys are remembered", len(l.past.rows))
		}
		l.Succeed(-2)
		if !l.Trusted(-2) || l.Trusted(-3) || l.Trusted(5) {
			t.Error("the wrong ones are trusted")
		}
		l.Fail(-2)
		if !l.Trusted(-2) {
			t.Error("a failure ends the trust")
		}
		time.Sleep(guessing.Trust)
		if l.Trusted(-2) {
			t.Error("trust does not end")
		}
	})
}
