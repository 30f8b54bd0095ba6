package ops_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"example.com/plenary/platform/later/lease"
	"example.com/plenary/platform/ops"
	"example.com/plenary/platform/postgres/postgrestest"
)

func TestSummary(t *testing.T) {
	onBoth(t, func(t *testing.T, h *house) {
		second := h.desk.Database().Name()
		find := func(s ops.Summary, mechanism, source string) ops.WorkView {
			t.Helper()
			i := slices.IndexFunc(s.Work, func(w ops.WorkView) bool { return w.Mechanism == mechanism && w.Source == source })
			if i < 0 {
				t.Fatalf("%s of %s is not in %+v", mechanism, source, s.Work)
			}
			return s.Work[i]
		}
		idle := get[ops.Summary](h, "/summary")
		if len(idle.Work) != 4 || len(idle.Unreachable) != 0 || len(idle.Replicas) != 0 {
			t.Errorf("idle: %+v", idle)
		}
		if got, want := find(idle, "outbox", "desk"), (ops.WorkView{Database: second, Mechanism: "outbox", Source: "desk"}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		if body := h.ask("viewer", "GET", "/summary", "").Body.String(); !strings.Contains(body, `"replicas":[],"jobsLate":[],"channels":[],"unreachable":[]`) {
			t.Errorf("lists are missing: %s", body)
		}

		for _, sql := range states { // one of each
			id := h.schedule(deskNote{To: secret})
			h.each(`UPDATE platform.internal_commands SET `+sql+` WHERE id = $1`, id)
		}
		h.schedule(shopNote{To: secret})
		event := h.publish(context.Background(), 1)[0]
		postgrestest.Exec(t, h.shop, `UPDATE platform.deliveries SET `+states[lease.DeadLettered]+` WHERE event_id = $1 AND name = 'desk.on_paid'`, event)
		h.each(`UPDATE platform.internal_commands t SET next_attempt_on = now() - interval '1000 seconds' WHERE source = 'desk' AND ` + lease.Due.InSQL())
		h.each(`INSERT INTO platform.internal_commands (source, name, payload, unclaimable_since) VALUES ('former', 'former.note', '{}', now())`)
		h.each(`INSERT INTO platform.internal_commands (source, name, payload, next_attempt_on) VALUES ('later', 'later.note', '{}', now() + interval '1 hour')`)
		for _, r := range h.runners {
			if err := r.Beat(context.Background()); err != nil {
				t.Fatal(err)
			}
		}

		s := get[ops.Summary](h, "/summary")
		desk := find(s, "internal-commands", "desk")
		if desk.Database != second || desk.Depth != 4 || desk.InFlight != 1 || desk.DeadLetters != 1 || desk.Unclaimable != 0 ||
			desk.OldestDueAgeSeconds < 1000 || desk.OldestDueAgeSeconds > 1100 {
			t.Errorf("%+v", desk)
		}
		shop := find(s, "internal-commands", "shop")
		if shop.Database != "default" || shop.Depth != 1 || shop.InFlight != 0 || shop.DeadLetters != 0 || shop.OldestDueAgeSeconds > 100 {
			t.Errorf("%+v", shop)
		}
		if outbox := find(s, "outbox", "shop"); outbox.Depth != 1 || outbox.DeadLetters != 1 || outbox.Database != "default" {
			t.Errorf("%+v", outbox)
		}
		if former := find(s, "internal-commands", "former"); former.Unclaimable != 1 || former.Depth != 1 {
			t.Errorf("%+v", former)
		}
		if later := find(s, "internal-commands", "later"); later.Depth != 1 || later.OldestDueAgeSeconds != 0 {
			t.Errorf("%+v", later)
		}
		if len(s.Replicas) != len(h.runners) {
			t.Fatalf("replicas %+v", s.Replicas)
		}
		for i, r := range s.Replicas {
			if r.ID != h.replica.ID || r.Version != "v1" || r.Host == "" || r.Database != h.databases()[i] || r.SilenceSeconds < 0 || r.SilenceSeconds > 60 ||
				r.HeartbeatOn.Before(r.StartedOn) {
				t.Errorf("%+v", r)
			}
		}
		h.each(`UPDATE platform.replicas SET heartbeat_on = now() - interval '5 minutes'`)
		if silent := get[ops.Summary](h, "/summary").Replicas[0].SilenceSeconds; silent < 300 || silent > 360 {
			t.Errorf("silent for %v s", silent)
		}
	})
}

func (h *house) databases() []string {
	if len(h.runners) == 1 {
		return []string{"default"}
	}
	return []string{"default", "second"}
}

// A database that is away hides neither itself nor the others.
func TestSummaryWithoutADatabase(t *testing.T) {
	t.Parallel()
	h := newHouse(t, postgrestest.URL(t), nowhere)
	h.schedule(shopNote{To: secret})
	s := get[ops.Summary](h, "/summary")
	if !slices.Equal(s.Unreachable, []string{"second"}) || len(s.Work) != 2 || s.Work[0].Depth != 1 {
		t.Errorf("%+v", s)
	}
	if !strings.Contains(h.log.String(), "missing from the summary") {
		t.Error("it is not in the log")
	}
	for _, path := range []string{"/internal-commands", "/outbox"} {
		w := h.ask("viewer", "GET", path, "")
		refused(t, path, w, 503, "database_unavailable")
		if w.Header().Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	}
	// An action that cannot be done everywhere is done nowhere.
	id := h.schedule(shopNote{To: secret})
	postgrestest.Exec(t, h.shop, `UPDATE platform.internal_commands SET `+states[lease.DeadLettered]+` WHERE id = $1`, id)
	w := h.ask("operator", "POST", "/internal-commands/requeue", encode(t, body{"ids": []string{id.String()}}))
	refused(t, "requeue", w, 503, "database_unavailable")
	if n := postgrestest.Value[int](t, h.shop, `SELECT count(*) FROM platform.internal_commands WHERE dead_lettered_on IS NOT NULL`); n != 1 {
		t.Error("it was requeued")
	}
}
