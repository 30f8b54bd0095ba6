package cache_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/plenary/platform/cache"
	"example.com/plenary/platform/fault"
)

func Example() {
	ctx := context.Background()
	scores := cache.New(cache.Config{})
	list := func(context.Context) ([]int, error) {
		fmt.Println("ask the database")
		return []int{9, 7}, nil
	}
	for range 2 {
		fmt.Println(cache.Get(ctx, scores, "scores:42", time.Minute, list))
	}
	_ = scores.Evict("scores:42") // after the commit of a change
	fmt.Println(cache.Get(ctx, scores, "scores:42", time.Minute, list))
	// Output:
	// ask the database
	// [9 7] <nil>
	// [9 7] <nil>
	// ask the database
	// [9 7] <nil>
}

// number gets a key for whom each load counts one up, and returns how many have run so far.
type number struct {
	*cache.Cache
	t     *testing.T
	loads int
}

func (n *number) get(key string, ttl time.Duration) int {
	n.t.Helper()
	got, err := cache.Get(n.t.Context(), n.Cache, key, ttl, func(context.Context) (int, error) {
		n.loads++
		return n.loads, nil
	})
	if err != nil {
		n.t.Fatal(err)
	}
	return got
}

func TestKeptUntilItsTimeIsUp(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	n := &number{t: t, Cache: cache.New(cache.Config{MaxEntries: 2, Now: func() time.Time { return now }})}
	n.get("k", time.Minute)
	now = now.Add(time.Minute - 1)
	if got := n.get("k", time.Minute); got != 1 {
		t.Error("loaded again before its time was up")
	}
	now = now.Add(1)
	if got := n.get("k", time.Minute); got != 2 {
		t.Error("served when its time was up")
	}
	for _, key := range []string{"other", "k", "third"} { // the third takes the place of the other
		n.get(key, time.Minute)
	}
	if got := n.get("k", time.Minute); got != 2 || n.Len() != 2 {
		t.Errorf("load %d, %d entries: what had expired still takes part", got, n.Len())
	}
}

func TestWithoutTimeNothingIsKept(t *testing.T) {
	t.Parallel()
	n := &number{t: t, Cache: cache.New(cache.Config{})}
	for i, ttl := range []time.Duration{0, -time.Second, 0} {
		if got := n.get("k", ttl); got != i+1 || n.Len() != 0 {
			t.Errorf("load %d of %d, %d entries", got, i+1, n.Len())
		}
	}
}

func TestWhatWasNotAskedForTheLongestMakesRoom(t *testing.T) {
	t.Parallel()
	n := &number{t: t, Cache: cache.New(cache.Config{MaxEntries: 3})}
	for _, key := range []string{"a", "b", "c", "a", "d"} { // d takes the place of b
		n.get(key, time.Hour)
	}
	for key, want := range map[string]int{"a": 1, "c": 3, "d": 4} {
		if got := n.get(key, time.Hour); got != want {
			t.Errorf("%s was loaded again", key)
		}
	}
	for i := range 1000 {
		n.get(fmt.Sprint("key", i), time.Hour)
	}
	if n.Len() != 3 {
		t.Errorf("%d entries, want 3", n.Len())
	}
	if n.get("b", time.Hour) != n.loads {
		t.Error("b was kept")
	}
}

func TestEvictTakesWholeSegments(t *testing.T) {
	t.Parallel()
	keys := []string{"scores", "scores:4", "scores:4:best", "scores:42", "scoresheet:4", "t:acme:scores:4"}
	cases := []struct {
		evict []string
		gone  []string
	}{
		{[]string{"scores"}, []string{"scores", "scores:4", "scores:4:best", "scores:42"}},
		{[]string{"scores:4"}, []string{"scores:4", "scores:4:best"}},
		{[]string{"scores:4:best", "t:acme"}, []string{"scores:4:best", "t:acme:scores:4"}},
		{[]string{"score", "t:acme:scores:4:x", "SCORES"}, nil},
		{nil, nil},
	}
	for _, c := range cases {
		n := &number{t: t, Cache: cache.New(cache.Config{})}
		for _, key := range keys {
			n.get(key, time.Hour)
		}
		if err := n.Evict(c.evict...); err != nil {
			t.Errorf("Evict(%q): %v", c.evict, err)
		}
		var gone []string
		for i, key := range keys {
			if n.get(key, time.Hour) != i+1 {
				gone = append(gone, key)
			}
		}
		if diff := cmp.Diff(c.gone, gone); diff != "" {
			t.Errorf("Evict(%q): %s", c.evict, diff)
		}
	}
}

