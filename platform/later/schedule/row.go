package schedule

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/postgres"
)

// row is a job as it is stored, and what is to be known of its database's clock.
type row struct {
	name         string
	cron, zone   string // the program's
	operatorCron string
	operatorZone string
	enabled      bool
	catchUp      CatchUp
	overlap      Overlap
	next         *time.Time
	problem      string
	now          time.Time
}

const rowColumns = `j.name, j.cron, j.time_zone, coalesce(j.operator_cron, ''), coalesce(j.operator_time_zone, ''), j.enabled,
	j.catch_up, j.overlap, j.next_run_on, coalesce(j.problem, ''), now()`

func scanRow(r pgx.CollectableRow) (row, error) {
	var j row
	err := r.Scan(&j.name, &j.cron, &j.zone, &j.operatorCron, &j.operatorZone, &j.enabled, &j.catchUp, &j.overlap, &j.next, &j.problem, &j.now)
	return j, err
}

// calendar returns the one that holds.
func (j row) calendar() (*Calendar, error) {
	return ParseCalendar(cmp.Or(j.operatorCron, j.cron), cmp.Or(j.operatorZone, j.zone))
}

// planned is what next_run_on and problem ought to be, if nothing is due.
func (j row) planned() (next *time.Time, problem string) {
	calendar, err := j.calendar()
	switch {
	case err != nil:
		return nil, err.Error()
	case !j.enabled:
		return nil, ""
	}
	if at, ok := calendar.Next(j.now); ok {
		return &at, ""
	}
	return nil, ""
}

// due reports whether an occurrence is to be decided.
func (j row) due() bool { return j.enabled && j.next != nil && !j.next.After(j.now) }

// stale reports whether the plan is not what it ought to be. A plan that is too late was made when the clock
// was ahead of what it is now, or with other rules for its zone; one that is too early is simply due, or will be.
func (j row) stale() bool {
	next, problem := j.planned()
	switch {
	case problem != j.problem:
		return true
	case next == nil || j.next == nil:
		return (next == nil) != (j.next == nil)
	default:
		return j.next.After(*next)
	}
}

// lockJob reads a job's row and keeps others from deciding about it until tx ends. ok is false if there is none,
// or if somebody else is at it and wait is not set.
func lockJob(ctx context.Context, tx *postgres.Tx, name string, wait bool) (j row, ok bool, err error) {
	mode := " FOR UPDATE SKIP LOCKED"
	if wait {
		mode = " FOR UPDATE"
	}
	rows, err := tx.Query(ctx, `SELECT `+rowColumns+` FROM platform.jobs j WHERE j.name = $1`+mode, name)
	if err != nil {
		return row{}, false, fmt.Errorf("lock job %s: %w", name, err)
	}
	found, err := pgx.CollectRows(rows, scanRow)
	if err != nil || len(found) == 0 {
		return row{}, false, err
	}
	return found[0], true, nil
}

func plan(ctx context.Context, tx *postgres.Tx, name string, next *time.Time, problem string) error {
	_, err := tx.Exec(ctx, `UPDATE platform.jobs SET next_run_on = $2, problem = nullif($3, '') WHERE name = $1`, name, next, problem)
	if err != nil {
		return fmt.Errorf("plan job %s: %w", name, err)
	}
	return nil
}

// save writes what the program says about its jobs in db. A job whose schedule is a new one is planned anew from
// now: what the old one missed, it missed. Any other keeps its plan, and with it what is due.
func (s *Schedule) save(ctx context.Context, db *postgres.Database) error {
	return db.Control().InTx(ctx, func(ctx context.Context, tx *postgres.Tx) error {
		for _, name := range s.in(db) {
			if err := saveJob(ctx, tx, s.jobs[name]); err != nil {
				return err
			}
		}
		return nil
	})
}

func saveJob(ctx context.Context, tx *postgres.Tx, j *job) error {
	before, known, err := lockJob(ctx, tx, j.name, true)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO platform.jobs (name, source, command, cron, time_zone, cron_source, catch_up, overlap)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (name) DO UPDATE SET source = excluded.source, command = excluded.command, cron = excluded.cron,
			time_zone = excluded.time_zone, cron_source = excluded.cron_source, catch_up = excluded.catch_up, overlap = excluded.overlap`,
		j.name, j.source.Name(), j.cmd.Policy().Name, j.cron, j.zone, j.from, j.catchUp, j.overlap)
	if err != nil {
		return fmt.Errorf("save job %s: %w", j.name, err)
	}
	after, _, err := lockJob(ctx, tx, j.name, true)
	if err != nil {
		return err
	}
	same := known && before.problem == "" && cmp.Or(before.operatorCron, before.cron) == cmp.Or(after.operatorCron, after.cron) &&
		cmp.Or(before.operatorZone, before.zone) == cmp.Or(after.operatorZone, after.zone)
	if same {
		return nil
	}
	next, problem := after.planned()
	return plan(ctx, tx, j.name, next, problem)
}
