package web

import (
	"context"
	"net/http"
	"slices"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/later/schedule"
)

// people are the names of those who did something, by what they are called in the database.
type people map[string]string

// Who returns a name. Of what is no person, such as the clock, it is the id.
func (p people) Who(id string) string {
	if name, ok := p[id]; ok {
		return name
	}
	return id
}

// namesOf finds the names of users among ids; nil ones are nobody.
func (s *Site) namesOf(ctx context.Context, ids ...*string) (people, error) {
	names := people{}
	for _, id := range ids {
		if id == nil || names[*id] != "" {
			continue
		}
		user, err := parseID(*id)
		if err != nil {
			continue
		}
		if names[*id], err = s.nameOf(ctx, user); err != nil {
			return nil, err
		}
	}
	return names, nil
}

type jobsData struct {
	people
	Jobs []schedule.Job
}

func (s *Site) jobs(w http.ResponseWriter, r *http.Request) error {
	jobs, err := s.Console.Jobs(r.Context())
	if err != nil {
		return err
	}
	changed := make([]*string, len(jobs))
	for i, j := range jobs {
		changed[i] = j.ChangedBy
	}
	names, err := s.namesOf(r.Context(), changed...)
	if err != nil {
		return err
	}
	return s.render(w, r, "jobs", show{Title: "Jobs", Section: "ops", Data: jobsData{people: names, Jobs: jobs}})
}

// jobForm is which form of a job's page was sent, what was typed into it, and what is wrong with that.
type jobForm struct {
	complaints
	Sent     string // run, switch, schedule or reset; "" for none
	Cron     string
	TimeZone string
	Reason   string
}

// jobData is one job, with what can be done about it.
type jobData struct {
	people
	schedule.Job
	Form    jobForm
	Known   bool // this program has the job; else it can only be looked at
	Preview preview
	Runs    []schedule.Run
	Newest  string
	Next    string
	Notice  string
	Key     func() string // one for each form
}

func (s *Site) job(w http.ResponseWriter, r *http.Request) error {
	return s.showJob(w, r, 0, jobForm{})
}

func (s *Site) showJob(w http.ResponseWriter, r *http.Request, status int, form jobForm) error {
	job, err := s.jobOf(r)
	if err != nil {
		return err
	}
	d := jobData{Job: job, Newest: newest(r), Notice: noticeOf(r), Key: newKey}
	d.Form, d.Preview = s.preview(r, job, form)
	who := []*string{job.ChangedBy}
	if place := s.Jobs.Source(job.Name); place != nil {
		d.Known = true
		d.Runs, d.Next, err = keyset(r, 25, func(limit int, before uuid.UUID) ([]schedule.Run, error) {
			return schedule.Runs(r.Context(), place, job.Name, before, limit)
		}, func(run schedule.Run) uuid.UUID { return run.ID })
		if err != nil {
			return err
		}
	}
	for _, run := range d.Runs {
		who = append(who, run.RequestedBy)
	}
	if d.people, err = s.namesOf(r.Context(), who...); err != nil {
		return err
	}
	return s.render(w, r, "job", show{Status: status, Title: job.Name, Section: "ops", Data: d})
}

// jobOf returns the job that the path names.
func (s *Site) jobOf(r *http.Request) (schedule.Job, error) {
	jobs, err := s.Console.Jobs(r.Context())
	if err != nil {
		return schedule.Job{}, err
	}
	name := chi.URLParam(r, "name")
	at := slices.IndexFunc(jobs, func(j schedule.Job) bool { return j.Name == name })
	if at < 0 {
		return schedule.Job{}, fault.New(fault.NotFound, "job_not_found", "there is no such job")
	}
	return jobs[at], nil
}
