package ops_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/platform/audit"
	"example.com/plenary/platform/devpg/pgtest"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/later/channel"
	"example.com/plenary/platform/later/schedule"
	"example.com/plenary/platform/ops"
	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/postgres/postgrestest"
)

func runNow(h *house, path string, request body) schedule.Run {
	h.t.Helper()
	return decode[schedule.Run](h.t, h.ask("operator", "POST", path, encode(h.t, request)), http.StatusAccepted)
}

func TestJobsOfAllDatabasesAreListed(t *testing.T) {
	onBoth(t, func(t *testing.T, h *house) {
		names := ""
		for _, j := range get[httpx.Page[schedule.Job]](h, "/jobs").Items {
			names += j.Name + " "
		}
		if names != "desk.note expired-keys-cleanup finished-work-cleanup shop.note " {
			t.Error(names)
		}
		run := runNow(h, "/jobs/desk.note/runs", body{"reason": "to see it"})
		h.drain()
		runs := get[httpx.Page[schedule.Run]](h, "/jobs/desk.note/runs").Items
		if len(runs) != 1 || runs[0].ID != run.ID || *runs[0].Outcome != "succeeded" || *runs[0].Reason != "to see it" {
			t.Errorf("%+v", runs)
		}
		for _, path := range []string{"/jobs/none", "/jobs/none/runs", "/jobs/none/preview?cron=@daily"} {
			refused(t, path, h.ask("viewer", "GET", path, ""), http.StatusNotFound, "job_not_found")
		}
		refused(t, "run", h.ask("operator", "POST", "/jobs/none/runs", `{}`), http.StatusNotFound, "job_not_found")
	})
}

func TestPreviewSaysWhatAScheduleMeans(t *testing.T) {
	onBoth(t, func(t *testing.T, h *house) {
		got := get[ops.JobPreview](h, "/jobs/desk.note/preview?cron=30+2+*+*+*&timeZone=Asia/Kolkata")
		if len(got.Next) != 5 || got.Next[0].UTC().Format("15:04") != "21:00" || got.Next[4].Sub(got.Next[0]) != 4*24*time.Hour || got.Words == "" {
			t.Errorf("%+v", got)
		}
		if same := get[ops.JobPreview](h, "/jobs/desk.note/preview"); same.Next[0].UTC().Format("15:04") != "04:00" {
			t.Errorf("%+v", same)
		}
		for query, code := range map[string]string{
			"cron=TZ%3DUTC": "cron_invalid", "cron=%40every+1s": "cron_invalid", "cron=0+0+30+2+*": "cron_invalid", "timeZone=Local": "time_zone_invalid",
			"cron=CRON_TZ%3DAsia/Tokyo+0+3+*+*+*": "cron_invalid", "cron=*+*+*+*+*+*": "cron_invalid", "cron=%09": "cron_invalid",
		} {
			refused(t, query, h.ask("viewer", "GET", "/jobs/desk.note/preview?"+query, ""), http.StatusBadRequest, code)
		}
	})
}

