package schedule

import (
	"cmp"
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/google/uuid"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/postgres"
)

// maxReason bounds what an operator has to say.
const maxReason = 500

// Change is what an operator wants otherwise. It survives restarts and deploys, until it is taken back.
type Change struct {
	Cron     *string // nil: as it is; "": as the program has it
	TimeZone *string // the same
	Enabled  *bool
	Reason   string
}

var (
	errNoJob   = fault.New(fault.NotFound, "job_not_found", "there is no such job")
	errRunning = fault.New(fault.Conflict, "job_running", "an earlier run of the job has not ended")
)

// Alter changes a job on all replicas at once and returns it as it was and as it is. If what holds is another
// schedule than before, or the job is enabled again, the next run is the first instant after now: nothing that passed is
// made up for. tx is open on the job's Source; the principal of ctx is noted as who did it.
//
// NotFound ("job_not_found"); Invalid, with the field "cron" or "timeZone", for a schedule that ParseCalendar
// refuses, and then nothing has changed.
func (s *Schedule) Alter(ctx context.Context, tx *postgres.Tx, name string, change Change) (before, after Job, err error) {
	stored, ok, err := s.lock(ctx, tx, name)
	if err != nil || !ok {
		return Job{}, Job{}, cmp.Or(err, error(errNoJob))
	}
	if before, err = get(ctx, tx, name); err != nil {
		return Job{}, Job{}, err
	}
	wanted := stored
	if change.Cron != nil {
		wanted.operatorCron = *change.Cron
	}
	if change.TimeZone != nil {
		wanted.operatorZone = *change.TimeZone
	}
	if change.Enabled != nil {
		wanted.enabled = *change.Enabled
	}
	if err := wanted.refuse(change); err != nil {
		return Job{}, Job{}, err
	}
	_, err = tx.Exec(ctx, `
		UPDATE platform.jobs SET operator_cron = nullif($2, ''), operator_time_zone = nullif($3, ''), enabled = $4,
			note = nullif($5, ''), changed_by = nullif($6, ''), changed_on = now()
		WHERE name = $1`, name, wanted.operatorCron, wanted.operatorZone, wanted.enabled, change.Reason, identity.PrincipalOf(ctx).ID)
	if err != nil {
		return Job{}, Job{}, fmt.Errorf("change job %s: %w", name, err)
	}
	if wanted.schedule() != stored.schedule() || wanted.enabled != stored.enabled {
		next, problem := wanted.planned()
		if err := plan(ctx, tx, name, next, problem); err != nil {
			return Job{}, Job{}, err
		}
	}
	s.announce(tx)
	after, err = get(ctx, tx, name)
	return before, after, err
}

// lock locks the row of a job that this program knows.
func (s *Schedule) lock(ctx context.Context, tx *postgres.Tx, name string) (row, bool, error) {
	if s.jobs[name] == nil {
		return row{}, false, nil
	}
	return lockJob(ctx, tx, name, true)
}

func (s *Schedule) announce(tx *postgres.Tx) {
	database := tx.Source().Database().Name()
	tx.AfterCommitOrUnknown(func(context.Context) { s.wake(database) })
}

// schedule is the expression and the zone that hold.
func (j row) schedule() [2]string {
	return [2]string{cmp.Or(j.operatorCron, j.cron), cmp.Or(j.operatorZone, j.zone)}
}

// refuse says what is wrong with a wish. A bad schedule can always be taken back, or its job be paused.
func (j row) refuse(change Change) error {
	var v fault.Violations
	v.Check(utf8.RuneCountInString(change.Reason) <= maxReason, "reason", "too_long", "must have at most 500 characters")
	if change.Cron != nil || change.TimeZone != nil {
		if _, err := j.calendar(); err != nil {
			problem, field := fault.As(err), "cron"
			if problem.Code == "time_zone_invalid" {
				field = "timeZone"
			}
			v.Add(field, problem.Code, problem.Message)
		}
	}
	return v.Err()
}

// RunNow starts a job out of turn, paused or not; its next run stays where it is. tx is open on the job's Source;
// the principal of ctx is noted as who did it, and the command runs as the clock's, as ever.
//
// NotFound ("job_not_found"); Conflict ("job_running") while an earlier run has not ended, unless the job may run
// alongside itself.
func (s *Schedule) RunNow(ctx context.Context, tx *postgres.Tx, name, reason string) (Run, error) {
	if utf8.RuneCountInString(reason) > maxReason {
		return Run{}, fault.New(fault.Invalid, "too_long", "the reason must have at most 500 characters")
	}
	stored, ok, err := s.lock(ctx, tx, name)
	if err != nil || !ok {
		return Run{}, cmp.Or(err, error(errNoJob))
	}
	if stored.overlap == SkipWhileRunning {
		busy, err := running(ctx, tx, name)
		if err != nil {
			return Run{}, err
		}
		if busy {
			return Run{}, errRunning
		}
	}
	id, err := s.start(ctx, tx, s.jobs[name], request{trigger: "manual", by: identity.PrincipalOf(ctx).ID, reason: reason})
	if err != nil {
		return Run{}, err
	}
	runs, err := runsOf(ctx, tx, name, after(id), 1)
	if err != nil || len(runs) == 0 {
		return Run{}, cmp.Or(err, error(errNoJob))
	}
	return runs[0], nil
}

// after returns the id that comes next: lists are read from below one.
func after(id uuid.UUID) uuid.UUID {
	for i := len(id) - 1; i >= 0; i-- {
		if id[i]++; id[i] != 0 {
			break
		}
	}
	return id
}
