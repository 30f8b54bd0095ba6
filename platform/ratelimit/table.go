package ratelimit

import (
	"cmp"
	"maps"
	"time"
)

// DefaultKeys is how many keys are remembered unless a configuration says otherwise.
const DefaultKeys = 100_000

const (
	firstSweep = 1024        // rows before the first look for what can go
	sweepEvery = time.Second // at most: under a flood of new keys a sweep finds little, and is dear
	sampled    = 8           // rows among which the one is sought that is missed least
)

// table is a map of bounded size. Its owner's mutex guards it.
type table[K comparable, V any] struct {
	limit int
	spent func(v V, now int64) bool // v says no more than its absence would
	worth func(v V) int64           // what is worth least is dropped when there is no room

	rows       map[K]V
	sweepAt    int   // rows
	sweepAfter int64 // time
}

func newTable[K comparable, V any](limit int, spent func(V, int64) bool, worth func(V) int64) table[K, V] {
	limit = cmp.Or(limit, DefaultKeys)
	return table[K, V]{limit: limit, spent: spent, worth: worth, rows: map[K]V{}, sweepAt: min(firstSweep, limit)}
}

func (t *table[K, V]) put(key K, value V, now int64) {
	if _, there := t.rows[key]; !there && len(t.rows) >= t.sweepAt {
		t.makeRoom(now)
	}
	t.rows[key] = value
}

// makeRoom drops what is spent, and if that is not enough, one row more.
func (t *table[K, V]) makeRoom(now int64) {
	if now >= t.sweepAfter {
		maps.DeleteFunc(t.rows, func(_ K, v V) bool { return t.spent(v, now) })
		t.sweepAfter = now + int64(sweepEvery)
		t.sweepAt = min(t.limit, max(firstSweep, 2*len(t.rows)))
	}
	if len(t.rows) < t.limit {
		return
	}
	var least K
	n, worth := 0, int64(0)
	for key, v := range t.rows { // begins anywhere
		if w := t.worth(v); n == 0 || w < worth {
			least, worth = key, w
		}
		if n++; n == sampled {
			break
		}
	}
	delete(t.rows, least)
}

// clock counts nanoseconds from its first reading on.
type clock struct {
	now   func() time.Time
	start time.Time
}

func newClock(now func() time.Time) clock {
	if now == nil {
		now = time.Now
	}
	return clock{now: now, start: now()}
}

func (c clock) read() int64 { return int64(c.now().Sub(c.start)) }
