package schedule

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/postgres"
)

// lateAfter is when an occurrence that nobody has decided, or a run that nobody has begun, is late.
const lateAfter = time.Minute

// Job is a job as operators see it.
type Job struct {
	Name           string     `json:"name"`
	Source         string     `json:"source"`
	Command        string     `json:"command"`
	Cron           string     `json:"cron"`
	CronSource     string     `json:"cronSource" enum:"code,configuration,operator"`
	TimeZone       string     `json:"timeZone"`
	Words          string     `json:"words" doc:"The schedule in English"`
	DefaultCron    string     `json:"defaultCron" doc:"What holds without an operator"`
	DefaultZone    string     `json:"defaultTimeZone"`
	Enabled        bool       `json:"enabled"`
	CatchUp        CatchUp    `json:"catchUp" enum:"once,skip"`
	Overlap        Overlap    `json:"overlap" enum:"skip,allow"`
	NextRunOn      *time.Time `json:"nextRunOn" doc:"Null: paused, never, or not understood"`
	LastRunOn      *time.Time `json:"lastRunOn"`
	LastOutcome    *string    `json:"lastOutcome" enum:"running,succeeded,failed"`
	LastDurationMs *int64     `json:"lastDurationMs"`
	Late           bool       `json:"late" doc:"An occurrence has waited for more than a minute"`
	Problem        *string    `json:"problem" doc:"Why the job is parked"`
	Note           *string    `json:"note" doc:"The reason of the last change"`
	ChangedBy      *string    `json:"changedBy"`
	ChangedOn      *time.Time `json:"changedOn"`
}

// Run is one run of a job, or windows that were skipped.
type Run struct {
	ID          uuid.UUID  `json:"id"`
	Job         string     `json:"job"`
	Occurrence  time.Time  `json:"occurrence" doc:"The instant that was planned; of a manual run, when it was asked for"`
	Trigger     string     `json:"trigger" enum:"schedule,manual"`
	Windows     int        `json:"windows" doc:"Of what was skipped: how many instants, from occurrence on"`
	StartedOn   *time.Time `json:"startedOn"`
	FinishedOn  *time.Time `json:"finishedOn"`
	Outcome     *string    `json:"outcome" enum:"succeeded,failed,skipped" doc:"Null until the command has ended"`
	Error       *string    `json:"error"`
	CommandID   *uuid.UUID `json:"commandId"`
	RequestedBy *string    `json:"requestedBy"`
	Reason      *string    `json:"reason"`
}

// runColumns reads runs with what their commands tell that has not been settled yet.
const runColumns = `r.id, r.job, r.occurrence, r.trigger, r.windows,
	CASE WHEN r.outcome IS NULL THEN coalesce((SELECT min(a.started_on) FROM platform.attempts a WHERE a.work_id = c.id), c.claimed_on) ELSE r.started_on END,
	coalesce(r.finished_on, c.processed_on, c.dead_lettered_on),
	coalesce(r.outcome, CASE WHEN c.processed_on IS NOT NULL THEN 'succeeded' WHEN c.dead_lettered_on IS NOT NULL THEN 'failed' END),
	CASE WHEN r.outcome IS NULL THEN c.last_error ELSE r.error END, r.command_id, r.requested_by, r.reason
	FROM platform.job_runs r LEFT JOIN platform.internal_commands c ON c.id = r.command_id`

func scanRun(row pgx.CollectableRow) (Run, error) {
	var r Run
	err := row.Scan(&r.ID, &r.Job, &r.Occurrence, &r.Trigger, &r.Windows, &r.StartedOn, &r.FinishedOn, &r.Outcome, &r.Error,
		&r.CommandID, &r.RequestedBy, &r.Reason)
	return r, err
}

// Runs lists a job's runs below the id before, newest first; the zero id is the start. The job's database is r's.
func Runs(ctx context.Context, r postgres.Reader, job string, before uuid.UUID, limit int) ([]Run, error) {
	if before == uuid.Nil {
		before = uuid.Max
	}
	return runsOf(ctx, r, job, before, limit)
}

func runsOf(ctx context.Context, r postgres.Reader, job string, before uuid.UUID, limit int) ([]Run, error) {
	rows, err := r.Query(ctx, `SELECT `+runColumns+` WHERE r.job = $1 AND r.id < $2 ORDER BY r.id DESC LIMIT $3`, job, before, limit)
	if err != nil {
		return nil, fmt.Errorf("list the runs of job %s: %w", job, err)
	}
	runs, err := pgx.CollectRows(rows, scanRun)
	if err != nil {
		return nil, fmt.Errorf("list the runs of job %s: %w", job, err)
	}
	return runs, nil
}

