package schedule_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/plenary/platform/devpg/pgtest"
	"example.com/plenary/platform/later/schedule"
	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/postgres/postgrestest"
)

func TestRunsAtItsInstantThoughThePollIsAnHour(t *testing.T) {
	t.Parallel()
	r := newNetwork(t).replica(t, nightly)
	done := make(chan time.Time, 1)
	r.onSweep = func(ctx context.Context, tx *postgres.Tx) error {
		var now time.Time
		err := tx.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&now)
		done <- now
		return err
	}
	planned := postgrestest.Value[time.Time](t, r.source, `UPDATE platform.jobs SET next_run_on = now() + '1 second' WHERE name = 'sweep' RETURNING next_run_on`)
	r.run()
	if at := <-done; at.Before(planned) {
		t.Errorf("it ran at %v, before %v", at, planned)
	}
	if run := r.runs("sweep")[0]; !run.Occurrence.Equal(planned) || run.Trigger != "schedule" {
		t.Errorf("recorded as %+v, planned for %v", run, planned)
	}
	if next := r.job("sweep").NextRunOn; next == nil || next.UTC().Hour() != 3 || !next.After(planned) {
		t.Errorf("the next run is on %v", next)
	}
}

func TestReplicasDecideAnOccurrenceOnce(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	replicas := []*replica{n.replica(t, nightly), n.replica(t, nightly), n.replica(t, nightly)}
	for range 5 {
		replicas[0].due("sweep", "1 second")
		var all sync.WaitGroup
		for _, r := range replicas {
			all.Go(func() { _, _ = r.clock.RunOnce(context.Background()) })
			all.Go(func() { r.clock.Wake(); _, _ = r.clock.RunOnce(context.Background()) })
		}
		all.Wait()
		for _, r := range replicas {
			r.work()
		}
	}
	if n, swept := len(replicas[0].runs("sweep")), replicas[0].swept(); n != 5 || swept != 5 {
		t.Errorf("five occurrences: %d runs, %d sweeps", n, swept)
	}
	if by := postgrestest.Value[string](t, replicas[0].source, `SELECT DISTINCT by FROM shop.swept`); by != schedule.Principal.ID {
		t.Errorf("they ran as %q", by)
	}
}

// The process was down from 02:59 to 03:01, and comes back as the same version or as a new one.
func TestRestartNeitherSkipsNorRepeats(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	n.replica(t, nightly).due("sweep", "1 minute")
	for range 3 {
		r := n.replica(t, nightly)
		r.look()
		r.work()
	}
	r := n.replica(t, nightly)
	if got := r.outcomes("sweep"); got != "succeeded " || r.swept() != 1 {
		t.Errorf("runs: %s, sweeps: %d", got, r.swept())
	}
}

func TestWindowsThatWereMissed(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	r := n.replica(t, func(s *schedule.Schedule) {
		s.Register("sweep", "*/10 * * * *", sweep{}, schedule.Missed(schedule.Once))
		s.Register("tally", "0 * * * *", tally{}, schedule.Missed(schedule.Skip))
		s.Register("daily", "@every 24h", tally{}, schedule.Missed(schedule.Skip))
	})
	// Six hours ago, on the dot of the calendar; and one that is late by less than Grace.
	postgrestest.Exec(t, r.source, `UPDATE platform.jobs SET next_run_on = date_trunc('hour', now()) - interval '6 hours' WHERE name <> 'daily'`)
	r.due("daily", "4 minutes")
	hour := postgrestest.Value[bool](t, r.source, `SELECT now() - date_trunc('hour', now()) > interval '5 minutes'`)
	r.look()
	r.work()
	if got := r.outcomes("sweep"); got != "skipped succeeded " {
		t.Errorf("once: %s", got)
	}
	if skipped := r.runs("sweep")[1]; skipped.Windows < 36 || skipped.Windows > 42 || skipped.Error == nil {
		t.Errorf("once: %+v", skipped)
	}
	if late := time.Since(r.runs("sweep")[0].Occurrence); late > 10*time.Minute+schedule.Grace {
		t.Errorf("once: the one that ran is %v old", late)
	}
	if got := r.outcomes("tally"); hour && (got != "skipped " || r.runs("tally")[0].Windows != 7) {
		t.Errorf("skip: %s", got)
	}
	if got := r.outcomes("daily"); got != "succeeded " {
		t.Errorf("skip, late by less than Grace: %s", got)
	}
	r.look()
	if n := len(r.runs("sweep")); n != 2 {
		t.Errorf("looking again made it %d records", n)
	}
}

func TestWindowThatComesWhileAnEarlierRunGoesOn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		overlap schedule.Overlap
		want    string
	}{{schedule.SkipWhileRunning, "- skipped "}, {schedule.RunAlongside, "- - "}} {
		r := newNetwork(t).replica(t, func(s *schedule.Schedule) { s.Register("sweep", "0 3 * * *", sweep{}, schedule.Overlapping(c.overlap)) })
		r.due("sweep", "2 seconds")
		r.look()
		// The first run has failed once and waits for another attempt: it goes on.
		r.onSweep = func(context.Context, *postgres.Tx) error { return errBroken }
		r.work()
		r.due("sweep", "1 second")
		r.look()
		if got := r.outcomes("sweep"); got != c.want {
			t.Errorf("%s: %s", c.overlap, got)
		}
	}
}

