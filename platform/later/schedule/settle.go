package schedule

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/postgres"
)

// settled is a run whose command has ended.
type settled struct {
	job, outcome string
	took, lag    time.Duration
	manual       bool
}

// Settle notes the outcome of runs whose commands have ended, while the commands are still there to be asked. A
// clock does it in each pass; whoever removes commands does it first. A run that failed, and whose command an
// operator has then brought to its end, has succeeded.
func Settle(ctx context.Context, tx *postgres.Tx) error {
	_, err := settle(ctx, tx)
	return err
}

func settle(ctx context.Context, tx *postgres.Tx) ([]settled, error) {
	rows, err := tx.Query(ctx, `
		WITH ended AS (
			SELECT r.id, r.occurrence, r.trigger, c.processed_on, coalesce(c.processed_on, c.dead_lettered_on) AS finished_on, c.last_error,
				coalesce((SELECT min(a.started_on) FROM platform.attempts a WHERE a.work_id = c.id), c.claimed_on) AS started_on
			FROM platform.job_runs r JOIN platform.internal_commands c ON c.id = r.command_id
			WHERE (r.outcome IS NULL AND (c.processed_on IS NOT NULL OR c.dead_lettered_on IS NOT NULL))
				OR (r.outcome = 'failed' AND c.processed_on IS NOT NULL)
			ORDER BY r.id FOR UPDATE OF r SKIP LOCKED)
		UPDATE platform.job_runs r SET started_on = e.started_on, finished_on = e.finished_on, error = e.last_error,
			outcome = CASE WHEN e.processed_on IS NOT NULL THEN 'succeeded' ELSE 'failed' END
		FROM ended e WHERE r.id = e.id
		RETURNING r.job, r.outcome, coalesce(r.finished_on - r.started_on, '0'), greatest(r.started_on - r.occurrence, '0'), r.trigger = 'manual'`)
	if err != nil {
		return nil, fmt.Errorf("settle the runs of jobs: %w", err)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (s settled, err error) {
		var lag *time.Duration
		err = row.Scan(&s.job, &s.outcome, &s.took, &lag, &s.manual)
		if lag != nil {
			s.lag = *lag
		}
		return s, err
	})
	if err != nil {
		return nil, fmt.Errorf("settle the runs of jobs: %w", err)
	}
	return all, nil
}

func (c *Clock) settle(ctx context.Context) error {
	var all []settled
	err := c.database.Control().InTx(ctx, func(ctx context.Context, tx *postgres.Tx) (err error) {
		all, err = settle(ctx, tx)
		return err
	})
	if err != nil {
		return err
	}
	for _, s := range all {
		c.metrics.settled(ctx, s)
	}
	return nil
}
