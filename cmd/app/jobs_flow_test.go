package main

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/plenary/platform/later/schedule"
	"example.com/plenary/platform/postgres/postgrestest"
)

const sweep = "sales.reconcile_payments"

// due plans the sweep of Sales for a moment from now, or some time ago, behind the back of every clock. Its own next
// instant is far away.
func (w *world) due(from string) {
	w.t.Helper()
	postgrestest.Exec(w.t, w.sales, `UPDATE platform.jobs SET next_run_on = now() + $2::interval,
		operator_cron = to_char(now() + interval '12 hours', '"0" HH24 "* * *"') WHERE name = $1`, sweep, from)
}

func (w *world) sweeps(condition string) int {
	w.t.Helper()
	return postgrestest.Value[int](w.t, w.sales, `SELECT count(*) FROM platform.job_runs r LEFT JOIN platform.internal_commands c ON c.id = r.command_id
		WHERE r.job = 'sales.reconcile_payments' AND `+condition)
}

// What an operator says to one replica holds at once on the others: their timers move, though nothing polls.
func TestAnOverrideOnOneReplicaMovesTheTimerOfTheOther(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		web := w.start("PROCESS_ROLE", "web") // which has no clock of its own
		w.start("PROCESS_ROLE", "worker")
		admin := web.as("ada@example.com")
		var changed schedule.Job
		admin.do("PATCH", "/ops/jobs/"+sweep, map[string]any{"cron": "0 4 * * *", "timeZone": "Asia/Kolkata", "reason": "rare"}, 200, &changed)
		if changed.CronSource != "operator" || changed.NextRunOn == nil || changed.NextRunOn.UTC().Format("15:04") != "22:30" {
			t.Errorf("%+v", changed)
		}
		w.due("300 ms")
		admin.do("PATCH", "/ops/jobs/"+sweep, map[string]any{"reason": "the timer is armed anew"}, 200, nil)
		w.within("the run on the other replica", func() bool { return w.sweeps(`c.processed_on IS NOT NULL`) == 1 })

		var back schedule.Job
		admin.do("PATCH", "/ops/jobs/"+sweep, map[string]any{"cron": nil, "timeZone": nil}, 200, &back)
		if back.CronSource != "configuration" || back.TimeZone != "UTC" {
			t.Errorf("%+v", back)
		}
	})
}

func TestTwoReplicasRunAnOccurrenceOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		one, two := w.start(), w.start()
		for n := range 3 {
			w.due("300 ms")
			for i := range one.app.clocks {
				one.app.clocks[i].Wake()
				two.app.clocks[i].Wake()
			}
			w.within("the run", func() bool { return w.sweeps(`c.processed_on IS NOT NULL`) == n+1 })
		}
		if n := w.sweeps(`true`); n != 3 {
			t.Errorf("three occurrences, %d records", n)
		}
	})
}

// kill -9 while a job runs: it is taken up again, and what it does in a transaction is there once.
func TestKilledInTheMiddleOfAJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	p := w.spawn()
	o := p.as("alice@example.com").order(1, "tok_declined")
	w.within("quiet", w.settled)
	postgrestest.Exec(t, w.sales, `DELETE FROM platform.internal_commands`)
	postgrestest.Exec(t, w.sales, `UPDATE sales.orders SET expires_on = now() - interval '2 hours'`)
	before := w.available("conference-pass")
	trap := w.set("sales.orders", "UPDATE", "NEW.status = 'expired'")
	w.due("300 ms")
	p.as("ada@example.com").do("PATCH", "/ops/jobs/"+sweep, map[string]any{"reason": "now"}, 200, nil)
	trap.caught()
	p.kill()
	trap.end()
	trap.remove()
	p = w.spawn()
	w.within("the second attempt", func() bool { return w.sweeps(`c.processed_on IS NOT NULL`) == 1 })
	if got := p.as("alice@example.com").show(o.ID); got.Status != "expired" || w.available("conference-pass") != before+1 {
		t.Errorf("%s, %d tickets available, %d before", got.Status, w.available("conference-pass"), before)
	}
	if n := w.sweeps(`true`); n != 1 {
		t.Errorf("%d runs", n)
	}
}

// The process is away from before an instant until after it, and comes back under load of its own making.
func TestRestartOverAnInstant(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	w.start().stop()
	w.due("-1 minute")
	for range 2 {
		r := w.start()
		w.within("the run", func() bool { return w.sweeps(`c.processed_on IS NOT NULL`) == 1 })
		r.stop()
	}
	if n := w.sweeps(`true`); n != 1 {
		t.Errorf("%d runs", n)
	}
}

func TestRunNowIsOneRunUnderOneKey(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		r := w.start("PROCESS_ROLE", "web")
		operator := r.as("olivia@example.com")
		var group sync.WaitGroup
		answers := make([]string, 10)
		for i := range answers {
			group.Go(func() {
				status, _, answer, err := operator.try("POST", "/ops/jobs/"+sweep+"/runs", map[string]string{"reason": "once"}, "Idempotency-Key", "one-run-please")
				if err != nil || status != 202 && !strings.Contains(string(answer), "in_progress") {
					t.Errorf("%d %s %v", status, answer, err)
				}
				if status == 202 {
					answers[i] = string(answer)
				}
			})
		}
		group.Wait()
		for _, a := range answers {
			if a != "" && a != answers[0] && answers[0] != "" {
				t.Errorf("one key, two answers: %s and %s", a, answers[0])
			}
		}
		if n := w.sweeps(`r.trigger = 'manual'`); n != 1 {
			t.Errorf("%d runs", n)
		}
		if status, _, answer, _ := operator.try("POST", "/ops/jobs/"+sweep+"/runs", map[string]string{}); status != 409 {
			t.Errorf("while it runs: %d %s", status, answer)
		}
	})
}

func TestJobsFromTheCommandLine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	w.start()
	do := func(want string, args ...string) {
		t.Helper()
		var out bytes.Buffer
		if err := run(t.Context(), append([]string{"ops", "jobs"}, args...), w.environ, &out, t.Output()); err != nil {
			out.WriteString(err.Error())
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("app ops jobs %s: no %q in\n%s", strings.Join(args, " "), want, &out)
		}
	}
	defer slog.SetDefault(slog.Default())
	do("@yearly")
	do("paused", "pause", sweep, "for", "the", "night")
	do("0 4 * * *  Europe/Berlin  operator  paused", "set", sweep, "0 4 * * *", "Europe/Berlin")
	do("never", "set", sweep, "0 0 30 2 *")
	do("configuration", "reset", sweep)
	do("command", "run", sweep, "to see it run")
	w.within("the run", func() bool {
		return w.sweeps(`c.processed_on IS NOT NULL AND r.requested_by = 'system:command-line'`) == 1
	})
	do("succeeded", "show", sweep)
	do("there is no", "show", "nothing")
	do("usage", "dance", sweep)
	do("usage", "set", sweep)
	if next := postgrestest.Value[time.Time](t, w.sales, `SELECT next_run_on FROM platform.jobs WHERE name = $1`, sweep); !next.After(time.Now()) {
		t.Errorf("the next run is on %v", next)
	}
}
