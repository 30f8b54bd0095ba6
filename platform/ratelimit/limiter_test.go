package ratelimit

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestBurstThenRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New[string](Config{Rate: PerSecond(100, 5)})
		for i := range 5 {
			if wait := l.Take("a"); wait != 0 {
				t.Fatalf("event %d of the burst waits %v", i, wait)
			}
		}
		if l.Wait("a") != 10*time.Millisecond || l.Take("a") != 10*time.Millisecond || l.Take("a") != 10*time.Millisecond {
			t.Error("what is refused counts, or the wait is wrong")
		}
		if l.Take("b") != 0 {
			t.Error("one key pays for another")
		}
		time.Sleep(9 * time.Millisecond)
		if wait := l.Take("a"); wait != time.Millisecond {
			t.Errorf("too early it waits %v", wait)
		}
		time.Sleep(time.Millisecond)
		if l.Take("a") != 0 || l.Take("a") == 0 {
			t.Error("one interval is not one event")
		}
		time.Sleep(time.Hour)
		n := 0
		for l.Take("a") == 0 {
			n++
		}
		if n != 5 {
			t.Errorf("after a long pause a burst of %d", n)
		}
	})
}

// However events are spread over a time, no more get through than the burst and the rate allow; and who keeps to
// the rate is never refused.
func TestRateOverTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New[int](Config{Rate: PerSecond(100, 20)})
		through := 0
		for range 10_000 {
			if l.Take(1) == 0 {
				through++
			}
			time.Sleep(time.Millisecond)
		}
		if through < 1000 || through > 1020 {
			t.Errorf("%d got through in 10 s at 100 a second", through)
		}
		for i := range 1000 {
			if l.Take(2) != 0 {
				t.Fatalf("on schedule, and refused at event %d", i)
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
}

func TestParallelTakesAreCountedOnce(t *testing.T) {
	t.Parallel()
	l := New[string](Config{Rate: Rate{Events: 1, Per: time.Hour, Burst: 50}})
	var through atomic.Int64
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for range 100 {
				if l.Take("a") == 0 {
					through.Add(1)
				}
			}
		})
	}
	group.Wait()
	if through.Load() != 50 {
		t.Errorf("%d got through", through.Load())
	}
}

func TestNoRateLimitsNothing(t *testing.T) {
	t.Parallel()
	l := New[string](Config{})
	for range 10_000 {
		if l.Take("a") != 0 {
			t.Fatal("refused")
		}
	}
	if len(l.next.rows) != 0 {
		t.Error("it remembers what it does not limit")
	}
}

// A flood of keys takes no more memory than allowed, drops what is spent first, and never the key that is busiest.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New[int](Config{Rate: Rate{Events: 1, Per: time.Second, Burst: 10}, Keys: 2000})
		for range 10 {
			l.Take(-1) // busiest: its schedule is furthest ahead
		}
		for i := range 100_000 {
			l.Take(i)
			if len(l.next.rows) > 2000 {
				t.Fatalf("%d keys are remembered", len(l.next.rows))
			}
		}
		if l.Take(-1) == 0 {
			t.Error("the flood washed away the one that is over its limit")
		}
		time.Sleep(time.Hour)
		for i := range 2000 {
			l.Take(-i)
		}
		if n := len(l.next.rows); n > 2000 {
			t.Errorf("%d keys", n)
		}
		if _, there := l.next.rows[50_000]; there {
			t.Error("what is spent stays")
		}
	})
}

// A sweep is paid for once in a while, not for each new key.
func TestSweepIsRare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sweeps := 0
		l := New[int](Config{Rate: Rate{Events: 1, Per: time.Hour, Burst: 10}, Keys: 2000})
		spent := l.next.spent
		l.next.spent = func(next, now int64) bool { sweeps++; return spent(next, now) }
		for i := range 20_000 {
			l.Take(i)
		}
		if sweeps > 2*2000 {
			t.Errorf("%d rows were looked at within the same second", sweeps)
		}
	})
}

func BenchmarkTake(b *testing.B) {
	l := New[netip.Prefix](Config{Rate: PerSecond(100, 200)})
	keys := make([]netip.Prefix, 4096)
	for i := range keys {
		keys[i] = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 32)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		l.Take(keys[i%len(keys)])
		i++
	}
}