func TestAChangeIsCheckedAndTakenBack(t *testing.T) {
	onBoth(t, func(t *testing.T, h *house) {
		before := get[schedule.Job](h, "/jobs/desk.note")
		for _, bad := range []string{
			`{"cron":"0 0 30 2 *"}`, `{"cron":""}`, `{"cron":" "}`, `{"timeZone":"Mars/Olympus"}`, `{"cron":"@every 1s","enabled":false}`,
			`{"cron":5}`, `{"enabled":"no"}`, `{"next":"now"}`, `{"cron":"` + strings.Repeat("*", 10_000) + `"}`, `{"reason":"` + strings.Repeat("x", 501) + `"}`,
		} {
			if w := h.ask("admin", "PATCH", "/jobs/desk.note", bad); w.Code != http.StatusBadRequest {
				t.Errorf("%s: %d %s", bad, w.Code, w.Body)
			}
		}
		if after := get[schedule.Job](h, "/jobs/desk.note"); after.ChangedOn != nil || !after.NextRunOn.Equal(*before.NextRunOn) {
			t.Errorf("%+v", after)
		}
		for _, step := range []struct {
			body, cron, zone, source string
			enabled                  bool
		}{
			{`{"cron":"15 5 * * *","timeZone":"Europe/Berlin","enabled":false,"reason":"a rest"}`, "15 5 * * *", "Europe/Berlin", "operator", false},
			{`{"enabled":null}`, "15 5 * * *", "Europe/Berlin", "operator", true},
			{`{"cron":null}`, "0 4 * * *", "Europe/Berlin", "operator", true},
			{`{"timeZone":null}`, "0 4 * * *", "UTC", "code", true},
		} {
			w := h.ask("admin", "PATCH", "/jobs/desk.note", step.body)
			j := get[schedule.Job](h, "/jobs/desk.note")
			if w.Code != 200 || j.Cron != step.cron || j.TimeZone != step.zone || j.CronSource != step.source || j.Enabled != step.enabled {
				t.Errorf("%s: %d, %+v", step.body, w.Code, j)
			}
		}
		trail, err := h.console.AuditTrail(t.Context(), audit.Filter{EntityType: "platform.job", EntityKey: "desk.note"}, uuid.Nil, 10)
		if err != nil || len(trail) != 4 || *trail[3].ChangedBy != userID("admin") {
			t.Fatalf("%+v, %v", trail, err)
		}
		if text := string(changesOf(trail[3])); !strings.Contains(text, "a rest") || !strings.Contains(text, "paused") || !strings.Contains(text, "0 4 * * * UTC") {
			t.Errorf("the trail says %s", text)
		}
	})
}

func changesOf(e audit.Entry) (text []byte) {
	for _, c := range e.Changes {
		text = append(append(text, c.Property...), c.New...)
	}
	return text
}

func TestEveryActOfAnOperatorIsInTheTrail(t *testing.T) {
	onBoth(t, func(t *testing.T, h *house) {
		ids := h.dead(2, 0)
		post[ops.Requeued](h, "/internal-commands/requeue", body{"ids": ids, "reason": "mended"})
		post[ops.Purged](h, "/internal-commands/purge", body{"olderThanSeconds": 0})
		post[ops.Purged](h, "/outbox/purge", body{"olderThanSeconds": 10})
		runNow(h, "/jobs/shop.note/runs", body{})
		h.ask("operator", "POST", "/internal-commands/requeue", `{"all":true,"expected":77}`) // refused, so nothing was done
		var acts []string
		for _, e := range get[httpx.Page[ops.AuditView]](h, "/audit?actor="+userID("operator")).Items {
			acts = append(acts, e.EntityType+" "+strings.Trim(string(e.Changes[0].New), `"`))
		}
		want := "platform.job ops.run_job, platform.events ops.purge_outbox, platform.events ops.purge_outbox, " +
			"platform.internal_commands ops.purge_internal_commands, platform.internal_commands ops.purge_internal_commands, " +
			"platform.internal_commands ops.requeue_internal_commands"
		if got := strings.Join(acts, ", "); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
		first := get[httpx.Page[ops.AuditView]](h, "/audit?limit=2")
		second := get[httpx.Page[ops.AuditView]](h, "/audit?limit=10&cursor="+*first.NextCursor)
		if len(first.Items) != 2 || len(second.Items) != 4 {
			t.Errorf("%d and %d", len(first.Items), len(second.Items))
		}
		if none := get[httpx.Page[ops.AuditView]](h, "/audit?to=2020-01-01T00:00:00Z"); len(none.Items) != 0 {
			t.Errorf("%+v", none)
		}
		// Where the trail cannot be written nothing is done.
		superuser := postgrestest.Connect(t, postgres.Config{URL: pgtest.AsSuperuser(t, h.desk.Database().URL())}).Source("superuser")
		postgrestest.Exec(t, superuser, `ALTER TABLE platform.audit_entries ADD CONSTRAINT broken CHECK (false) NOT VALID`)
		if w := h.ask("operator", "POST", "/jobs/desk.note/runs", `{}`); w.Code < 500 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		if runs := get[httpx.Page[schedule.Run]](h, "/jobs/desk.note/runs").Items; len(runs) != 0 {
			t.Errorf("%+v", runs)
		}
	})
}

