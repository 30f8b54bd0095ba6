package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/later/schedule"
	"example.com/plenary/platform/ops"
)

const opsUsage = `usage: app ops jobs [list]
       app ops jobs show NAME
       app ops jobs run NAME [reason]
       app ops jobs pause NAME [reason]
       app ops jobs resume NAME [reason]
       app ops jobs set NAME "0 4 * * *" [zone]
       app ops jobs reset NAME [reason]       back to what the program says`

var errOpsUsage = fmt.Errorf("%w\n%s", errUsage, opsUsage)

// commandLine is who acts here: whoever can read the database's address may do anything.
var commandLine = identity.System("command-line", "admin")

// runOps does what the pages under /ops/jobs do, without a browser: through the same doors, on the database itself.
func runOps(ctx context.Context, config Config, logger *slog.Logger, args []string, out io.Writer) error {
	if len(args) == 0 || args[0] != "jobs" {
		return errOpsUsage
	}
	if config.DatabaseURL == "" {
		return errNoDatabase
	}
	app, err := wired(ctx, config, logger)
	if err != nil {
		return err
	}
	defer app.closeUnstarted()
	ctx = identity.WithCorrelationID(identity.WithPrincipal(ctx, commandLine), uuid.NewString())
	// The bus carries the change to the replicas; it is told to stop before the databases close.
	busCtx, stop := context.WithCancel(ctx)
	var bus sync.WaitGroup
	bus.Go(func() { _ = app.bus.Run(busCtx) })
	defer bus.Wait()
	defer stop()
	return detailed(app.opsJobs(ctx, args[1:], out))
}

// detailed says which argument is wrong, and how.
func detailed(err error) error {
	problem := fault.As(err)
	if problem == nil || len(problem.Fields) == 0 {
		return err
	}
	var all []error
	for _, f := range problem.Fields {
		all = append(all, fmt.Errorf("%s: %s", f.Path, f.Message))
	}
	return fault.Wrap(errors.Join(all...), fault.Invalid, problem.Code, problem.Message)
}

func (a *App) opsJobs(ctx context.Context, args []string, out io.Writer) error {
	action, rest := "list", args
	if len(args) > 0 {
		action, rest = args[0], args[1:]
	}
	if action == "list" && len(rest) == 0 {
		return a.printJobs(ctx, out)
	}
	if len(rest) == 0 {
		return errOpsUsage
	}
	name, rest := rest[0], rest[1:]
	change := schedule.Change{Reason: strings.Join(rest, " ")}
	on, off, none := true, false, ""
	switch action {
	case "show":
		return a.printRuns(ctx, name, out)
	case "run":
		run, err := a.console.RunJob(ctx, ops.RunJob{Name: name, Reason: change.Reason})
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: asked for at %s, command %s\n", name, run.Occurrence.UTC().Format(time.RFC3339), run.CommandID)
		return nil
	case "pause":
		change.Enabled = &off
	case "resume":
		change.Enabled = &on
	case "reset":
		change.Cron, change.TimeZone, change.Enabled = &none, &none, &on
	case "set":
		if len(rest) == 0 || len(rest) > 2 {
			return errOpsUsage
		}
		change = schedule.Change{Cron: &rest[0]}
		if len(rest) == 2 {
			change.TimeZone = &rest[1]
		}
	default:
		return errOpsUsage
	}
	job, err := a.console.ChangeJob(ctx, ops.ChangeJob{Name: name, Change: change})
	if err != nil {
		return err
	}
	printJobs(out, []schedule.Job{job})
	return nil
}

func (a *App) printJobs(ctx context.Context, out io.Writer) error {
	jobs, err := a.console.Jobs(ctx)
	if err != nil {
		return err
	}
	printJobs(out, jobs)
	return nil
}

func printJobs(out io.Writer, jobs []schedule.Job) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	defer w.Flush()
	fmt.Fprintln(w, "JOB\tSCHEDULE\tZONE\tFROM\tNEXT\tLAST\tOUTCOME\t")
	for _, j := range jobs {
		next := timeOr(j.NextRunOn, "-")
		switch {
		case j.Problem != nil:
			next = "parked: " + *j.Problem
		case !j.Enabled:
			next = "paused"
		case j.Late:
			next += " (late)"
		}
		outcome := "-"
		if j.LastOutcome != nil {
			outcome = *j.LastOutcome
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", j.Name, j.Cron, j.TimeZone, j.CronSource, next, timeOr(j.LastRunOn, "-"), outcome)
	}
}

// printRuns prints a job and its latest runs.
func (a *App) printRuns(ctx context.Context, name string, out io.Writer) error {
	jobs, err := a.console.Jobs(ctx)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(jobs, func(j schedule.Job) bool { return j.Name == name })
	if at < 0 {
		return errors.New("there is no job " + name)
	}
	printJobs(out, jobs[at:at+1])
	place := a.jobs.Source(name)
	if place == nil {
		return nil
	}
	runs, err := schedule.Runs(ctx, place, name, uuid.Nil, 20)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	defer w.Flush()
	fmt.Fprintln(w, "\nOCCURRENCE\tTRIGGER\tSTARTED\tFINISHED\tOUTCOME\tERROR\t")
	for _, r := range runs {
		outcome, problem := "-", ""
		if r.Outcome != nil {
			outcome = *r.Outcome
		}
		if r.Error != nil {
			problem = *r.Error
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t\n", r.Occurrence.UTC().Format(time.RFC3339), r.Trigger, timeOr(r.StartedOn, "-"),
			timeOr(r.FinishedOn, "-"), outcome, problem)
	}
	return nil
}

func timeOr(t *time.Time, none string) string {
	if t == nil {
		return none
	}
	return t.UTC().Format(time.RFC3339)
}
