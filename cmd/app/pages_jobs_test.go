package main

import (
	"net/http"
	"strings"
	"testing"

	"example.com/plenary/platform/postgres/postgrestest"
)

const jobPage = "/ops/jobs/" + sweep

// says fails unless the page has a status and some words.
func (b *browser) says(p shown, status int, words ...string) {
	b.t.Helper()
	for _, want := range words {
		if !strings.Contains(p.words(), want) {
			b.t.Errorf("%s does not say %q:\n%s", p.path, want, p.words())
		}
	}
	if p.status != status {
		b.t.Errorf("%s: %d, want %d", p.path, p.status, status)
	}
}

func (w *world) alterations() int {
	w.t.Helper()
	return postgrestest.Value[int](w.t, w.sales, `SELECT count(*) FROM platform.audit_entries WHERE entity_key = $1`, sweep)
}

// What an administrator does to a job, without script: each form once, and the page says what came of it.
func TestJobInTheBrowser(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		ada := w.site().browse(t).be("ada@example.com")
		ada.says(ada.get(jobPage), http.StatusOK, "On time", "at 00:00 on 1 January", "@yearly UTC, from the configuration", "No runs yet")

		paused := ada.submit(ada.get(jobPage), "/pause", "reason", "for the <night>")
		ada.says(paused, http.StatusOK, "Paused.", "none, while it is paused", "by Ada Admin: “for the <night>”", "Resume the job")
		ada.says(ada.get("/ops/jobs"), http.StatusOK, sweep+" Paused “for the <night>” by Ada Admin")

		ran := ada.submit(paused, "/runs", "reason", "to see it")
		ada.says(ran, http.StatusOK, "Started out of turn.", "Ada Admin “to see it”")
		w.within("the run", func() bool { return strings.Contains(ada.get(jobPage).words(), "Succeeded Ada Admin “to see it”") })
		for link := range ada.get(jobPage).all("a") {
			if strings.HasPrefix(link.attr("href"), "/ops/commands/") {
				ada.says(ada.get(link.attr("href")), http.StatusOK, sweep, "Succeeded")
			}
		}
		ada.says(ada.submit(ran, "/resume"), http.StatusOK, "Resumed.", "On time")

		seen := ada.get(jobPage + "?cron=0+4+*+*+MON&timeZone=Asia%2FKolkata&reason=rare")
		ada.says(seen, http.StatusOK, "It would run next", "Mondays at 04:00, Asia/Kolkata", "@yearly UTC, from the configuration")
		if n := strings.Count(seen.raw, "04:00 IST"); n != 5 {
			t.Errorf("%d instants", n)
		}
		changed := ada.submit(seen, "/schedule")
		ada.says(changed, http.StatusOK, "The schedule is changed", "0 4 * * MON Asia/Kolkata, from an operator", ": “rare”", "Which is @yearly in UTC.")
		before := w.alterations()
		ada.says(ada.submit(seen, "/schedule"), http.StatusOK, "The schedule is changed") // the same form, by a second press
		if n := w.alterations(); n != before {
			t.Errorf("a form that was sent twice changed the job %d times more", n-before)
		}
		ada.says(ada.submit(changed, "/reset"), http.StatusOK, "The schedule is the program's again.", "@yearly UTC, from the configuration")
	})
}

// What is wrong is said where it is wrong, what was typed is kept, and nothing changes.
func TestJobFormErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	ada := w.site().browse(t).be("ada@example.com")
	long := strings.Repeat("x", 501)
	for name, c := range map[string]struct {
		form    string
		changes []string
		status  int
		field   string // whose error it is; "" for the form's
		says    string
	}{
		"cron":          {"/schedule", []string{"cron", "61 * * * *", "reason", "typed"}, http.StatusBadRequest, "cron", "The minute is not valid"},
		"never":         {"/schedule", []string{"cron", "0 5 30 2 *", "reason", "typed"}, http.StatusBadRequest, "cron", ""},
		"no cron":       {"/schedule", []string{"cron", " ", "reason", "typed"}, http.StatusBadRequest, "cron", "Must not be empty."},
		"zone":          {"/schedule", []string{"timeZone", "Mars/Olympus", "reason", "typed"}, http.StatusBadRequest, "timeZone", "not one of the IANA names"},
		"no zone":       {"/schedule", []string{"timeZone", "", "reason", "typed"}, http.StatusBadRequest, "timeZone", "Must not be empty"},
		"a file":        {"/schedule", []string{"timeZone", "../../etc/passwd", "reason", "typed"}, http.StatusBadRequest, "timeZone", ""},
		"reason":        {"/schedule", []string{"cron", "0 5 * * *", "reason", long}, http.StatusBadRequest, "", "must have at most 500 characters"},
		"pause, reason": {"/pause", []string{"reason", long}, http.StatusBadRequest, "", "must have at most 500 characters"},
		"run, reason":   {"/runs", []string{"reason", long}, http.StatusBadRequest, "", "The reason must have at most 500 characters."},
		"no key":        {"/pause", []string{"key", "", "reason", "typed"}, http.StatusBadRequest, "", "The form is not complete"},
		"no text":       {"/pause", []string{"reason", "a\x00b"}, http.StatusBadRequest, "", ""},
	} {
		p := ada.submit(ada.get(jobPage), c.form, c.changes...)
		ada.says(p, c.status, c.says)
		_, kept := ada.fill(p, c.form)
		for i := 0; i < len(c.changes); i += 2 {
			if field, value := c.changes[i], c.changes[i+1]; field != "key" && !strings.ContainsAny(value, "\x00") && kept.Get(field) != strings.TrimSpace(value) {
				t.Errorf("%s: %s is %q, %q was typed", name, field, kept.Get(field), value)
			}
		}
		for input := range p.all("input") {
			if id := input.attr("id"); input.has("aria-invalid") != (id == c.field) && c.field != "" {
				t.Errorf("%s: the field %s is marked: %t", name, id, input.has("aria-invalid"))
			}
		}
	}
	if n := w.alterations(); n != 0 {
		t.Errorf("%d changes", n)
	}
	ada.says(ada.get(jobPage+"?cron=61&timeZone=UTC"), http.StatusOK, "A schedule has five fields", "Nothing can be said about that schedule.")
	ada.says(ada.get(jobPage+"?cron=%ff&timeZone=%00"), http.StatusOK, "Nothing can be said about that schedule.")
	ada.says(ada.get("/ops/jobs/no-such-job"), http.StatusNotFound, "Nothing is here")

	ada.submit(ada.get(jobPage), "/runs")
	w.within("the run", func() bool { return w.sweeps(`c.processed_on IS NOT NULL`) == 1 })
	postgrestest.Exec(t, w.sales, `UPDATE platform.internal_commands SET processed_on = NULL, next_attempt_on = now() + interval '1 hour', last_error = 'not yet'
		WHERE name = 'sales.reconcile_payments'`)
	postgrestest.Exec(t, w.sales, `UPDATE platform.job_runs SET outcome = NULL, finished_on = NULL`)
	busy := ada.submit(ada.get(jobPage), "/runs", "reason", "hurry")
	ada.says(busy, http.StatusConflict, "An earlier run of the job has not ended.", "Retrying")
	if _, kept := ada.fill(busy, "/runs"); kept.Get("reason") != "hurry" {
		t.Errorf("kept: %v", kept)
	}
}

