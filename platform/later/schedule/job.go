package schedule

import (
	"fmt"
	"regexp"
	"slices"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/later/internalcommand"
	"example.com/plenary/platform/postgres"
)

// CatchUp says what becomes of windows that passed while no scheduler ran.
type CatchUp string

// Overlap says what becomes of a window that comes while an earlier run is still going on.
type Overlap string

// The policies, as they are stored. Whatever does not run is recorded as skipped.
const (
	Once CatchUp = "once" // the latest of them runs, late; the default
	Skip CatchUp = "skip" // a window that is late by more than Grace does not run

	SkipWhileRunning Overlap = "skip" // the window is skipped; the default
	RunAlongside     Overlap = "allow"
)

// Schedule is the program's jobs. Registration happens while the program is wired, from one goroutine;
// everything else is safe for concurrent use.
type Schedule struct {
	pipeline *command.Pipeline
	queue    *internalcommand.Queue
	wake     func(database string)
	jobs     map[string]*job
}

// job is what the program says about a job.
type job struct {
	name     string
	cmd      command.Command
	source   *postgres.Source
	cron     string
	zone     string
	from     string // "code" or "configuration"
	catchUp  CatchUp
	overlap  Overlap
	calendar *Calendar
}

// New returns a schedule without jobs. wake is called after each commit that changes a job, with the database's
// name; every replica's Clock for that database is then to be woken.
func New(pipeline *command.Pipeline, queue *internalcommand.Queue, wake func(database string)) *Schedule {
	return &Schedule{pipeline: pipeline, queue: queue, wake: wake, jobs: map[string]*job{}}
}

// Option changes how a job is run.
type Option func(*job)

// In sets the time zone, an IANA name; the default is UTC.
func In(zone string) Option { return func(j *job) { j.zone = zone } }

// Missed sets what becomes of windows that were missed; the default is Once.
func Missed(c CatchUp) Option { return func(j *job) { j.catchUp = c } }

// Overlapping sets what becomes of windows that come too early; the default is SkipWhileRunning.
func Overlapping(o Overlap) Option { return func(j *job) { j.overlap = o } }

var jobName = regexp.MustCompile(`^[a-z][a-z0-9]*([._-][a-z0-9]+)*$`)

// Register makes cmd a job: it runs whenever the clock reaches the expression's next instant. The command's own
// policy has its time limit, its registration as an internal command the retries. Register panics for what can
// only be a mistake in the program: a name taken, a command without a door, an expression that ParseCalendar
// refuses or that never comes.
func (s *Schedule) Register(name, cron string, cmd command.Command, options ...Option) {
	info, known := s.pipeline.Lookup(cmd.Policy().Name)
	_, taken := s.jobs[name]
	if !known || taken || len(name) > 100 || !jobName.MatchString(name) {
		panic(fmt.Sprintf("schedule: %s is taken or no name for a job, or its command %s has no door", name, cmd.Policy().Name))
	}
	j := &job{name: name, cmd: cmd, source: info.Source, cron: cron, zone: "UTC", from: "code", catchUp: Once, overlap: SkipWhileRunning}
	for _, option := range options {
		option(j)
	}
	var err error
	if j.calendar, err = ParseCalendar(j.cron, j.zone); err != nil {
		panic(fmt.Sprintf("schedule: %s: %v", name, err))
	}
	s.jobs[name] = j
}

// Configure replaces the expression of a job, and its zone unless that is "": the configuration wins over the
// code, and an operator over both. It is called before the first Clock. NotFound ("job_not_found") for a name that nobody has registered,
// Invalid ("cron_invalid", "time_zone_invalid") for what ParseCalendar refuses.
func (s *Schedule) Configure(name, cron, zone string) error {
	j := s.jobs[name]
	if j == nil {
		return fault.Newf(fault.NotFound, "job_not_found", "there is no job %s", name)
	}
	if zone == "" {
		zone = j.zone
	}
	calendar, err := ParseCalendar(cron, zone)
	if err != nil {
		return fmt.Errorf("job %s: %w", name, err)
	}
	j.cron, j.zone, j.from, j.calendar = cron, zone, "configuration", calendar
	return nil
}

// Names lists the registered jobs.
func (s *Schedule) Names() []string {
	names := make([]string, 0, len(s.jobs))
	for name := range s.jobs {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Calendar returns the calendar of a registered job as the program has it, or nil.
func (s *Schedule) Calendar(name string) *Calendar {
	if j := s.jobs[name]; j != nil {
		return j.calendar
	}
	return nil
}

// Source returns where a registered job's row lies, or nil: changes of the job need a transaction there.
func (s *Schedule) Source(name string) *postgres.Source {
	if j := s.jobs[name]; j != nil {
		return j.source
	}
	return nil
}

// in lists the names of the jobs whose rows lie in db.
func (s *Schedule) in(db *postgres.Database) []string {
	return slices.DeleteFunc(s.Names(), func(name string) bool { return s.jobs[name].source.Database() != db })
}

// Command returns the stable name of a registered job's command, or "".
func (s *Schedule) Command(name string) string {
	if j := s.jobs[name]; j != nil {
		return j.cmd.Policy().Name
	}
	return ""
}