func TestAJobThatCannotBeStartedHarmsNoOther(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	r := n.replica(t, nightly)
	superuser := postgrestest.Connect(t, postgres.Config{URL: pgtest.AsSuperuser(t, n.url)}).Source("super")
	postgrestest.Exec(t, superuser, `ALTER TABLE platform.internal_commands ADD CONSTRAINT broken CHECK (name <> 'shop.sweep') NOT VALID`)
	r.due("sweep", "2 seconds")
	r.due("tally", "1 second")
	if wait := r.look(); wait > time.Second {
		t.Errorf("it waits for %v before it tries again", wait)
	}
	if sweeps, tallies := len(r.runs("sweep")), len(r.runs("tally")); sweeps != 0 || tallies != 1 {
		t.Errorf("%d sweeps, %d tallies", sweeps, tallies)
	}
	postgrestest.Exec(t, superuser, `ALTER TABLE platform.internal_commands DROP CONSTRAINT broken`)
	r.look()
	r.work()
	if r.swept() != 1 {
		t.Errorf("swept %d times once it was mended", r.swept())
	}
}

func TestARowThatHasGoneBadIsParked(t *testing.T) {
	t.Parallel()
	r := newNetwork(t).replica(t, nightly)
	for _, bad := range []string{"0 0 30 2 *", "TZ=UTC", "@every -1m", "* * * *"} {
		postgrestest.Exec(t, r.source, `UPDATE platform.jobs SET operator_cron = $1, problem = NULL, next_run_on = now() - interval '1 second' WHERE name = 'sweep'`, bad)
		r.due("tally", "1 second")
		before := len(r.runs("tally"))
		if wait := r.look(); wait < time.Minute {
			t.Errorf("%s: it looks again in %v", bad, wait)
		}
		r.work()
		if j := r.job("sweep"); j.NextRunOn != nil || j.Problem == nil || len(r.runs("sweep")) != 0 {
			t.Errorf("%s: %+v", bad, j)
		}
		if n := len(r.runs("tally")); n != before+1 {
			t.Errorf("%s: its neighbour has %d runs", bad, n)
		}
	}
	none := ""
	if _, mended, err := r.alter("sweep", schedule.Change{Cron: &none}); err != nil || mended.Problem != nil || mended.NextRunOn == nil {
		t.Errorf("taken back: %+v, %v", mended, err)
	}
}

// The clock was eight hours ahead for a while, and a run took place under it.
func TestClockThatIsPutRight(t *testing.T) {
	t.Parallel()
	r := newNetwork(t).replica(t, func(s *schedule.Schedule) { s.Register("sweep", "0 * * * *", sweep{}) })
	postgrestest.Exec(t, r.source, `
		INSERT INTO platform.job_runs (id, job, occurrence, trigger, command_id, outcome)
		VALUES (gen_random_uuid(), 'sweep', date_trunc('hour', now()), 'schedule', gen_random_uuid(), 'succeeded')`)
	postgrestest.Exec(t, r.source, `UPDATE platform.jobs SET next_run_on = date_trunc('hour', now()) + interval '9 hours'`)
	if wait := r.look(); wait > time.Hour {
		t.Errorf("it waits for %v", wait)
	}
	if next := time.Until(*r.job("sweep").NextRunOn); next > time.Hour {
		t.Errorf("the next run is in %v", next)
	}
	postgrestest.Exec(t, r.source, `UPDATE platform.jobs SET next_run_on = date_trunc('hour', now())`)
	r.look()
	if next := r.job("sweep").NextRunOn; !next.After(time.Now()) {
		t.Errorf("it is stuck at an occurrence that had run: %v", next)
	}
	if got := r.outcomes("sweep"); !strings.HasSuffix(got, "succeeded ") || strings.Count(got, "-") != 0 {
		t.Errorf("an occurrence that had run was started again: %s", got)
	}
}

func TestOutcomesAreSettled(t *testing.T) {
	t.Parallel()
	r := newNetwork(t).replica(t, nightly)
	r.due("sweep", "1 second")
	r.look()
	r.onSweep = func(context.Context, *postgres.Tx) error { return errBroken }
	for range 2 {
		postgrestest.Exec(t, r.source, `UPDATE platform.internal_commands SET next_attempt_on = now()`)
		r.work()
	}
	r.look()
	failed := r.runs("sweep")[0]
	if r.outcomes("sweep") != "failed " || failed.Error == nil || failed.StartedOn == nil || failed.FinishedOn == nil {
		t.Fatalf("%+v", failed)
	}
	// An operator gives the dead letter another life, and later on its command is purged.
	r.onSweep = nil
	postgrestest.Exec(t, r.source, `UPDATE platform.internal_commands SET dead_lettered_on = NULL, next_attempt_on = now(), attempts = 0`)
	r.work()
	r.look()
	postgrestest.Exec(t, r.source, `DELETE FROM platform.internal_commands`)
	if r.outcomes("sweep") != "succeeded " || *r.job("sweep").LastOutcome != "succeeded" || r.job("sweep").LastDurationMs == nil {
		t.Errorf("%+v", r.runs("sweep")[0])
	}
	for _, c := range []struct {
		age  time.Duration
		want int
	}{{time.Hour, 0}, {0, 1}} {
		err := r.source.InTx(t.Context(), func(ctx context.Context, tx *postgres.Tx) error {
			gone, err := schedule.PurgeRuns(ctx, tx, c.age, 10)
			if gone != c.want {
				t.Errorf("runs older than %v: %d have gone", c.age, gone)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}