func TestTheClockCleansUp(t *testing.T) {
	onBoth(t, func(t *testing.T, h *house) {
		old := `now() - interval '400 days'`
		h.publish(context.Background(), 3)
		done := h.schedule(shopNote{To: secret})
		h.drain()
		h.publish(context.Background(), 1)
		dead := h.dead(1, 1)
		h.each(`UPDATE platform.internal_commands SET processed_on = ` + old + ` WHERE processed_on IS NOT NULL`)
		h.each(`UPDATE platform.deliveries SET processed_on = ` + old + ` WHERE processed_on IS NOT NULL`)
		h.each(`UPDATE platform.inbox SET processed_on = ` + old)
		h.each(`INSERT INTO platform.inbox (event_id, handler, processed_on) SELECT event_id, name, ` + old + ` FROM platform.deliveries WHERE dead_lettered_on IS NOT NULL ON CONFLICT DO NOTHING`)
		h.each(`INSERT INTO platform.idempotency_keys (scope, body, created_on) VALUES ('a', 'b', now() - interval '25 hours'), ('c', 'd', now())`)
		h.each(`INSERT INTO platform.job_runs (id, job, occurrence, trigger, outcome, created_on) VALUES (gen_random_uuid(), 'shop.note', ` + old + `, 'schedule', 'skipped', ` + old + `)`)
		for _, job := range []string{"finished-work-cleanup", "expired-keys-cleanup"} {
			runNow(h, "/jobs/"+job+"/runs", body{})
		}
		h.drain()
		tables := h.tables()
		if strings.Contains(tables, done.String()) || !strings.Contains(tables, dead[0].String()) {
			t.Errorf("what was done long ago stays, or a dead letter is gone:\n%s", tables)
		}
		left := func(table string) (n int) {
			n = postgrestest.Value[int](t, h.shop, `SELECT count(*) FROM platform.`+table)
			if len(h.runners) > 1 {
				n += postgrestest.Value[int](t, h.desk, `SELECT count(*) FROM platform.`+table)
			}
			return n
		}
		deadDeliveries := left(`deliveries WHERE dead_lettered_on IS NOT NULL`)
		if keys, runs, inbox := left("idempotency_keys"), left(`job_runs WHERE outcome = 'skipped'`), left("inbox"); keys != len(h.runners) || runs != 0 || inbox != deadDeliveries || deadDeliveries == 0 {
			t.Errorf("%d keys, %d runs, %d rows of the inbox for %d dead deliveries", keys, runs, inbox, deadDeliveries)
		}
	})
}

func TestTheSummaryNamesLateJobsAndChannels(t *testing.T) {
	onBoth(t, func(t *testing.T, h *house) {
		h.each(`UPDATE platform.jobs SET next_run_on = now() - interval '2 minutes' WHERE name = 'desk.note'`)
		h.console.Channel(func() channel.Stats {
			return channel.Stats{Name: "live", Capacity: 8, Depth: 1, Pushed: 9, Dropped: 2, ProtectedDropped: 1}
		})
		got := get[ops.Summary](h, "/summary")
		if len(got.JobsLate) != 1 || got.JobsLate[0] != "desk.note" {
			t.Errorf("late: %v", got.JobsLate)
		}
		if want := (ops.ChannelView{Name: "live", Depth: 1, Capacity: 8, Pushed: 9, Dropped: 3}); len(got.Channels) != 1 || got.Channels[0] != want {
			t.Errorf("%+v", got.Channels)
		}
	})
}