const jobColumns = `
	j.name, j.source, j.command, j.cron, j.time_zone, coalesce(j.operator_cron, ''), coalesce(j.operator_time_zone, ''), j.cron_source,
	j.enabled, j.catch_up, j.overlap, j.next_run_on, j.problem, j.note, j.changed_by, j.changed_on,
	coalesce(last.started_on, last.created_on), last.outcome,
	(extract(epoch FROM last.finished_on - last.started_on) * 1000)::bigint,
	coalesce(j.next_run_on < now() - $1::interval, false) OR coalesce(last.waiting, false)
	FROM platform.jobs j LEFT JOIN LATERAL (
		SELECT r.created_on, coalesce(r.started_on, (SELECT min(a.started_on) FROM platform.attempts a WHERE a.work_id = c.id), c.claimed_on) AS started_on,
			coalesce(r.finished_on, c.processed_on, c.dead_lettered_on) AS finished_on,
			coalesce(r.outcome, CASE WHEN c.processed_on IS NOT NULL THEN 'succeeded' WHEN c.dead_lettered_on IS NOT NULL THEN 'failed' ELSE 'running' END) AS outcome,
			c.claimed_on IS NULL AND c.processed_on IS NULL AND c.dead_lettered_on IS NULL AND c.next_attempt_on < now() - $1::interval AS waiting
		FROM platform.job_runs r LEFT JOIN platform.internal_commands c ON c.id = r.command_id
		WHERE r.job = j.name AND r.outcome IS DISTINCT FROM 'skipped' ORDER BY r.id DESC LIMIT 1) last ON true`

func scanJob(row pgx.CollectableRow) (Job, error) {
	var j Job
	var cron, zone string
	err := row.Scan(&j.Name, &j.Source, &j.Command, &j.DefaultCron, &j.DefaultZone, &cron, &zone, &j.CronSource, &j.Enabled, &j.CatchUp, &j.Overlap,
		&j.NextRunOn, &j.Problem, &j.Note, &j.ChangedBy, &j.ChangedOn, &j.LastRunOn, &j.LastOutcome, &j.LastDurationMs, &j.Late)
	j.Cron, j.TimeZone = cmp.Or(cron, j.DefaultCron), cmp.Or(zone, j.DefaultZone)
	if cron != "" || zone != "" {
		j.CronSource = "operator"
	}
	j.Words = j.Cron
	if calendar, err := ParseCalendar(j.Cron, j.TimeZone); err == nil {
		j.Words = calendar.Words()
	}
	return j, err
}

// List returns the jobs whose rows lie in r's database, by name. Rows that no program registers any more are
// among them, and stay where they are.
func (s *Schedule) List(ctx context.Context, r postgres.Reader) ([]Job, error) {
	jobs, err := list(ctx, r, "")
	for i, j := range jobs {
		if s.jobs[j.Name] == nil {
			unknown := "this version of the program has no such job"
			jobs[i].Problem = &unknown
		}
	}
	return jobs, err
}

func list(ctx context.Context, r postgres.Reader, name string) ([]Job, error) {
	rows, err := r.Query(ctx, `SELECT `+jobColumns+` WHERE $2 = '' OR j.name = $2 ORDER BY j.name`, lateAfter, name)
	if err != nil {
		return nil, fmt.Errorf("list jobs: %w", err)
	}
	jobs, err := pgx.CollectRows(rows, scanJob)
	if err != nil {
		return nil, fmt.Errorf("list jobs: %w", err)
	}
	return jobs, nil
}

func get(ctx context.Context, r postgres.Reader, name string) (Job, error) {
	jobs, err := list(ctx, r, name)
	if err != nil || len(jobs) == 0 {
		return Job{}, cmp.Or(err, error(errNoJob))
	}
	return jobs[0], nil
}

// PurgeRuns removes what became of occurrences longer than age ago, at most limit of them, and returns how many
// have gone. Runs that have not ended stay.
func PurgeRuns(ctx context.Context, tx *postgres.Tx, age time.Duration, limit int) (int, error) {
	tag, err := tx.Exec(ctx, `
		DELETE FROM platform.job_runs WHERE id IN (
			SELECT id FROM platform.job_runs WHERE created_on < now() - $1::interval AND outcome IS NOT NULL
			ORDER BY created_on LIMIT $2 FOR UPDATE SKIP LOCKED)`, age, limit)
	if err != nil {
		return 0, fmt.Errorf("purge the runs of jobs: %w", err)
	}
	return int(tag.RowsAffected()), nil
}
