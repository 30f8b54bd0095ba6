package web

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"example.com/plenary/platform/audit"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/later/schedule"
)

func TestRelativeTimes(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	for away, want := range map[time.Duration]string{
		0:                          "in less than a minute",
		59 * time.Second:           "in less than a minute",
		-time.Second:               "less than a minute ago",
		time.Minute:                "in 1 minute",
		-89 * time.Minute:          "89 minutes ago",
		90 * time.Minute:           "in 1 hour",
		-35 * time.Hour:            "35 hours ago",
		36*time.Hour - time.Second: "in 35 hours",
		36 * time.Hour:             "in 1 day",
		-400 * 24 * time.Hour:      "400 days ago",
	} {
		if got := relative(now.Add(away), now); got != want {
			t.Errorf("%v: %q, want %q", away, got, want)
		}
	}
}

func TestJobsAndRunsHaveWords(t *testing.T) {
	t.Parallel()
	next := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	for want, j := range map[string]schedule.Job{
		"Parked":    {Enabled: true, Late: true, NextRunOn: &next, Problem: new("broken")},
		"Paused":    {Late: true},
		"Late":      {Enabled: true, Late: true, NextRunOn: &next},
		"On time":   {Enabled: true, NextRunOn: &next},
		"Never due": {Enabled: true},
	} {
		if got := jobBadge(j).Word; got != want {
			t.Errorf("%+v: %q, want %q", j, got, want)
		}
	}
	for want, r := range map[string]schedule.Run{
		"Waiting":   {},
		"Running":   {StartedOn: &next},
		"Retrying":  {StartedOn: &next, Error: new("once")},
		"Succeeded": {StartedOn: &next, FinishedOn: &next, Outcome: new("succeeded")},
		"Failed":    {Outcome: new("failed"), Error: new("thrice")},
		"Skipped":   {Outcome: new("skipped"), Error: new("too late")},
		"new":       {Outcome: new("new")},
	} {
		if got := runBadge(r).Word; got != want {
			t.Errorf("%+v: %q, want %q", r, got, want)
		}
	}
	for _, source := range []string{"code", "configuration", "operator"} {
		if fromWords(source) == source {
			t.Errorf("no words for %s", source)
		}
	}
	if at := inZone(next, "Asia/Kolkata"); zoned(at) != "Tue 1 Dec 2026, 17:30 IST" {
		t.Error(zoned(at))
	}
	if at := inZone(next, "Mars/Olympus"); zoned(at) != "Tue 1 Dec 2026, 12:00 UTC" {
		t.Error(zoned(at))
	}
}

// The night in which the clocks go back, by the clocks of who plans.
func TestPreviewIsInTheZone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Now = func() time.Time { return time.Date(2026, 10, 24, 12, 0, 0, 0, time.UTC) }
	r := httptest.NewRequest(http.MethodGet, "/ops/jobs/a?"+url.Values{"cron": {" 30 2 * * * "}, "timeZone": {"Europe/Berlin"}}.Encode(), nil)
	form, p := s.preview(r, schedule.Job{Cron: "0 3 * * *", TimeZone: "UTC"}, jobForm{})
	if len(form.Fields) != 0 || !p.Asked || p.Words != "every day at 02:30" || len(p.Next) != previewed {
		t.Fatalf("%+v %+v", form, p)
	}
	if first, second := zoned(p.Next[0]), zoned(p.Next[1]); first != "Sun 25 Oct 2026, 02:30 CEST" || second != "Mon 26 Oct 2026, 02:30 CET" {
		t.Errorf("%s, then %s", first, second)
	}
}

func TestOperationsAndValuesHaveWords(t *testing.T) {
	t.Parallel()
	for _, op := range []audit.Operation{audit.OperationAdded, audit.OperationModified, audit.OperationDeleted, audit.OperationPerformed} {
		if operationBadge(op).Word == string(op) {
			t.Errorf("no word for %s", op)
		}
	}
	for value, want := range map[string]property{
		"":               {None: true},
		"null":           {Text: "null", None: true},
		`"null"`:         {Text: `"null"`},
		`"[REDACTED]"`:   {Text: `"[REDACTED]"`, Redacted: true},
		`["[REDACTED]"]`: {Text: `["[REDACTED]"]`},
	} {
		if got := propertyOf(json.RawMessage(value)); got != want {
			t.Errorf("%s: %+v", value, got)
		}
	}
}

func TestMomentsAreReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                          "",
		"2026-12-01T09:30":          "2026-12-01T09:30",
		"2026-12-01T09:30:59":       "2026-12-01T09:30",
		"2026-12-01":                "2026-12-01T00:00",
		"2026-12-01T09:30:00+02:00": "2026-12-01T07:30",
		"2026-12-01T09:30:00.5Z":    "2026-12-01T09:30",
		"yesterday":                 "error",
		"2026-13-01":                "error",
	} {
		var v fault.Violations
		_, got := auditData{Asked: url.Values{"from": {text}}}.moment("from", &v)
		if v.Err() != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
