package lease

import (
	"math/rand/v2"
	"time"
)

// Retry says how failures of one kind of work are tried again.
type Retry struct {
	MaxAttempts int           // outcomes after which a row is dead-lettered; default 5
	Base        time.Duration // the pause after the first failure; default 10 s
	Max         time.Duration // no pause is longer, jitter aside; default 10 min
}

// WithDefaults returns r with every unset field filled in.
func (r Retry) WithDefaults() Retry {
	if r.MaxAttempts <= 0 {
		r.MaxAttempts = 5
	}
	if r.Base <= 0 {
		r.Base = 10 * time.Second
	}
	if r.Max <= 0 {
		r.Max = 10 * time.Minute
	}
	return r
}

// Pause is the time to wait after the given number of failed attempts: Base, doubled with each further
// failure up to Max, and then spread by up to a fifth either way so that what failed together does not come
// back together.
func (r Retry) Pause(attempts int) time.Duration {
	r = r.WithDefaults()
	pause := min(r.Base, r.Max)
	for range attempts - 1 {
		if pause >= r.Max/2 { // doubling would pass Max, or overflow on the way there
			pause = r.Max
			break
		}
		pause *= 2
	}
	fifth := pause / 5
	return pause - fifth + rand.N(2*fifth+1)
}
