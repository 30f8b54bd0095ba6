package ops

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/later/schedule"
	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/strictjson"
)

// RunJob starts a job out of turn.
type RunJob struct{ Name, Reason string }

// Policy is for operators.
func (RunJob) Policy() command.Policy {
	return command.Policy{Name: "ops.run_job", Permission: PermissionAct}
}

// ChangeJob pauses a job, or gives it another schedule.
type ChangeJob struct {
	Name string
	schedule.Change
}

// Policy is for administrators.
func (ChangeJob) Policy() command.Policy {
	return command.Policy{Name: "ops.change_job", Permission: PermissionAdmin}
}

var errNoJob = fault.New(fault.NotFound, "job_not_found", "there is no such job")

func (c *Console) runJob(ctx context.Context, cmd RunJob) (schedule.Run, error) {
	return onJob(ctx, c, cmd.Name, func(ctx context.Context, tx *postgres.Tx) (schedule.Run, error) {
		run, err := c.jobs.RunNow(ctx, tx, cmd.Name, cmd.Reason)
		if err != nil {
			return run, err
		}
		return run, c.note(ctx, tx, "platform.job", cmd.Name, act{Action: cmd.Policy().Name, Reason: cmd.Reason, Affected: 1}, slog.String("run", run.ID.String()))
	})
}

func (c *Console) changeJob(ctx context.Context, cmd ChangeJob) (schedule.Job, error) {
	return onJob(ctx, c, cmd.Name, func(ctx context.Context, tx *postgres.Tx) (schedule.Job, error) {
		before, after, err := c.jobs.Alter(ctx, tx, cmd.Name, cmd.Change)
		if err != nil {
			return after, err
		}
		return after, c.note(ctx, tx, "platform.job", cmd.Name, act{Action: cmd.Policy().Name, Reason: cmd.Reason, Affected: 1},
			slog.String("before", scheduleOf(before)), slog.String("after", scheduleOf(after)))
	})
}

func scheduleOf(j schedule.Job) string {
	if !j.Enabled {
		return "paused"
	}
	return j.Cron + " " + j.TimeZone
}

// onJob changes something where the job's row lies. The answer to an idempotency key commits with it, or, if that
// is in another database than the default one, right after it.
func onJob[R any](ctx context.Context, c *Console, name string, do func(ctx context.Context, tx *postgres.Tx) (R, error)) (result R, err error) {
	place := c.jobs.Source(name)
	if place == nil {
		return result, errNoJob
	}
	begin := func(context.Context, *postgres.Tx) (string, error) { return "", nil } // there is nothing to be resumed
	if err := command.FirstTx(ctx, c.databases[0], begin); err != nil {
		return result, err
	}
	if place.Database() == c.databases[0].Database() {
		return command.LastTx(ctx, place, do)
	}
	return command.LastTx(ctx, c.databases[0], func(context.Context, *postgres.Tx) (result R, err error) {
		err = place.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) (err error) {
			result, err = do(ctx, tx)
			return err
		})
		return result, err
	})
}

