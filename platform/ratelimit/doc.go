// Package ratelimit says who may do something again, and when.
//
// There are two rules, each for any number of keys at once: users, networks, addresses.
//
// A [Limiter] is for what is fine in itself and too much in excess. Each key may go on at a steady rate, and up to
// a burst at once after a pause:
//
//	requests := ratelimit.New[string](ratelimit.Config{Rate: ratelimit.PerSecond(100, 200)})
//	if wait := requests.Take(user); wait > 0 {
//		return ratelimit.Refuse(wait) // an answer with Retry-After
//	}
//
// A [Lockout] is for guessing. Some failures are free, then each one closes the door for twice as long as the one
// before; a success forgets them.
//
//	if wait := guesses.Begin(who); wait > 0 {
//		return ratelimit.Refuse(wait) // what was guessed is not even looked at
//	}
//	if !right {
//		guesses.Fail(who)
//	}
//
// Both live in the memory of one process: n replicas allow n times as much, and a restart forgets. In return they
// cost no round trip, and nobody can make the database busy by being refused. Their memory is bounded; there is no
// goroutine to be stopped. All methods may be called by any number of goroutines.
package ratelimit
