package channel_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/plenary/platform/later/channel"
	"example.com/plenary/platform/telemetry/logtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 20 * time.Second

// update is what the tests send: n tells one from the other, key is what they coalesce by.
type update struct {
	n     int
	key   string
	final bool
}

func (u update) String() string { return fmt.Sprint(u.n) }

type rig struct {
	*channel.DropOldest[update]
	t    testing.TB
	log  *logtest.Buffer
	lost []update // told by producers; for tests with one of them
}

func newRig(t testing.TB, capacity int, settings ...func(*channel.Config[update])) *rig {
	t.Helper()
	r := &rig{t: t, log: &logtest.Buffer{}}
	config := channel.Config[update]{
		Name: "live", Capacity: capacity,
		Kind:      kindOf,
		Key:       func(u update) (string, bool) { return u.key, u.key != "" },
		Protected: func(u update) bool { return u.final },
		Lost:      func(u update) { r.lost = append(r.lost, u) },
		Logger:    slog.New(slog.NewTextHandler(r.log, nil)),
	}
	for _, set := range settings {
		set(&config)
	}
	c, err := channel.New(config)
	if err != nil {
		t.Fatal(err)
	}
	r.DropOldest = c
	return r
}

func kindOf(u update) string {
	if u.final {
		return "final"
	}
	return "tally"
}

// push takes "3" as item 3, "3k" as one with the key k, and "3!" or "3!k" as a protected one.
func (r *rig) push(items ...string) {
	for _, item := range items {
		var u update
		n, key, final := strings.Cut(item, "!")
		if !final {
			n = strings.TrimRight(item, "abcdefghijklmnopqrstuvwxyz")
			key = item[len(n):]
		}
		if _, err := fmt.Sscan(n, &u.n); err != nil {
			r.t.Fatal(err)
		}
		u.key, u.final = key, final
		r.Push(u)
	}
}

// taken empties the channel and returns the numbers of what was in it.
func (r *rig) taken() string {
	r.t.Helper()
	var got []string
	_, err := r.RunOnce(context.Background(), func(_ context.Context, u update) error {
		got = append(got, u.String())
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.Join(got, " ")
}

// drain runs Drain and returns how to stop it and wait for what is left.
func (r *rig) drain(handle channel.Handler[update]) (stop func() int) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	go func() {
		left, err := r.Drain(ctx, handle)
		if err != nil {
			r.t.Errorf("Drain: %v", err)
		}
		ended <- left
	}()
	stop = sync.OnceValue(func() int {
		cancel()
		return <-ended
	})
	r.t.Cleanup(func() { stop() })
	return stop
}

// balances requires that no item got lost without being counted.
func (r *rig) balances() channel.Stats {
	r.t.Helper()
	s := r.Stats()
	if sum := int64(s.Depth) + s.Coalesced + s.Dropped + s.ProtectedDropped + s.Handled + s.Failed; sum != s.Pushed {
		r.t.Errorf("%d items came, of %d is known what they became: %+v", s.Pushed, sum, s)
	}
	return s
}

// record is what a handler has seen, for tests that look while it may run.
type record struct {
	mu   sync.Mutex
	seen []int
}

func (r *record) add(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, n)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprint(r.seen)
}
