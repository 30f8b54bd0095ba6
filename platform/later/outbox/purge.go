package outbox

import (
	"context"
	"fmt"
	"time"

	"example.com/plenary/platform/later/lease"
	"example.com/plenary/platform/postgres"
)

// Purge removes the events whose deliveries were all made at least age ago, with the deliveries and their
// attempts, and events that old to which nobody had subscribed. It returns how many events have gone, also if
// it fails on the way. source "" means the events of every module. An event with a delivery that is still to be
// made, or is a dead letter, stays however old it is.
//
// It works through short transactions, from the oldest on, and lets alone what somebody else purges at the same
// time. It ends with ctx; what it has done by then stays done. The inbox, which may lie in other databases, is
// not touched.
func Purge(ctx context.Context, place *postgres.Source, source string, age time.Duration) (total int, err error) {
	var to time.Time
	if err := place.QueryRow(ctx, `SELECT now() - $1::interval`, age).Scan(&to); err != nil {
		return 0, fmt.Errorf("purge events: %w", err)
	}
	for _, old := range []string{delivered, unheard} {
		// Each batch begins where the last one ended, past the index entries of what has gone.
		var from time.Time
		for found := lease.PurgeBatch; found == lease.PurgeBatch; {
			gone, last := 0, from
			err := place.InGuardedTx(ctx, lease.PurgePlan, func(ctx context.Context, tx *postgres.Tx) error {
				return tx.QueryRow(ctx, purge(old), from, to, source).Scan(&gone, &found, &last)
			})
			if err != nil {
				return total, fmt.Errorf("purge events: %w", err)
			}
			total, from = total+gone, last
		}
	}
	return total, nil
}

// What is old. That all deliveries of an event were made is looked up event by event: a plan that reads all
// deliveries, for every batch, is never the better one.
const (
	delivered = `
		SELECT e.id, t.processed_on AS done FROM platform.deliveries t JOIN platform.events e ON e.id = t.event_id
		WHERE t.processed_on >= $1 AND t.processed_on <= $2 AND ($3 = '' OR e.source = $3)
			AND (SELECT bool_and(coalesce(o.processed_on <= $2, false)) FROM platform.deliveries o WHERE o.event_id = t.event_id)
		ORDER BY t.processed_on`
	unheard = `
		SELECT e.id, e.occurred_on AS done FROM platform.events e
		WHERE e.occurred_on >= $1 AND e.occurred_on <= $2 AND ($3 = '' OR e.source = $3)
			AND (SELECT count(*) = 0 FROM platform.deliveries o WHERE o.event_id = e.id)
		ORDER BY e.occurred_on`
)

// purge returns the statement for one batch. It tells how many events have gone, how many rows it has found,
// and how old the last of those is. An event is found once for each of its deliveries.
func purge(old string) string {
	return fmt.Sprintf(`
		WITH old AS (%s LIMIT %d FOR UPDATE OF e SKIP LOCKED),
		made AS (DELETE FROM platform.deliveries t WHERE t.event_id = ANY(ARRAY(SELECT id FROM old)) RETURNING t.id),
		attempts AS (DELETE FROM platform.attempts a WHERE a.work_id = ANY(ARRAY(SELECT id FROM made))),
		gone AS (DELETE FROM platform.events e WHERE e.id = ANY(ARRAY(SELECT id FROM old)) RETURNING e.id)
		SELECT (SELECT count(*) FROM gone), count(*), coalesce(max(done), $1) FROM old`, old, lease.PurgeBatch)
}
