package outbox

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/platform/later/lease"
	"example.com/plenary/platform/postgres"
)

// Purge removes the events whose deliveries were all made at least age ago, with the deliveries and their
// attempts, and events that old to which nobody had subscribed. It returns how many events have gone, also if
// it fails on the way. source "" means the events of every module. An event with a delivery that is still to be
// made, or is a dead letter, stays however old it is.
//
// It works through short transactions and lets alone what somebody else purges at the same time. It ends with
// ctx; what it has done by then stays done. The inbox, which may lie in other databases, is not touched.
func Purge(ctx context.Context, place *postgres.Source, source string, age time.Duration) (total int, err error) {
	var to time.Time
	if err := place.QueryRow(ctx, `SELECT now() - $1::interval`, age).Scan(&to); err != nil {
		return 0, fmt.Errorf("purge events: %w", err)
	}
	for _, window := range []string{delivered, unheard} {
		after, gone := position{}, 0
		for seen := lease.PurgeBatch; seen == lease.PurgeBatch; total += gone {
			var last position
			err := place.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) error {
				return tx.QueryRow(ctx, purge(window), after.on, after.id, to, source, lease.PurgeBatch).Scan(&gone, &seen, &last.on, &last.id)
			})
			if err != nil {
				return total, fmt.Errorf("purge events: %w", err)
			}
			after = last
		}
	}
	return total, nil
}

// position is where a batch ended. The next one begins behind it, past what had to stay and past the index
// entries of what has gone.
type position struct {
	on time.Time
	id uuid.UUID
}

// Windows on what is old, a batch at a time: deliveries that were made, and events without any.
const (
	delivered = `
		SELECT t.processed_on AS at, t.id, t.event_id FROM platform.deliveries t
		WHERE (t.processed_on, t.id) > ($1, $2) AND t.processed_on <= $3 ORDER BY t.processed_on, t.id LIMIT $5`
	unheard = `
		SELECT e.occurred_on AS at, e.id, e.id AS event_id FROM platform.events e
		WHERE (e.occurred_on, e.id) > ($1, $2) AND e.occurred_on <= $3
			AND NOT EXISTS (SELECT FROM platform.deliveries t WHERE t.event_id = e.id)
		ORDER BY e.occurred_on, e.id LIMIT $5`
)

// purge returns the statement for one batch. It tells how many events have gone, how many rows were seen in the
// window, and the position of the last of those.
func purge(window string) string {
	return `
		WITH seen AS (` + window + `),
		old AS (
			SELECT e.id FROM platform.events e
			WHERE e.id IN (SELECT event_id FROM seen) AND ($4 = '' OR e.source = $4)
				AND NOT EXISTS (SELECT FROM platform.deliveries t
					WHERE t.event_id = e.id AND (t.processed_on IS NULL OR t.processed_on > $3))
			FOR UPDATE SKIP LOCKED),
		made AS (DELETE FROM platform.deliveries t USING old WHERE t.event_id = old.id RETURNING t.id),
		attempts AS (DELETE FROM platform.attempts a USING made WHERE a.work_id = made.id),
		events AS (DELETE FROM platform.events e USING old WHERE e.id = old.id),
		last AS (SELECT at, id FROM seen ORDER BY at DESC, id DESC LIMIT 1)
		SELECT (SELECT count(*) FROM old), (SELECT count(*) FROM seen),
			coalesce((SELECT at FROM last), $1), coalesce((SELECT id FROM last), $2)`
}