// Each role sees what it could do if it were another one, and is refused by the server as well.
func TestWhoMayDoWhatToAJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	r := w.site()
	ada := r.browse(t).be("ada@example.com")
	ada.submit(ada.get(jobPage), "/schedule", "cron", "0 5 * * *")
	for who, may := range map[string]map[string]bool{
		"viktor@example.com": {},
		"olivia@example.com": {"/runs": true},
		"ada@example.com":    {"/runs": true, "/pause": true, "/schedule": true, "/reset": true},
	} {
		b := r.browse(t).be(who)
		for _, action := range []string{"/runs", "/schedule", "/reset", "/pause"} {
			page := b.get(jobPage)
			form, values := b.fill(page, action)
			disabled := false
			for button := range form.all("button") {
				disabled = disabled || button.has("disabled")
			}
			if disabled == may[action] {
				t.Errorf("%s: the button of %s is disabled: %t", who, action, disabled)
			}
			if may[action] {
				continue
			}
			b.says(page, http.StatusOK, "you cannot do this: it needs ops:")
			if p := b.do(http.MethodPost, form.attr("action"), values, page.path); p.status != http.StatusForbidden {
				t.Errorf("%s: %s: %d", who, action, p.status)
			}
		}
	}
}

// What no program of today can run is shown, and left alone; what was missed is counted.
func TestJobStatesInTheBrowser(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	viktor := w.site().browse(t).be("viktor@example.com")
	postgrestest.Exec(t, w.sales, `INSERT INTO platform.jobs (name, source, command, cron, time_zone, cron_source, catch_up, overlap)
		VALUES ('sales.old_report', 'sales', 'sales.report', '0 5 * * *', 'UTC', 'configuration', 'skip', 'allow')`)
	postgrestest.Exec(t, w.sales, `INSERT INTO platform.job_runs (id, job, occurrence, trigger, windows, outcome, error)
		VALUES (gen_random_uuid(), $1, now(), 'schedule', 29, 'skipped', 'nobody was <there>')`, sweep)
	postgrestest.Exec(t, w.sales, `INSERT INTO platform.job_runs (id, job, occurrence, trigger, command_id, outcome, started_on, finished_on, error)
		SELECT gen_random_uuid(), $1, now() - n * interval '1 hour', 'schedule', gen_random_uuid(), 'failed', now(), now(), 'it broke' FROM generate_series(1, 30) n`, sweep)
	list := viktor.get("/ops/jobs")
	viktor.says(list, http.StatusOK, "sales.old_report Parked this version of the program has no such job", "UTC, from the configuration", "Failed")
	old := viktor.get("/ops/jobs/sales.old_report")
	viktor.says(old, http.StatusOK, "Parked This version of the program has no such job.", "it is not made up for")
	for form := range old.all("form") {
		if strings.HasPrefix(form.attr("action"), "/ops/") {
			t.Errorf("a form for %s", form.attr("action"))
		}
	}
	seen := ""
	for address := jobPage; address != ""; {
		p := viktor.get(address)
		seen += p.words()
		address = ""
		for a := range p.all("a") {
			if a.attr("rel") == "next" {
				address = a.attr("href")
			}
		}
	}
	if n := strings.Count(seen, "it broke"); n != 30 || !strings.Contains(seen, "Skipped 29 windows, from then on") || !strings.Contains(seen, "nobody was <there>") {
		t.Errorf("%d failed runs on all pages: %s", n, seen)
	}
	postgrestest.Exec(t, w.sales, `DELETE FROM platform.jobs`)
	viktor.says(viktor.get("/ops/jobs"), http.StatusOK, "No jobs yet")
}
