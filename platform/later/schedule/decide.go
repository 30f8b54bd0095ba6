package schedule

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/postgres"
)

// Grace is how late a window may be decided before it counts as missed.
const Grace = 5 * time.Minute

// maxWindows bounds how far missed windows are counted one by one.
const maxWindows = 100_000

// Principal is who the clock's commands run as.
var Principal = identity.System("clock")

// decision is what became of one look at a job.
type decision struct{ skipped int }

// decide looks at one job under its lock, and decides what is due: the occurrence, the command that it
// schedules and the next plan commit together, or none of them does.
func (c *Clock) decide(ctx context.Context, j *job) (made decision, err error) {
	err = j.source.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) error {
		made = decision{}
		stored, ok, err := lockJob(ctx, tx, j.name, false)
		if err != nil || !ok {
			return err
		}
		next, problem := stored.planned()
		if problem != "" && problem != stored.problem {
			c.logger.ErrorContext(ctx, "a job is parked: its schedule cannot be understood", slog.String("job", j.name), slog.String("problem", problem))
		}
		if problem == "" && stored.due() {
			made, err = c.window(ctx, tx, j, stored)
			if err != nil {
				return err
			}
		}
		return plan(ctx, tx, j.name, next, problem)
	})
	return made, err
}

// window decides the windows from the one that was planned up to now. The latest of them may run, the others have been
// missed.
func (c *Clock) window(ctx context.Context, tx *postgres.Tx, j *job, stored row) (decision, error) {
	calendar, err := stored.calendar()
	if err != nil {
		return decision{}, err
	}
	latest, passed := *stored.next, 1
	for passed < maxWindows {
		at, ok := calendar.Next(latest)
		if !ok || at.After(stored.now) {
			break
		}
		latest = at
		passed++
	}
	late := stored.now.Sub(latest)
	if stored.catchUp == Skip && late > Grace {
		return decision{skipped: passed}, c.skip(ctx, tx, j, *stored.next, passed, "nobody was there to start it in time")
	}
	if passed > 1 {
		if err := c.skip(ctx, tx, j, *stored.next, passed-1, "nobody was there to start it in time; a later one took its place"); err != nil {
			return decision{}, err
		}
	}
	if stored.overlap == SkipWhileRunning {
		running, err := running(ctx, tx, j.name)
		if err != nil {
			return decision{}, err
		}
		if running {
			return decision{skipped: passed}, c.skip(ctx, tx, j, latest, 1, "an earlier run was still going on")
		}
	}
	decided, err := decidedBefore(ctx, tx, j.name, latest)
	if err != nil || decided {
		return decision{}, err
	}
	_, err = c.schedule.start(ctx, tx, j, request{occurrence: latest, trigger: "schedule"})
	return decision{skipped: passed - 1}, err
}

// decidedBefore reports whether an occurrence has run: under a clock that was ahead of what it is now.
func decidedBefore(ctx context.Context, tx *postgres.Tx, job string, occurrence time.Time) (yes bool, err error) {
	err = tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM platform.job_runs WHERE job = $1 AND occurrence = $2 AND trigger = 'schedule')`,
		job, occurrence).Scan(&yes)
	if err != nil {
		return false, fmt.Errorf("look for an occurrence of job %s: %w", job, err)
	}
	return yes, nil
}

func (c *Clock) skip(ctx context.Context, tx *postgres.Tx, j *job, occurrence time.Time, windows int, why string) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO platform.job_runs (id, job, occurrence, trigger, windows, outcome, error, finished_on)
		VALUES ($1, $2, $3, 'schedule', $4, 'skipped', $5, now()) ON CONFLICT DO NOTHING`,
		uuid.Must(uuid.NewV7()), j.name, occurrence, windows, why)
	if err != nil {
		return fmt.Errorf("record what job %s skipped: %w", j.name, err)
	}
	return nil
}

// request is what a run comes from.
type request struct {
	occurrence time.Time // zero: now
	trigger    string
	by, reason string
}

// start schedules a job's command and records the run, whose id it returns.
func (s *Schedule) start(ctx context.Context, tx *postgres.Tx, j *job, r request) (uuid.UUID, error) {
	id := uuid.Must(uuid.NewV7())
	ctx = identity.WithPrincipal(ctx, Principal)
	if identity.CorrelationID(ctx) == "" {
		ctx = identity.WithCorrelationID(ctx, id.String())
	}
	command, err := s.queue.Schedule(ctx, tx, j.cmd)
	if err != nil {
		return id, err
	}
	var occurrence *time.Time
	if !r.occurrence.IsZero() {
		occurrence = &r.occurrence
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO platform.job_runs (id, job, occurrence, trigger, requested_by, reason, command_id)
		VALUES ($1, $2, coalesce($3, now()), $4, nullif($5, ''), nullif($6, ''), $7)`,
		id, j.name, occurrence, r.trigger, r.by, r.reason, command)
	if err != nil {
		return id, fmt.Errorf("record a run of job %s: %w", j.name, err)
	}
	return id, nil
}

// running reports whether the command of an earlier run has not ended. One that waits for another attempt has
// not: the next occurrence does not overtake it.
func running(ctx context.Context, r postgres.Reader, job string) (yes bool, err error) {
	err = r.QueryRow(ctx, `
		SELECT EXISTS (
			SELECT FROM platform.job_runs r JOIN platform.internal_commands c ON c.id = r.command_id
			WHERE r.job = $1 AND r.outcome IS NULL AND c.processed_on IS NULL AND c.dead_lettered_on IS NULL)`, job).Scan(&yes)
	if err != nil {
		return false, fmt.Errorf("look for a run of job %s: %w", job, err)
	}
	return yes, nil
}
