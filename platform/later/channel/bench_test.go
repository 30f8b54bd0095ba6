package channel_test

import (
	"testing"
	"time"

	"example.com/plenary/platform/later/channel"
)

const benchCapacity = 1024

// Not parallel: allocations are counted for the whole process.
func TestPushAllocatesNothing(t *testing.T) {
	keys := manyKeys()
	for name, item := range map[string]func(n int) update{
		"plain":     func(n int) update { return update{n: n} },
		"coalesced": func(n int) update { return update{n: n, key: keys[n%10]} },
		"new keys":  func(n int) update { return update{n: n, key: keys[n%len(keys)]} },
		"protected": func(n int) update { return update{n: n, key: keys[n%len(keys)], final: n%3 == 0} },
	} {
		r := newRig(t, benchCapacity, func(c *channel.Config[update]) { c.Lost = nil })
		n := 0
		churn := func() { // long enough for whatever allocates once in a while
			for range 10 * benchCapacity {
				n++
				r.Push(item(n))
				if n%3 == 0 {
					r.Take()
				}
			}
		}
		churn() // the first loss of each kind, and the warning
		if allocated := testing.AllocsPerRun(5, churn); allocated != 0 {
			t.Errorf("%s: %v allocations in %d pushes", name, allocated, 10*benchCapacity)
		}
	}
}

func manyKeys() []string {
	keys := make([]string, 3*benchCapacity)
	for i := range keys {
		keys[i] = "poll-" + time.Unix(int64(i), 0).UTC().Format(time.RFC3339)
	}
	return keys
}

// sendDroppingOldest is the nearest that a buffered Go channel gets: what it evicts may not be the oldest any
// more, and two producers may evict twice.
func sendDroppingOldest(c chan update, u update) {
	for {
		select {
		case c <- u:
			return
		default:
		}
		select {
		case <-c:
		default:
		}
	}
}

// ways are the loads of both benchmarks: with a reader that keeps up, and with none, so that each push evicts.
var ways = []struct {
	name string
	read bool
}{{"read", true}, {"full", false}}

func pushLoop(read bool, next func() bool, r *rig) {
	for n := 0; next(); n++ {
		r.Push(update{n: n})
		if read {
			r.Take()
		}
	}
}

func chanLoop(read bool, next func() bool, c chan update) {
	for n := 0; next(); n++ {
		sendDroppingOldest(c, update{n: n})
		if read {
			<-c
		}
	}
}

// Besides the time of a push: how many times as long as a buffered Go channel it takes, in the same run.
func BenchmarkPush(b *testing.B) {
	plain := func(c *channel.Config[update]) { c.Kind, c.Key, c.Protected, c.Lost = nil, nil, nil, nil }
	for _, way := range ways {
		b.Run(way.name, func(b *testing.B) {
			b.ReportAllocs()
			pushLoop(way.read, b.Loop, newRig(b, benchCapacity, plain))
			took := b.Elapsed()
			n := b.N
			next := func() bool { n--; return n >= 0 }
			begin := time.Now()
			chanLoop(way.read, next, make(chan update, benchCapacity))
			b.ReportMetric(float64(took)/float64(time.Since(begin)), "×chan")
		})
	}
	b.Run("keyed", func(b *testing.B) {
		b.ReportAllocs()
		r, keys, n := newRig(b, benchCapacity), manyKeys(), 0
		for b.Loop() {
			n++
			r.Push(update{n: n, key: keys[n%len(keys)]})
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.ReportAllocs()
		r := newRig(b, benchCapacity, plain)
		b.RunParallel(func(p *testing.PB) { pushLoop(false, p.Next, r) })
	})
}

func BenchmarkBufferedChan(b *testing.B) {
	for _, way := range ways {
		b.Run(way.name, func(b *testing.B) {
			b.ReportAllocs()
			chanLoop(way.read, b.Loop, make(chan update, benchCapacity))
		})
	}
	b.Run("parallel", func(b *testing.B) {
		b.ReportAllocs()
		c := make(chan update, benchCapacity)
		b.RunParallel(func(p *testing.PB) { chanLoop(false, p.Next, c) })
	})
}
