package main

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"example.com/plenary/platform/later/schedule"
)

// Whoever changes a schedule sees here what it means. `make docs` writes the file anew.
func TestReferenceNextOccurrencesOfEachJob(t *testing.T) {
	t.Parallel()
	app := wiredForDemo(t)
	from := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	var text strings.Builder
	for _, name := range app.jobs.Names() {
		calendar := app.jobs.Calendar(name)
		fmt.Fprintf(&text, "%s: %s (%s, %s)\n", name, calendar, calendar.Words(), calendar.Zone())
		for _, at := range calendar.NextN(from, 5) {
			fmt.Fprintf(&text, "  %s\n", at.Format(time.RFC3339))
		}
	}
	const golden = "testdata/jobs.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || text.String() != string(want) {
		t.Errorf("the jobs are\n%s\nnot as in %s (%v)", &text, golden, err)
	}
}

func TestJobSchedulesAreRead(t *testing.T) {
	t.Parallel()
	var got jobSchedules
	if err := got.UnmarshalText([]byte("a=0 4 * * * Europe/Berlin; b=@every 30m;c=@daily Asia/Tokyo ; d=1 2 3 4 5")); err != nil {
		t.Fatal(err)
	}
	want := jobSchedules{{"a", "0 4 * * *", "Europe/Berlin"}, {"b", "@every 30m", ""}, {"c", "@daily", "Asia/Tokyo"}, {"d", "1 2 3 4 5", ""}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v", got)
	}
	for _, bad := range []string{"a", "a=", "a=* * *", "a=@every", "a=* * * * * Europe/Berlin x"} {
		if err := new(jobSchedules).UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	for _, bad := range []string{"audit-trail-cleanup=0 0 30 2 *", "nothing=@daily", "finished-work-cleanup=@daily Mars/Olympus"} {
		config, err := readConfig(map[string]string{"JOB_SCHEDULES": bad, "HTTP_ADDR": "127.0.0.1:0", "DATABASE_URL": "postgres://nobody@127.0.0.1:1/none"})
		if err != nil {
			t.Fatal(err)
		}
		if app, err := New(t.Context(), config, slog.New(slog.DiscardHandler)); err == nil {
			app.closeUnstarted()
			t.Errorf("the program starts with %s", bad)
		}
	}
}

// A command that the clock starts runs as the clock, who holds no role: it must need no permission.
func TestJobsNeedNoPermission(t *testing.T) {
	t.Parallel()
	app := wiredForDemo(t)
	for _, name := range app.jobs.Names() {
		info, ok := app.pipeline.Lookup(app.jobs.Command(name))
		if !ok || (info.Policy.Permission != "" && !app.permissions.Allows(schedule.Principal, info.Policy.Permission)) {
			t.Errorf("%s: its command %+v is refused to the clock", name, info.Policy)
		}
	}
}
