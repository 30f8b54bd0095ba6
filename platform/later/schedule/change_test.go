package schedule_test

import (
	"testing"
	"time"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/later/schedule"
	"example.com/plenary/platform/postgres/postgrestest"
)

func ptr[T any](v T) *T { return &v }

func TestAnOverrideMovesTheTimersOfAllReplicas(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	one, two := n.replica(t, nightly), n.replica(t, nightly)
	two.run() // and has armed its timer for the night
	if _, _, err := one.alter("sweep", schedule.Change{Cron: ptr("@every 1m"), Reason: "once a minute for now"}); err != nil {
		t.Fatal(err)
	}
	// The minute is cut short: the row is moved, and nobody is woken for that but the one who changes the note.
	postgrestest.Exec(t, one.source, `UPDATE platform.jobs SET next_run_on = now() + interval '300 ms' WHERE name = 'sweep'`)
	if _, _, err := one.alter("sweep", schedule.Change{Reason: "still"}); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); one.swept() == 0; {
		if time.Now().After(deadline) {
			t.Fatal("the other replica's timer did not move")
		}
	}
}

func TestAChangeStartsNothing(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	r := n.replica(t, nightly)
	// Last run at 01:00 today, and now it is later than 02:00: the hours are those around the database's now.
	hour := postgrestest.Value[int](t, r.source, `SELECT extract(hour FROM now() - interval '2 hours')::int`)
	past := ptr("0 " + time.Date(2000, 1, 1, hour, 0, 0, 0, time.UTC).Format("15") + " * * *")
	steps := []schedule.Change{
		{Cron: past},
		{TimeZone: ptr("Asia/Kolkata")},
		{TimeZone: ptr(""), Cron: ptr("")},
		{Enabled: ptr(false)},
		{Enabled: ptr(true)},
		{Cron: past, Reason: "again"},
	}
	for i, change := range steps {
		_, after, err := r.alter("sweep", change)
		if err != nil {
			t.Fatal(err)
		}
		if paused := change.Enabled != nil && !*change.Enabled; paused != (after.NextRunOn == nil) || after.Enabled == paused {
			t.Errorf("step %d: %+v", i, after)
		}
		if after.NextRunOn != nil && time.Until(*after.NextRunOn) > 24*time.Hour {
			t.Errorf("step %d: the next run is on %v", i, after.NextRunOn)
		}
		r.look()
	}
	if runs := r.runs("sweep"); len(runs) != 0 {
		t.Errorf("%+v", runs)
	}
	if j := r.job("sweep"); j.CronSource != "operator" || *j.ChangedBy != "system:operator" || *j.Note != "again" || j.DefaultCron != "0 3 * * *" {
		t.Errorf("%+v", j)
	}
}

func TestADeployKeepsTheOperatorsWordAndStartsNothing(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	first := n.replica(t, nightly)
	if _, _, err := first.alter("tally", schedule.Change{Cron: ptr("15 5 * * *"), Enabled: ptr(false), Reason: "until Monday"}); err != nil {
		t.Fatal(err)
	}
	hour := postgrestest.Value[int](t, first.source, `SELECT extract(hour FROM now() - interval '1 hours')::int`)
	cron := "0 " + time.Date(2000, 1, 1, hour, 0, 0, 0, time.UTC).Format("15") + " * * *"
	next := n.unstarted(t, func(s *schedule.Schedule) {
		s.Register("sweep", "0 3 * * *", sweep{})
		s.Register("tally", cron, tally{})
	})
	if err := next.jobs.Configure("sweep", cron, "Asia/Tokyo"); err != nil {
		t.Fatal(err)
	}
	if err := next.clock.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	next.look()
	if j := next.job("sweep"); j.CronSource != "configuration" || j.Cron != cron || j.TimeZone != "Asia/Tokyo" || !j.NextRunOn.After(time.Now()) {
		t.Errorf("configured: %+v", j)
	}
	if j := next.job("tally"); j.CronSource != "operator" || j.Cron != "15 5 * * *" || j.DefaultCron != cron || j.Enabled || j.NextRunOn != nil {
		t.Errorf("overridden: %+v", j)
	}
	if n := len(next.runs("sweep")) + len(next.runs("tally")); n != 0 {
		t.Errorf("%d runs", n)
	}
	if err := next.jobs.Configure("gone", cron, ""); !fault.Is(err, "job_not_found") {
		t.Errorf("configuring what is not there: %v", err)
	}
}

