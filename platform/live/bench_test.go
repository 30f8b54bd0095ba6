package live_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"example.com/plenary/platform/live"
)

// counted counts how often it is encoded.
type counted struct{ times *atomic.Int64 }

func (c counted) MarshalJSON() ([]byte, error) {
	c.times.Add(1)
	return []byte(`{"poll":{"id":"1","options":[{"id":"a","votes":12},{"id":"b","votes":30}],"totalVotes":42}}`), nil
}

// crowd joins n viewers, and returns a function that waits until each has been sent one more frame.
func (r *replica) crowd(n int) (all func()) {
	var reading, frames sync.WaitGroup
	frames.Add(n)
	for range n {
		v, _ := r.join("a")
		reading.Go(func() {
			for {
				if _, _, err := v.read(); err != nil {
					return
				}
				frames.Done()
			}
		})
	}
	r.t.Cleanup(func() { r.stop(); reading.Wait() })
	return func() { frames.Wait(); frames.Add(n) }
}

func (r *replica) changeCounted(times *atomic.Int64) {
	r.mu.Lock()
	version := r.rooms["a"].Version + 1
	part := live.Part{Key: "1", Version: version, Updated: "poll.results-changed", Entered: "poll.opened", Audience: live.Everyone, Body: counted{times}}
	r.rooms["a"] = live.State{Version: version, Parts: []live.Part{part}}
	r.mu.Unlock()
	r.Changed(done{}, live.Change{Room: "a", Version: version, Urgent: true})
}

func TestFrameIsEncodedOnceForAll(t *testing.T) {
	t.Parallel()
	r := newReplica(t, newStore())
	all := r.crowd(50)
	var times atomic.Int64
	for range 10 {
		r.changeCounted(&times)
		all()
	}
	// A snapshot would encode the body, too, but all had come before.
	if times.Load() != 10 {
		t.Errorf("10 frames for 50 clients were encoded %d times", times.Load())
	}
}

// One change until all of 1,000 clients in the same process have read and decoded it.
func BenchmarkBroadcast1000(b *testing.B) {
	r := newReplica(b, newStore())
	all := r.crowd(1000)
	var times atomic.Int64
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		r.changeCounted(&times)
		all()
		n++
	}
	b.StopTimer()
	if int(times.Load()) != n {
		b.Errorf("%d frames were encoded %d times", n, times.Load())
	}
}
