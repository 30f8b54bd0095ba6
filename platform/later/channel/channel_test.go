package channel_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"example.com/plenary/platform/later/channel"
)

func TestWhatGoesWhenItIsFull(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name     string
		capacity int
		push     string
		want     string // what comes out, in this order
		lost     string // what Lost was told of
		dropped  int64
	}{
		{"nothing, at capacity", 3, "1 2 3", "1 2 3", "", 0},
		{"the oldest", 3, "1 2 3 4 5", "3 4 5", "", 2},
		{"the only one", 1, "1 2 3", "3", "", 2},
		{"nothing, for what coalesces", 2, "1a 2b 3a 4b 5a", "5 4", "", 0},
		{"keeps its place", 3, "1a 2 3 4a", "4 2 3", "", 0},
		{"an evicted key is free again", 2, "1a 2 3 4a", "3 4", "", 2},
		{"the latest of an evicted key", 2, "1a 2 3a 4", "2 4", "", 1},
		{"ordinary before protected", 3, "1! 2 3! 4", "1 3 4", "", 1},
		{"ordinary for a protected one", 3, "1! 2 3! 4!", "1 3 4", "", 1},
		{"the arriving one, if all others are protected", 2, "1! 2! 3", "1 2", "", 1},
		{"the oldest protected, if there are no others", 2, "1! 2! 3! 4!", "3 4", "1 2", 0},
		{"protected coalesce too", 2, "1!a 2!b 3!a", "3 2", "", 0},
		{"an ordinary one does not replace a protected one", 3, "1!a 2a", "1 2", "", 0},
		{"nor the other way round", 3, "1a 2!a 3a 4!a", "3 4", "", 0},
		{"order across both kinds", 4, "1 2! 3 4! 5", "2 3 4 5", "", 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, c.capacity)
			r.push(strings.Fields(c.push)...)
			if got := r.taken(); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if got := strings.Trim(fmt.Sprint(r.lost), "[]"); got != c.lost {
				t.Errorf("Lost was told of %s, want %s", got, c.lost)
			}
			if s := r.balances(); s.Dropped != c.dropped || s.ProtectedDropped != int64(len(r.lost)) {
				t.Errorf("%d dropped, want %d: %+v", s.Dropped, c.dropped, s)
			}
		})
	}
}

func TestWhatIsOutOfDateReplacesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, 4, func(c *channel.Config[update]) { c.Newer = func(u, pending update) bool { return u.n > pending.n } })
	r.push("2a", "1a", "5b", "3a", "4b")
	if got := r.taken(); got != "3 5" {
		t.Errorf("got %s", got)
	}
	if s := r.balances(); s.Coalesced != 3 {
		t.Errorf("%+v", s)
	}
}

func TestConfigurationThatCannotWorkIsRefused(t *testing.T) {
	t.Parallel()
	for _, config := range []channel.Config[update]{
		{Name: "live"},
		{Name: "live", Capacity: -1},
		{Name: "live", Capacity: 1 << 40},
		{Capacity: 1},
		{Name: "live", Capacity: 1, Timeout: -1},
		{Name: "live", Capacity: 1, FlushTimeout: -1},
	} {
		if _, err := channel.New(config); err == nil {
			t.Errorf("accepted: %+v", config)
		}
	}
}

func TestDropsAreWarnedOfEveryTenSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		r.push("1", "2", "3", "4!", "5!") // four have gone
		time.Sleep(10*time.Second - time.Nanosecond)
		r.push("6!")
		lines := r.log.Lines("oldest items are dropped")
		if len(lines) != 1 || !strings.Contains(lines[0], "channel=live kind=tally dropped=1 protected_dropped=0 capacity=1") {
			t.Fatalf("%q", lines)
		}
		time.Sleep(time.Nanosecond)
		r.push("7!")
		lines = r.log.Lines("oldest items are dropped")
		if len(lines) != 2 || !strings.Contains(lines[1], "channel=live kind=final dropped=3 protected_dropped=3 capacity=1") {
			t.Errorf("%q", lines)
		}
	})
}

