package lease

import (
	"context"
	"fmt"
	"time"

	"example.com/plenary/platform/postgres"
)

// PurgeBatch is how many rows one transaction of a purge removes at most, so that it holds no lock for long.
const PurgeBatch = 1000

// PurgePlan begins the transactions of a purge: each batch is to be read from an index, in its order, and no
// further than it goes. Left alone, PostgreSQL would read and sort all that is old for every batch, or compile the
// statement for longer than it runs, if a table has been filled so quickly that its statistics are behind.
var PurgePlan = postgres.Guard{First: []postgres.Statement{{
	SQL: `SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
		set_config('enable_sort', 'off', true), set_config('jit', 'off', true)`,
}}}

// Purge removes the rows that were done at least age ago, with their attempts, and returns how many have gone,
// also if it fails on the way. source "" means the rows of every module. It goes by the time at which a row was
// done; rows that are not, and dead letters, stay however old they are.
//
// It works through short transactions, from the oldest row on, and lets alone what somebody else purges at the
// same time. It ends with ctx; what it has done by then stays done.
func (t Table) Purge(ctx context.Context, place *postgres.Source, source string, age time.Duration) (total int, err error) {
	if t.From != "" {
		return 0, fmt.Errorf("purge %s: its rows belong to others, and go with them", t.Name)
	}
	sql := fmt.Sprintf(`
		WITH old AS (
			SELECT t.id, t.processed_on FROM %[1]s t
			WHERE t.processed_on >= $1 AND t.processed_on <= $2 AND ($3 = '' OR %[2]s = $3)
			ORDER BY t.processed_on LIMIT %[3]d
			FOR UPDATE SKIP LOCKED),
		attempts AS (DELETE FROM platform.attempts a WHERE a.work_id = ANY(ARRAY(SELECT id FROM old))),
		gone AS (DELETE FROM %[1]s t WHERE t.id = ANY(ARRAY(SELECT id FROM old)))
		SELECT count(*), coalesce(max(processed_on), $1) FROM old`, t.Name, t.Source, PurgeBatch)
	// What is done while the purge runs is not in its way; and each batch begins where the last one ended, past
	// the index entries of the rows that have gone.
	var from, to time.Time
	if err := place.QueryRow(ctx, `SELECT now() - $1::interval`, age).Scan(&to); err != nil {
		return 0, fmt.Errorf("purge %s: %w", t.Name, err)
	}
	for n := PurgeBatch; n == PurgeBatch; total += n {
		var last time.Time
		err := place.InGuardedTx(ctx, PurgePlan, func(ctx context.Context, tx *postgres.Tx) error {
			return tx.QueryRow(ctx, sql, from, to, source).Scan(&n, &last)
		})
		if err != nil {
			return total, fmt.Errorf("purge %s: %w", t.Name, err)
		}
		from = last
	}
	return total, nil
}