// Jobs returns the jobs of all databases, by name.
func (c *Console) Jobs(ctx context.Context) ([]schedule.Job, error) {
	var all []schedule.Job
	for _, db := range c.databases {
		jobs, err := c.jobs.List(ctx, db)
		if err != nil {
			return nil, err
		}
		all = append(all, jobs...)
	}
	slices.SortFunc(all, func(a, b schedule.Job) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

func (c *Console) getJobs(ctx context.Context, _ struct{}) (httpx.Response[httpx.Page[schedule.Job]], error) {
	jobs, err := c.Jobs(ctx)
	return httpx.OK(httpx.Page[schedule.Job]{Items: jobs}), err
}

type byName struct {
	Name string `path:"name" maxLength:"100"`
}

func (c *Console) getJob(ctx context.Context, in byName) (httpx.Response[schedule.Job], error) {
	jobs, err := c.Jobs(ctx)
	if err != nil {
		return httpx.Response[schedule.Job]{}, err
	}
	at := slices.IndexFunc(jobs, func(j schedule.Job) bool { return j.Name == in.Name })
	if at < 0 {
		return httpx.Response[schedule.Job]{}, errNoJob
	}
	return httpx.OK(jobs[at]), nil
}

func (c *Console) getJobRuns(ctx context.Context, in struct {
	byName
	httpx.Paging
},
) (httpx.Response[httpx.Page[schedule.Run]], error) {
	place := c.jobs.Source(in.Name)
	if place == nil {
		return httpx.Response[httpx.Page[schedule.Run]]{}, errNoJob
	}
	return httpx.ByID(ctx, in.Paging, func(ctx context.Context, limit int, after uuid.UUID) ([]schedule.Run, error) {
		return schedule.Runs(ctx, place, in.Name, after, limit)
	}, func(r schedule.Run) uuid.UUID { return r.ID })
}

// JobPreview is what a schedule would mean.
type JobPreview struct {
	Words string      `json:"words" doc:"The schedule in English"`
	Next  []time.Time `json:"next" doc:"The next five instants"`
}

// getJobPreview tells what a change would mean before it is made.
func (c *Console) getJobPreview(ctx context.Context, in struct {
	byName
	Cron     string `query:"cron" maxLength:"1000"`
	TimeZone string `query:"timeZone" maxLength:"1000"`
},
) (httpx.Response[JobPreview], error) {
	job, err := c.getJob(ctx, in.byName)
	if err != nil {
		return httpx.Response[JobPreview]{}, err
	}
	if in.Cron == "" {
		in.Cron = job.Body.Cron
	}
	if in.TimeZone == "" {
		in.TimeZone = job.Body.TimeZone
	}
	calendar, err := schedule.ParseCalendar(in.Cron, in.TimeZone)
	if err != nil {
		return httpx.Response[JobPreview]{}, err
	}
	var now time.Time
	if err := c.databases[0].QueryRow(ctx, `SELECT now()`).Scan(&now); err != nil {
		return httpx.Response[JobPreview]{}, err
	}
	return httpx.OK(JobPreview{Words: calendar.Words(), Next: calendar.NextN(now, 5)}), nil
}

func (c *Console) postJobRun(ctx context.Context, in struct {
	byName
	Body struct {
		Reason string `json:"reason,omitempty" maxLength:"500"`
	}
},
) (httpx.Response[schedule.Run], error) {
	return httpx.Act(ctx, c.RunJob, RunJob{Name: in.Name, Reason: in.Body.Reason}, func(r schedule.Run) httpx.Response[schedule.Run] {
		return httpx.Accepted("/api/v1/ops/jobs/"+in.Name+"/runs", r)
	})
}

type changeJobInput struct {
	byName
	Body struct {
		Cron     strictjson.Nullable[string] `json:"cron,omitzero" maxLength:"1000" doc:"null: as the program has it"`
		TimeZone strictjson.Nullable[string] `json:"timeZone,omitzero" maxLength:"1000" doc:"An IANA name; null: as the program has it"`
		Enabled  strictjson.Nullable[bool]   `json:"enabled,omitzero" doc:"false pauses the job; null: enabled"`
		Reason   string                      `json:"reason,omitempty" maxLength:"500"`
	}
}

// change is what the body asks for. An empty text is no way to say null.
func (in changeJobInput) change() (schedule.Change, error) {
	change := schedule.Change{Reason: in.Body.Reason}
	var v fault.Violations
	for _, field := range []struct {
		path  string
		given strictjson.Nullable[string]
		into  **string
	}{{"cron", in.Body.Cron, &change.Cron}, {"timeZone", in.Body.TimeZone, &change.TimeZone}} {
		value, ok := field.given.Get()
		v.Check(!ok || strings.TrimSpace(value) != "", field.path, "required", "must not be empty; null takes the default")
		if field.given.Set {
			*field.into = &value
		}
	}
	if in.Body.Enabled.Set {
		enabled := in.Body.Enabled.Null || in.Body.Enabled.Value
		change.Enabled = &enabled
	}
	return change, v.Err()
}

func (c *Console) patchJob(ctx context.Context, in changeJobInput) (httpx.Response[schedule.Job], error) {
	change, err := in.change()
	if err != nil {
		return httpx.Response[schedule.Job]{}, err
	}
	job, err := c.ChangeJob(ctx, ChangeJob{Name: in.Name, Change: change})
	return httpx.OK(job), err
}