func TestABadChangeChangesNothing(t *testing.T) {
	t.Parallel()
	r := newNetwork(t).replica(t, nightly)
	before := r.job("sweep")
	for _, c := range []struct {
		change schedule.Change
		field  string
	}{
		{schedule.Change{Cron: ptr("0 0 30 2 *")}, "cron"},
		{schedule.Change{Cron: ptr("CRON_TZ=Asia/Tokyo 0 3 * * *")}, "cron"},
		{schedule.Change{Cron: ptr("@every 1s"), Enabled: ptr(false)}, "cron"},
		{schedule.Change{TimeZone: ptr("Local")}, "timeZone"},
		{schedule.Change{TimeZone: ptr("Mars/Olympus")}, "timeZone"},
		{schedule.Change{Reason: string(make([]rune, 501))}, "reason"},
	} {
		_, _, err := r.alter("sweep", c.change)
		problem := fault.As(err)
		if fault.KindOf(err) != fault.Invalid || len(problem.Fields) != 1 || problem.Fields[0].Path != c.field {
			t.Errorf("%+v: %v", c.change, err)
		}
	}
	if _, _, err := r.alter("none", schedule.Change{}); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a job that is not there: %v", err)
	}
	if after := r.job("sweep"); after.ChangedOn != nil || !after.NextRunOn.Equal(*before.NextRunOn) || !after.Enabled {
		t.Errorf("%+v", after)
	}
}

func TestRunNow(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	one, two := n.replica(t, nightly), n.replica(t, nightly)
	if _, _, err := one.alter("sweep", schedule.Change{Enabled: ptr(false)}); err != nil {
		t.Fatal(err)
	}
	planned := one.job("tally").NextRunOn
	for _, job := range []string{"sweep", "tally"} { // paused or not
		run, err := one.runNow(job)
		if err != nil || run.Trigger != "manual" || *run.RequestedBy != "system:operator" || *run.Reason != "to see it run" || run.CommandID == nil {
			t.Fatalf("%+v, %v", run, err)
		}
		if _, err := two.runNow(job); !fault.Is(err, "job_running") {
			t.Errorf("%s a second time: %v", job, err)
		}
	}
	two.work()
	if _, err := two.runNow("sweep"); err != nil {
		t.Errorf("once it has ended: %v", err)
	}
	if one.swept() != 1 || !one.job("tally").NextRunOn.Equal(*planned) || one.job("sweep").NextRunOn != nil {
		t.Errorf("swept %d times, next %v and %v", one.swept(), one.job("tally").NextRunOn, one.job("sweep").NextRunOn)
	}
	if _, err := one.runNow("none"); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a job that is not there: %v", err)
	}
}

func TestLateJobsAndForgottenOnesAreShown(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	r := n.replica(t, nightly)
	if r.job("sweep").Late {
		t.Error("late, though planned for the night")
	}
	r.due("sweep", "2 minutes")
	if !r.job("sweep").Late {
		t.Error("nobody decides, and it is not late")
	}
	r.look()
	postgrestest.Exec(t, r.source, `UPDATE platform.internal_commands SET next_attempt_on = now() - interval '2 minutes'`)
	if !r.job("sweep").Late {
		t.Error("nobody runs its command, and it is not late")
	}
	r.work()
	if r.job("sweep").Late {
		t.Error("late, though it has run")
	}
	fewer := n.replica(t, func(s *schedule.Schedule) { s.Register("sweep", "0 3 * * *", sweep{}) })
	fewer.due("tally", "1 second")
	fewer.look()
	if j := fewer.job("tally"); j.Problem == nil || len(fewer.runs("tally")) != 0 {
		t.Errorf("a job that only an older version knows: %+v", j)
	}
}

func TestMistakesInTheProgramPanic(t *testing.T) {
	t.Parallel()
	for name, register := range map[string]jobsOf{
		"a name taken": func(s *schedule.Schedule) {
			s.Register("sweep", "@daily", sweep{})
			s.Register("sweep", "@daily", sweep{})
		},
		"no name":            func(s *schedule.Schedule) { s.Register("Sweep it", "@daily", sweep{}) },
		"a bad expression":   func(s *schedule.Schedule) { s.Register("sweep", "0 0 31 2 *", sweep{}) },
		"a zone that is not": func(s *schedule.Schedule) { s.Register("sweep", "@daily", sweep{}, schedule.In("Local")) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			newNetwork(t).unstarted(t, register)
		}()
	}
}
