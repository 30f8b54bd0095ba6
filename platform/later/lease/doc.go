// Package lease claims rows of durable work, runs them, and records what came of it. Internal commands and
// outbox deliveries are two tables with the same claim columns; this is the one engine under both.
//
// A [Runner] serves one database. Its loop is one round trip: end the leases that ran out, claim at most as
// many due rows as there are free workers, and ask when the next row is due. A claim takes FOR UPDATE SKIP
// LOCKED, so replicas never wait for each other, and is handed to workers only once it has committed. Between
// rounds the runner waits for a wake-up, for the instant when the next row, retry or lease end is due, or for
// the safety poll, whichever comes first.
//
// The claim number rises with every claim and is the fence: whatever a run writes about its row, it writes
// where id and claim number match. There are two ways to hold a row:
//
//   - A transactional run stamps its row as done with the first statement of its own transaction (see
//     [Stamp]). Effects and stamp commit together or not at all: exactly once. The row's lock keeps others
//     away, so the lease is not renewed; a stamp that matches no row means the lease was lost, and nothing runs.
//   - Any other run keeps its lease by renewing it, is cancelled when the lease is lost, and every transaction
//     that it opens checks the claim first (see [Fence]). Delivery is at least once.
//
// An attempt is an outcome: the handler returned. A claim that ended without one (the process died, froze or
// lost the database) is a suspected crash and counted apart. After three of them the row runs alone in its
// process, so that nobody else is hit or blamed; if that, too, ends without an outcome, it is dead-lettered
// as a crash loop. A graceful stop gives claims back and counts as neither.
//
// A handler that cannot do its work yet returns [PutOff]: the row comes back when it says, and no attempt is used
// up. The twenty-first time it is a failure like any other.
//
// Only rows whose name this process knows are claimed. Each replica publishes its names with its heartbeat; a
// due row whose name no live replica has known for a grace period is dead-lettered, loudly. So in a rolling
// deploy an old replica does not kill what only the new one understands.
//
// All times are the database's. The process's clock only arms timers.
package lease