func TestPrefixWithAMissingPartEvictsNothing(t *testing.T) {
	t.Parallel()
	n := &number{t: t, Cache: cache.New(cache.Config{})}
	n.get("t:acme:scores", time.Hour)
	n.get("polls:1", time.Hour)
	for _, prefix := range []string{"", ":", "t:", ":scores", "t:acme:"} {
		if err := n.Evict(prefix, "polls"); !fault.Is(err, "bad_prefix") {
			t.Errorf("Evict(%q): %v", prefix, err)
		}
		if n.get("t:acme:scores", time.Hour) != 1 {
			t.Fatalf("Evict(%q) removed what it must not", prefix)
		}
	}
	if n.get("polls:1", time.Hour) == 2 {
		t.Error("the good prefix was passed over with the bad one")
	}
}

func TestFlushRemovesAll(t *testing.T) {
	t.Parallel()
	n := &number{t: t, Cache: cache.New(cache.Config{})}
	n.get("a", time.Hour)
	n.get("b:c", time.Hour)
	n.Flush()
	if n.Len() != 0 || n.get("a", time.Hour) != 3 {
		t.Error("something was kept")
	}
}

func TestFailureIsNotKept(t *testing.T) {
	t.Parallel()
	c := cache.New(cache.Config{})
	cause := errors.New("away")
	_, err := cache.Get(t.Context(), c, "k", time.Hour, func(context.Context) (int, error) { return 0, cause })
	if !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
	got, err := cache.Get(t.Context(), c, "k", time.Hour, func(context.Context) (int, error) { return 7, nil })
	if got != 7 || err != nil {
		t.Errorf("got %d, %v", got, err)
	}
}

func TestNothingCanBeKept(t *testing.T) {
	t.Parallel()
	c := cache.New(cache.Config{})
	loads := 0
	for range 2 {
		got, err := cache.Get(t.Context(), c, "k", time.Hour, func(context.Context) (fmt.Stringer, error) {
			loads++
			return nil, nil
		})
		if got != nil || err != nil {
			t.Errorf("got %v, %v", got, err)
		}
	}
	if loads != 1 {
		t.Errorf("%d loads", loads)
	}
}

func TestWrongTypeAndBlankKeyAreErrors(t *testing.T) {
	t.Parallel()
	n := &number{t: t, Cache: cache.New(cache.Config{})}
	n.get("k", time.Hour)
	load := func(context.Context) (string, error) { return "x", nil }
	if _, err := cache.Get(t.Context(), n.Cache, "k", time.Hour, load); err == nil || !strings.Contains(err.Error(), "*int") {
		t.Errorf("another type: %v", err)
	}
	if _, err := cache.Get(t.Context(), n.Cache, "", time.Hour, load); err == nil {
		t.Error("a blank key was accepted")
	}
}

func TestObserveIsToldOfHitsAndMisses(t *testing.T) {
	t.Parallel()
	var told []string
	n := &number{t: t, Cache: cache.New(cache.Config{Observe: func(key string, hit bool) {
		told = append(told, fmt.Sprint(key, hit))
	}})}
	n.get("a", time.Hour)
	n.get("a", time.Hour)
	n.get("b", time.Hour)
	if diff := cmp.Diff([]string{"afalse", "atrue", "bfalse"}, told); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkHit(b *testing.B) {
	c := cache.New(cache.Config{})
	load := func(context.Context) (int, error) { return 1, nil }
	b.ReportAllocs()
	for b.Loop() {
		if _, err := cache.Get(b.Context(), c, "scores:42", time.Hour, load); err != nil {
			b.Fatal(err)
		}
	}
}

// An eviction looks at every key that is kept.
func BenchmarkEvictFromFullCache(b *testing.B) {
	c := cache.New(cache.Config{})
	for i := range 10_000 {
		_, _ = cache.Get(b.Context(), c, fmt.Sprint("scores:", i), time.Hour, func(context.Context) (int, error) { return i, nil })
	}
	for b.Loop() {
		_ = c.Evict("polls:42")
	}
}
