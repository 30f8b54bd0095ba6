package web

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/later/schedule"
	"example.com/plenary/platform/ops"
)

// previewed is how many instants show what a schedule means.
const previewed = 5

// preview is what a schedule would mean.
type preview struct {
	Asked bool // it is another one than what holds
	Words string
	Zone  string
	Next  []time.Time
}

// preview fills the form for a schedule: with what was typed and could not be saved, with what the address asks to
// see, or with what holds. What cannot be understood is said at its field.
func (s *Site) preview(r *http.Request, job schedule.Job, form jobForm) (jobForm, preview) {
	if form.Sent != "schedule" {
		form.Cron, form.TimeZone = job.Cron, job.TimeZone
		if query := r.URL.Query(); query.Has("cron") || query.Has("timeZone") {
			form.Cron, form.TimeZone, form.Reason = typed(query, "cron"), typed(query, "timeZone"), typed(query, "reason")
		}
	}
	p := preview{Asked: form.Cron != job.Cron || form.TimeZone != job.TimeZone}
	calendar, err := schedule.ParseCalendar(form.Cron, form.TimeZone)
	if err != nil {
		if len(form.Fields) == 0 {
			form.Fields = []fault.Field{calendarField(err)}
		}
		return form, p
	}
	p.Words, p.Zone, p.Next = calendar.Words(), calendar.Zone(), calendar.NextN(s.Now(), previewed)
	return form, p
}

// typed returns a field as it can be shown again: what is no text would make the page none.
func typed(values url.Values, name string) string {
	return strings.TrimSpace(strings.ToValidUTF8(values.Get(name), "\uFFFD"))
}

// calendarField says at which field a schedule is wrong.
func calendarField(err error) fault.Field {
	e := fault.As(err)
	field := fault.Field{Path: "cron", Code: e.Code, Message: e.Message}
	if e.Code == "time_zone_invalid" {
		field.Path = "timeZone"
	}
	return field
}

func (s *Site) runJob(w http.ResponseWriter, r *http.Request) error {
	return actOnJob(s, w, r, "run", "started", func(ctx context.Context, job schedule.Job, form jobForm) (schedule.Run, error) {
		return s.Console.RunJob(ctx, ops.RunJob{Name: job.Name, Reason: form.Reason})
	})
}

func (s *Site) pauseJob(w http.ResponseWriter, r *http.Request) error {
	return s.changeJob(w, r, "switch", "paused", func(_ schedule.Job, _ jobForm) (schedule.Change, error) {
		return schedule.Change{Enabled: new(false)}, nil
	})
}

func (s *Site) resumeJob(w http.ResponseWriter, r *http.Request) error {
	return s.changeJob(w, r, "switch", "resumed", func(_ schedule.Job, _ jobForm) (schedule.Change, error) {
		return schedule.Change{Enabled: new(true)}, nil
	})
}

// scheduleJob changes what is typed otherwise, and leaves to the program what is not.
func (s *Site) scheduleJob(w http.ResponseWriter, r *http.Request) error {
	return s.changeJob(w, r, "schedule", "changed", func(job schedule.Job, form jobForm) (schedule.Change, error) {
		var change schedule.Change
		var v fault.Violations
		v.Check(form.Cron != "", "cron", "required", "must not be empty")
		v.Check(form.TimeZone != "", "timeZone", "required", "must not be empty; UTC is one")
		if form.Cron != job.Cron {
			change.Cron = &form.Cron
		}
		if form.TimeZone != job.TimeZone {
			change.TimeZone = &form.TimeZone
		}
		return change, v.Err()
	})
}

func (s *Site) resetJob(w http.ResponseWriter, r *http.Request) error {
	return s.changeJob(w, r, "reset", "reset", func(schedule.Job, jobForm) (schedule.Change, error) {
		return schedule.Change{Cron: new(string), TimeZone: new(string)}, nil
	})
}

func (s *Site) changeJob(w http.ResponseWriter, r *http.Request, sent, notice string, changeOf func(schedule.Job, jobForm) (schedule.Change, error)) error {
	return actOnJob(s, w, r, sent, notice, func(ctx context.Context, job schedule.Job, form jobForm) (schedule.Job, error) {
		change, err := changeOf(job, form)
		if err != nil {
			return job, err
		}
		change.Reason = form.Reason
		return s.Console.ChangeJob(ctx, ops.ChangeJob{Name: job.Name, Change: change})
	})
}

// actOnJob sends a form of a job's page through a door and goes back to the page, which says what came of it; or
// shows the page again, with what stood in the way at the form.
func actOnJob[R any](s *Site, w http.ResponseWriter, r *http.Request, sent, notice string,
	door func(ctx context.Context, job schedule.Job, form jobForm) (R, error),
) error {
	values, err := readForm(w, r)
	if err != nil {
		return err
	}
	job, err := s.jobOf(r)
	if err != nil {
		return err
	}
	form := jobForm{Sent: sent, Cron: typed(values, "cron"), TimeZone: typed(values, "timeZone"), Reason: typed(values, "reason")}
	next, err := act(r, values, func(ctx context.Context) (R, error) { return door(ctx, job, form) }, func(R) string {
		return "/ops/jobs/" + job.Name + "?notice=" + notice
	})
	if err == nil {
		http.Redirect(w, r, next, http.StatusSeeOther)
		return nil
	}
	wrong, status, ours := complain(err)
	if !ours {
		return err
	}
	form.complaints = wrong
	return s.showJob(w, r, status, form)
}
