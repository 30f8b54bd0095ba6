package ratelimit

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"example.com/plenary/platform/fault"
)

// Rate is a number of events in a time, and how many may come at once after a pause. The zero value limits nothing.
type Rate struct {
	Events int
	Per    time.Duration
	Burst  int
}

// PerSecond returns a rate of so many events a second.
func PerSecond(events, burst int) Rate { return Rate{events, time.Second, burst} }

// PerMinute returns a rate of so many events a minute.
func PerMinute(events, burst int) Rate { return Rate{events, time.Minute, burst} }

// Unlimited reports whether everything is allowed.
func (r Rate) Unlimited() bool { return r.Events == 0 }

// interval is how long one event takes to be forgotten.
func (r Rate) interval() int64 { return int64(r.Per) / int64(r.Events) }

// units are the times that a rate can be written with.
var units = map[string]time.Duration{"s": time.Second, "min": time.Minute, "h": time.Hour}

// off is how no limit is written.
const off = "off"

// String returns the rate as UnmarshalText reads it.
func (r Rate) String() string {
	if r.Unlimited() {
		return off
	}
	for unit, d := range units {
		if d == r.Per {
			return fmt.Sprintf("%d/%s burst %d", r.Events, unit, r.Burst)
		}
	}
	return fmt.Sprintf("%d/%v burst %d", r.Events, r.Per, r.Burst)
}

var errRate = errors.New(`a rate looks like "100/s", "10/min burst 20" or "off"`)

// UnmarshalText reads "100/s", "10/min burst 20", "200/h" or "off". Without a burst it is the number of events.
func (r *Rate) UnmarshalText(text []byte) error {
	words := strings.Fields(string(text))
	if len(words) == 1 && words[0] == off {
		*r = Rate{}
		return nil
	}
	if len(words) != 1 && (len(words) != 3 || words[1] != "burst") {
		return errRate
	}
	count, unit, _ := strings.Cut(words[0], "/")
	events, ok := positive(count)
	if !ok || units[unit] == 0 {
		return errRate
	}
	burst := events
	if len(words) == 3 {
		if burst, ok = positive(words[2]); !ok {
			return errRate
		}
	}
	*r = Rate{Events: events, Per: units[unit], Burst: burst}
	return nil
}

// positive reads a number from 1 to a million: the times that come of it fit into a time.Duration.
func positive(text string) (int, bool) {
	n, err := strconv.ParseUint(text, 10, 20)
	return int(n), err == nil && n >= 1 && n <= 1_000_000
}

// Refuse returns the RateLimited fault ("rate_limited") that asks to wait.
func Refuse(wait time.Duration) error {
	e := fault.New(fault.RateLimited, "rate_limited", "too many requests; wait a little")
	e.RetryAfter = wait
	return e
}
