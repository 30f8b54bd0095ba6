package ratelimit

import (
	"sync"
	"time"
)

// Backoff says how failures close a door.
type Backoff struct {
	Free  int           // failures without consequence
	First time.Duration // for how long the next one closes it
	Most  time.Duration // the end of the doubling
	// Window is how long failures are remembered after the latest.
	Window time.Duration
	// Trust is how long a success is remembered; see Lockout.Trusted.
	Trust time.Duration
}

// pause returns how long the n-th failure closes the door.
func (b Backoff) pause(n int) time.Duration {
	pause := b.First
	if n <= b.Free {
		return 0
	}
	for range n - b.Free - 1 {
		if pause *= 2; pause >= b.Most {
			return b.Most
		}
	}
	return min(pause, b.Most)
}

// LockoutConfig is what a Lockout is made of.
type LockoutConfig struct {
	Backoff Backoff
	Keys    int              // how many are remembered; 0: DefaultKeys
	Now     func() time.Time // nil: time.Now
}

// Lockout makes guessing slow. Past LockoutConfig.Keys it forgets the keys that failed longest ago.
type Lockout[K comparable] struct {
	clock
	backoff Backoff

	mu   sync.Mutex
	past table[K, past]
}

// past is what is known of a key. Times are zero if never.
type past struct {
	failures  int
	failedOn  int64
	openOn    int64 // the door is closed before
	succeeded bool
	trustedTo int64
}

// NewLockout returns a lockout to which every key is new.
func NewLockout[K comparable](c LockoutConfig) *Lockout[K] {
	l := &Lockout[K]{clock: newClock(c.Now), backoff: c.Backoff}
	l.past = newTable[K](c.Keys,
		func(p past, now int64) bool { return !l.remembered(p, now) && !p.trusted(now) },
		func(p past) int64 { return max(p.failedOn, p.trustedTo-int64(c.Backoff.Trust)) })
	return l
}

func (p past) trusted(now int64) bool { return p.succeeded && now < p.trustedTo }

func (l *Lockout[K]) remembered(p past, now int64) bool {
	return now < p.openOn || p.failures > 0 && now < p.failedOn+int64(l.backoff.Window)
}

// Begin returns 0 if key may try, and else how long the door stays closed. Once the free failures are used up one
// attempt at a time may try; it ends with Fail, Succeed or Withdraw. Before, attempts at the same moment are all let
// in, and each counts when it has failed.
func (l *Lockout[K]) Begin(key K) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.read()
	p := l.past.rows[key]
	if now < p.openOn {
		return time.Duration(p.openOn - now)
	}
	if l.remembered(p, now) && p.failures >= l.backoff.Free {
		p.openOn = now + int64(l.backoff.pause(p.failures+1))
		l.past.put(key, p, now)
	}
	return 0
}

// Wait returns for how long the door is closed to key. It begins no attempt.
func (l *Lockout[K]) Wait(key K) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Duration(max(0, l.past.rows[key].openOn-l.read()))
}

// Fail counts a failure, and closes the door if it was not a free one.
func (l *Lockout[K]) Fail(key K) {
	l.change(key, func(p *past, now int64) {
		if !l.remembered(*p, now) {
			p.failures = 0
		}
		p.failures++
		p.failedOn = now
		p.openOn = now + int64(l.backoff.pause(p.failures))
	})
}

// Succeed forgets the failures of key, and trusts it from now on.
func (l *Lockout[K]) Succeed(key K) {
	l.change(key, func(p *past, now int64) {
		*p = past{succeeded: true, trustedTo: now + int64(l.backoff.Trust)}
	})
}

// Withdraw ends an attempt of which it is not known whether it would have failed.
func (l *Lockout[K]) Withdraw(key K) {
	l.change(key, func(p *past, _ int64) { p.openOn = p.failedOn + int64(l.backoff.pause(p.failures)) })
}

func (l *Lockout[K]) change(key K, how func(p *past, now int64)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.read()
	p := l.past.rows[key]
	how(&p, now)
	l.past.put(key, p, now)
}

// Trusted reports whether key has succeeded within Backoff.Trust.
func (l *Lockout[K]) Trusted(key K) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.past.rows[key].trusted(l.read())
}