func TestPanicOfTheConfigurationCostsOneItem(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*channel.Config[update], func(update) bool){
		"Key": func(c *channel.Config[update], f func(update) bool) {
			c.Key = func(u update) (string, bool) { return "k", f(u) }
		},
		"Newer": func(c *channel.Config[update], f func(update) bool) { c.Newer = func(u, _ update) bool { return f(u) } },
		"Lost":  func(c *channel.Config[update], f func(update) bool) { c.Lost = func(u update) { f(u) } },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 2, func(c *channel.Config[update]) {
				set(c, func(u update) bool {
					if u.n == 2 {
						panic("no such room")
					}
					return true
				})
			})
			r.push("1!k", "2!k", "2!", "3!", "4!", "5!", "6!") // the lock is free again: nobody hangs
			if lines := r.log.Lines("no such room"); len(lines) != 1 {
				t.Errorf("%q", lines)
			}
			if r.taken(); r.balances().Depth != 0 {
				t.Errorf("%+v", r.Stats())
			}
		})
	}
}

func TestWhatHasLeftIsNotKeptAlive(t *testing.T) {
	t.Parallel()
	c, err := channel.New(channel.Config[*[1 << 16]byte]{Name: "live", Capacity: 2})
	if err != nil {
		t.Fatal(err)
	}
	var items []weak.Pointer[[1 << 16]byte]
	for range 3 { // one is evicted, two are taken
		item := new([1 << 16]byte)
		items = append(items, weak.Make(item))
		c.Push(item)
	}
	c.Take()
	c.Take()
	runtime.GC()
	for i, item := range items {
		if item.Value() != nil {
			t.Errorf("item %d is still there", i)
		}
	}
	runtime.KeepAlive(c)
}

func TestManyProducersAndOneReader(t *testing.T) {
	t.Parallel()
	const producers, each = 8, 2000
	r := newRig(t, 16, func(c *channel.Config[update]) { c.Lost = nil })
	last := map[string]int{} // of the reader, until it has stopped
	var handled int64
	stop := r.drain(func(_ context.Context, u update) error {
		if u.n <= last[u.key] {
			t.Errorf("%d of %s after %d", u.n, u.key, last[u.key])
		}
		last[u.key] = u.n
		handled++
		return nil
	})
	var wg sync.WaitGroup
	for p := range producers {
		wg.Go(func() {
			key := string(rune('a' + p))
			for n := 1; n <= each; n++ {
				r.Push(update{n: n, key: key, final: p%2 == 0})
				r.Push(update{n: n, key: key + key, final: p%2 == 1})
			}
		})
	}
	wg.Wait()
	if left := stop(); left != 0 {
		t.Errorf("%d left", left)
	}
	// There are as many keys as there is room: nothing is ever dropped, and the last of each must come out.
	if s := r.balances(); s.Pushed != 2*producers*each || s.Handled != handled || s.Dropped+s.ProtectedDropped != 0 {
		t.Errorf("%+v", s)
	}
	for p := range producers {
		for _, key := range []string{strings.Repeat(string(rune('a'+p)), 1), strings.Repeat(string(rune('a'+p)), 2)} {
			if last[key] != each {
				t.Errorf("the last of %s was %d", key, last[key])
			}
		}
	}
}

func TestStuckReaderHoldsUpNoProducer(t *testing.T) {
	t.Parallel()
	for _, capacity := range []int{1, 1024} {
		r := newRig(t, capacity, func(c *channel.Config[update]) { c.Timeout = time.Hour })
		var got []int // of the reader, until it has stopped
		stuck, release := make(chan struct{}), make(chan struct{})
		stop := r.drain(func(_ context.Context, u update) error {
			if u.n == 0 {
				close(stuck)
				<-release
			}
			got = append(got, u.n)
			return nil
		})
		r.push("0")
		<-stuck
		done := make(chan struct{})
		go func() {
			defer close(done)
			var wg sync.WaitGroup
			total := 0
			var order sync.Mutex
			for range 10 {
				wg.Go(func() {
					for range 1000 {
						order.Lock()
						total++
						r.Push(update{n: total})
						order.Unlock()
					}
				})
			}
			wg.Wait()
		}()
		select {
		case <-done:
		case <-time.After(patience):
			t.Fatal("producers wait for the reader")
		}
		close(release)
		stop()
		if len(got) != capacity+1 || got[len(got)-1] != 10_000 || got[1] != 10_000-capacity+1 {
			t.Errorf("capacity %d: %d items from %d to %d", capacity, len(got), got[1], got[len(got)-1])
		}
		if s := r.balances(); s.Dropped != int64(10_000-capacity) {
			t.Errorf("%+v", s)
		}
	}
}
