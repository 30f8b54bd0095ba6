// Package lock lets one process at a time do something that lasts longer than a transaction: a paid pass over all
// sessions of an event, say. Work that owns a row needs none, its claim is its lock (package later/lease); and what
// one transaction does, that transaction's row locks protect.
//
// A lock is a name. It is held while a function runs:
//
//	err := locks.Hold(ctx, "scoring:"+eventID, runID, lock.Options{TTL: time.Minute}, func(ctx context.Context) error {
//		scores := model.Score(ctx, sessions)       // slow, and outside of any transaction
//		return source.InTx(ctx, saveTheScores)     // commits only while the lock is held
//	})
//
// What it promises, and by what:
//
//   - It lasts for TTL, by the database's clock, and is renewed every quarter of that while the function runs. When
//     its process dies it is free after TTL at most. It is released, and those who wait are woken, as soon as the
//     function has returned, panicked, or given up because its context was cancelled.
//   - A lock that somebody else has is a [*Taken], which says for how long yet. Whoever can come back later does so
//     (internalcommand.PutOff); with [Options].Wait, Hold waits.
//   - A holder that loses its lock is told: the function's context is cancelled with cause [ErrLost], when the
//     database says so, or when it has not answered a renewal for TTL, by this process's clock.
//   - A holder that cannot be told, because it is frozen, does no harm: the function's context carries a fence
//     (postgres.WithFence), so each transaction in the locks' database begins by checking that the lock is still this one.
//     Effects of a former holder never commit, and nobody takes a lock over while a transaction under it is open.
//
// The fence is a number that rises each time that a lock is taken. What does not lie in the locks' database is not
// protected by it; another system that can refuse stale numbers may be given [Fence].
//
// An owner who asks for what it holds already gets it at once, under a new fence, and its former self loses it: a
// command that another replica takes up after a crash does not wait for its own lock. So an owner names one piece of
// work, such as a row's id, not a process. Within one function a lock is therefore not to be taken twice.
//
// Locks are not fair: of those who wait, anyone may be next. And Hold must not be called inside a transaction.
package lock
