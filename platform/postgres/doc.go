// Package postgres is the door to the database: pools, transactions that are passed along in plain sight,
// what happens around a commit, error codes, and migrations.
//
// A [Database] is one physical database. A [Source] is one module's place in it: a name and, by convention, a
// schema of that name. Modules read through their source, and write only in a transaction:
//
//	err := source.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) error {
//		if err := insertOrder(ctx, tx, order); err != nil {
//			return err // rolled back; no hook runs
//		}
//		tx.AfterCommit(func(ctx context.Context) { cache.Evict(order.ID) })
//		return nil
//	})
//
// Rules that the package enforces instead of hoping for them:
//
//   - The transaction is an argument, never hidden in the context. While one is open, taking another
//     connection with its context is an error: that is how pools deadlock.
//   - A failed function rolls back, also when its context is cancelled; a connection never leaks.
//   - Serialization failures and deadlocks run the function again, from the start, with fresh hooks, also when
//     COMMIT reports them. So the function must not keep anything from an earlier run.
//   - COMMIT does not stop halfway because a caller went away. When its answer is lost, nobody guesses:
//     a [Guard] may name a witness that tells what happened, else the outcome is reported as unknown.
//   - Hooks run after the commit, in order, each on its own: a panicking one disturbs neither its neighbours
//     nor the caller.
//   - A fence put into the context with [WithFence] is checked first in every transaction, so that work
//     whose lease was lost can no longer write.
//
// Deadlines and leases are computed by the database's clock; Go's clocks only arm timers.
package postgres
