package schedule_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/plenary/platform/later/schedule"
	"example.com/plenary/platform/telemetry"
)

func TestWhatIsMeasured(t *testing.T) {
	t.Parallel()
	r := newNetwork(t).replica(t, nightly)
	measured, err := telemetry.Start(t.Context(), telemetry.Config{Service: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = measured.Shutdown(context.Background()) })
	r.clock = r.jobs.NewClock(schedule.ClockConfig{Database: r.source.Database(), Meter: measured.Meter("schedule")})
	r.due("sweep", "2 days") // two windows are missed, and one runs
	r.look()
	r.work()
	if _, err := r.runNow("tally"); err != nil {
		t.Fatal(err)
	}
	r.work()
	r.look()
	r.look() // nothing is counted twice
	answer := httptest.NewRecorder()
	measured.Handler().ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	for _, line := range []string{
		`scheduler_job_runs_total{job="sweep",outcome="succeeded"} 1`, `scheduler_job_runs_total{job="sweep",outcome="skipped"} 2`,
		`scheduler_job_runs_total{job="tally",outcome="succeeded"} 1`, `scheduler_job_duration_seconds_count{job="sweep"} 1`,
		`scheduler_job_duration_seconds_count{job="tally"} 1`, `scheduler_job_lag_seconds_count{job="sweep"} 1`,
	} {
		if !strings.Contains(answer.Body.String(), line+"\n") {
			t.Errorf("no %s in\n%s", line, answer.Body)
		}
	}
	if strings.Contains(answer.Body.String(), `scheduler_job_lag_seconds_count{job="tally"}`) {
		t.Error("a manual run, which nothing was planned for, has a lag")
	}
}
