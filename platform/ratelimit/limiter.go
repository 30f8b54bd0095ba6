package ratelimit

import (
	"sync"
	"time"
)

// Config is what a Limiter is made of.
type Config struct {
	Rate Rate
	Keys int              // how many are remembered; 0: DefaultKeys
	Now  func() time.Time // nil: time.Now
}

// Limiter lets each key go on at a rate. Past Config.Keys busy keys it forgets the least busy ones, which favours
// them: memory is bounded at the cost of strictness, never of service.
//
// It is the generic cell rate algorithm: all that is kept of a key is when its next event would be on schedule.
type Limiter[K comparable] struct {
	clock
	interval int64 // of events on schedule
	ahead    int64 // how far before its schedule an event may come

	mu   sync.Mutex
	next table[K, int64]
}

// New returns a limiter to which every key is new.
func New[K comparable](c Config) *Limiter[K] {
	l := &Limiter[K]{clock: newClock(c.Now)}
	if !c.Rate.Unlimited() {
		l.interval = c.Rate.interval()
		l.ahead = l.interval * int64(c.Rate.Burst-1)
	}
	l.next = newTable[K](c.Keys,
		func(next, now int64) bool { return next <= now },
		func(next int64) int64 { return next })
	return l
}

// Take counts an event of key and returns 0, or counts nothing and returns how long it is until one may come.
func (l *Limiter[K]) Take(key K) time.Duration { return l.look(key, true) }

// Wait returns what Take would, and counts nothing.
func (l *Limiter[K]) Wait(key K) time.Duration { return l.look(key, false) }

func (l *Limiter[K]) look(key K, take bool) time.Duration {
	if l.interval == 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.read()
	next := max(l.next.rows[key], now)
	if wait := next - now - l.ahead; wait > 0 {
		return time.Duration(wait)
	}
	if take {
		l.next.put(key, next+l.interval, now)
	}
	return 0
}
