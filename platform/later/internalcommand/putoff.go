package internalcommand

import (
	"time"

	"example.com/plenary/platform/later/lease"
)

// PutOff returns what a handler returns to say "not now, and this is no failure": somebody else is at it (a *lock.Taken
// tells for how long yet), or what it needs is not there yet. Its transaction rolls back, and the command comes back
// after the given time, by the database's clock, without having used up an attempt. reason is a message as that of
// any fault; operators see it among the command's attempts.
//
// That may happen 20 times. From then on it is a failed attempt (Unavailable, "put_off_too_often"). To whoever runs the
// command inline it is Unavailable ("put_off"), with the time as its RetryAfter. It may be wrapped on its way up,
// and an event's handler may return it as well.
func PutOff(after time.Duration, reason string) error {
	return lease.PutOff(min(after, MaxDelay), reason)
}
