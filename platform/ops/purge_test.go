package ops_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/platform/later/internalcommand"
	"example.com/plenary/platform/later/lease"
	"example.com/plenary/platform/later/outbox"
	"example.com/plenary/platform/ops"
	"example.com/plenary/platform/postgres/postgrestest"
)

const (
	day      = 24 * 60 * 60
	aged     = `now() - interval '400 days'`
	bornLong = `created_on = ` + aged + `, scheduled_on = ` + aged
)

func purge(h *house, path string, request body) ops.Purged {
	h.t.Helper()
	return post[ops.Purged](h, path, request)
}

// What goes is what has been done for long, whenever it was made.
func TestPurgeGoesByWhenItWasDone(t *testing.T) {
	onBoth(t, func(t *testing.T, h *house) {
		stays, goes := map[uuid.UUID]string{}, map[uuid.UUID]string{}
		make1 := func(where map[uuid.UUID]string, what, sql string) {
			id := h.schedule(deskNote{To: secret})
			where[id] = what
			h.each(`UPDATE platform.internal_commands SET `+sql+` WHERE id = $1`, id)
			h.each(`INSERT INTO platform.attempts (work_id, claim, started_on, finished_on, outcome)
				SELECT id, 1, now(), now(), 'failed' FROM platform.internal_commands WHERE id = $1`, id)
		}
		for state, sql := range states {
			make1(stays, string(state)+", made long ago", bornLong+`, `+sql)
		}
		make1(stays, "due next week", bornLong+`, next_attempt_on = now() + interval '7 days'`)
		make1(stays, "overdue for long", bornLong+`, next_attempt_on = `+aged)
		make1(stays, "dead for long", bornLong+`, dead_lettered_on = `+aged+`, dead_letter_reason = 'x'`)
		make1(stays, "done 29 days ago", bornLong+`, processed_on = now() - interval '29 days'`)
		make1(goes, "done long ago", bornLong+`, processed_on = `+aged)
		make1(goes, "done long ago, made today", `processed_on = `+aged)
		make1(goes, "done 31 days ago", `processed_on = now() - interval '31 days'`)

		if got := purge(h, "/internal-commands/purge", body{"olderThanSeconds": 30 * day, "reason": "room"}); got.Purged != len(goes) || !got.Complete {
			t.Errorf("%+v, want %d", got, len(goes))
		}
		tables := h.tables()
		for id, what := range stays {
			if strings.Count(tables, id.String()) != 2 { // with its attempt
				t.Errorf("%s is gone", what)
			}
		}
		for id, what := range goes {
			if strings.Contains(tables, id.String()) {
				t.Errorf("%s, something of it is left", what)
			}
		}
		for _, words := range []string{"action=ops.purge_internal_commands", "reason=room", "affected=3", "age=720h0m0s"} {
			if !strings.Contains(h.log.String(), words) {
				t.Errorf("the log does not say %s", words)
			}
		}
		// Zero means all that was done.
		if got := purge(h, "/internal-commands/purge", body{"olderThanSeconds": 0}); got.Purged != 2 {
			t.Errorf("all that was done: %+v", got)
		}
		if got := purge(h, "/internal-commands/purge", body{"olderThanSeconds": 0}); got.Purged != 0 || !got.Complete {
			t.Errorf("once more: %+v", got)
		}
	})
}

func TestEventGoesWithTheLastOfItsDeliveries(t *testing.T) {
	onBoth(t, func(t *testing.T, h *house) {
		const done = `processed_on = ` + aged
		cases := []struct {
			what, shop, desk string
			goes             bool
		}{
			{"both made long ago", done, done, true},
			{"one made today", done, `processed_on = now()`, false},
			{"one is due", done, `attempts = 0`, false},
			{"one is running", states[lease.Running], done, false},
			{"one is retrying", done, states[lease.Retrying], false},
			{"one is dead", done, `dead_lettered_on = ` + aged + `, dead_letter_reason = 'x'`, false},
			{"both are dead", `dead_lettered_on = ` + aged, `dead_lettered_on = ` + aged, false},
			{"none is left", "", "", true},
		}
		ids := make([]uuid.UUID, len(cases))
		for i, c := range cases {
			ids[i] = h.publish(context.Background(), 1)[0]
			postgrestest.Exec(t, h.shop, `UPDATE platform.events SET occurred_on = `+aged+` WHERE id = $1`, ids[i])
			if c.shop == "" {
				postgrestest.Exec(t, h.shop, `DELETE FROM platform.deliveries WHERE event_id = $1`, ids[i])
				continue
			}
			postgrestest.Exec(t, h.shop, `UPDATE platform.deliveries SET `+c.shop+` WHERE event_id = $1 AND name = 'shop.on_paid'`, ids[i])
			postgrestest.Exec(t, h.shop, `UPDATE platform.deliveries SET `+c.desk+` WHERE event_id = $1 AND name = 'desk.on_paid'`, ids[i])
		}
		fresh := h.publish(context.Background(), 2)
		postgrestest.Exec(t, h.shop, `DELETE FROM platform.deliveries WHERE event_id = $1`, fresh[0])
		postgrestest.Exec(t, h.shop, `INSERT INTO platform.attempts (work_id, claim, started_on, finished_on, outcome)
			SELECT id, 1, now(), now(), 'failed' FROM platform.deliveries`)

		if got := purge(h, "/outbox/purge", body{"olderThanSeconds": 30 * day, "source": "desk"}); got.Purged != 0 {
			t.Errorf("of the desk, which has published nothing: %+v", got)
		}
		if got := purge(h, "/outbox/purge", body{"olderThanSeconds": 30 * day, "source": "shop"}); got.Purged != 2 || !got.Complete {
			t.Errorf("%+v", got)
		}
		tables := h.tables()
		for i, c := range cases {
			if there := strings.Contains(tables, ids[i].String()); there == c.goes {
				t.Errorf("%s: still there %v", c.what, there)
			}
		}
		for _, id := range fresh {
			if !strings.Contains(tables, id.String()) {
				t.Error("a new event is gone")
			}
		}
		orphans := postgrestest.Value[int](t, h.shop, `SELECT count(*) FROM platform.attempts WHERE work_id NOT IN (SELECT id FROM platform.deliveries)`)
		attempts := postgrestest.Value[int](t, h.shop, `SELECT count(*) FROM platform.attempts`)
		if orphans != 0 || attempts != 2*6+2 {
			t.Errorf("%d attempts, %d of them of nothing", attempts, orphans)
		}
	})
}

func TestPurgeOfOneModule(t *testing.T) {
	onBoth(t, func(t *testing.T, h *house) {
		h.schedule(shopNote{To: secret})
		h.schedule(deskNote{To: secret})
		h.drain()
		for source, want := range map[string]int{"nowhere": 0, "Shop": 0, "shop": 1} {
			if got := purge(h, "/internal-commands/purge", body{"olderThanSeconds": 0, "source": source}); got.Purged != want {
				t.Errorf("%s: %+v", source, got)
			}
		}
		if left := get[commandPage](h, "/internal-commands").Items; len(left) != 1 || left[0].Source != "desk" {
			t.Errorf("%+v", left)
		}
	})
}

// many puts in rows that were done long ago, some of them at the very same time.
func (h *house) many(n int) {
	h.t.Helper()
	postgrestest.Exec(h.t, h.shop, `INSERT INTO platform.internal_commands (source, name, payload, processed_on)
		SELECT 'shop', 'shop.note', '{}', `+aged+` + (i / 1500) * interval '1 second' FROM generate_series(1, $1) AS i`, n)
	postgrestest.Exec(h.t, h.shop, `
		WITH e AS (INSERT INTO platform.events (source, name, payload, occurred_on)
			SELECT 'shop', 'shop.paid', '{}', `+aged+` FROM generate_series(1, $1) RETURNING id)
		INSERT INTO platform.deliveries (event_id, event, name, processed_on) SELECT id, 'shop.paid', h, `+aged+`
		FROM e, unnest('{shop.on_paid,desk.on_paid}'::text[]) AS h`, n)
}

func TestPurgeOfManyRowsTakesManyTransactions(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	h := newHouse(t, url, url)
	const n = 2*lease.PurgeBatch + 500
	h.many(n)
	for _, path := range []string{"/internal-commands/purge", "/outbox/purge"} {
		if got := purge(h, path, body{"olderThanSeconds": day}); got.Purged != n || !got.Complete {
			t.Errorf("%s: %+v, want %d", path, got, n)
		}
	}
	for _, table := range []string{"internal_commands", "events", "deliveries"} {
		if left := postgrestest.Value[int](t, h.shop, `SELECT count(*) FROM platform.`+table); left != 0 {
			t.Errorf("%d left in %s", left, table)
		}
	}
}

func TestTwoPurgesAtOnceShareTheWork(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	one, two := newHouse(t, url, url), newHouse(t, url, url)
	const n = 3000
	one.many(n)
	var mu sync.Mutex
	commands, events := 0, 0
	var both sync.WaitGroup
	for _, h := range []*house{one, two, one, two} {
		both.Go(func() {
			c, err1 := internalcommand.Rows.Purge(context.Background(), h.shop, "", time.Hour)
			e, err2 := outbox.Purge(context.Background(), h.shop, "", time.Hour)
			if err := errors.Join(err1, err2); err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			commands, events = commands+c, events+e
		})
	}
	both.Wait()
	left := postgrestest.Value[int](t, one.shop, `SELECT (SELECT count(*) FROM platform.internal_commands) + (SELECT count(*) FROM platform.events)`)
	if commands+events+left != 2*n {
		t.Errorf("%d commands and %d events were counted, %d are left of %d", commands, events, left, 2*n)
	}
	// Who came to rows that another one held has passed them by; the next purge finds nothing else.
	c, err1 := internalcommand.Rows.Purge(context.Background(), one.shop, "", time.Hour)
	e, err2 := outbox.Purge(context.Background(), one.shop, "", time.Hour)
	if c+e != left || err1 != nil || err2 != nil {
		t.Errorf("then %d, %d of %d; %v, %v", c, e, left, err1, err2)
	}
}

func TestPurgeThatTakesTooLongSaysSo(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	h := newHouse(t, url, url)
	h.many(100)
	h.console.GiveUpPurgesAfter(time.Nanosecond)
	for _, path := range []string{"/internal-commands/purge", "/outbox/purge"} {
		if got := purge(h, path, body{"olderThanSeconds": day}); got.Complete || got.Purged != 0 {
			t.Errorf("%s: %+v", path, got)
		}
	}
	h.console.GiveUpPurgesAfter(time.Minute)
	for _, path := range []string{"/internal-commands/purge", "/outbox/purge"} {
		if got := purge(h, path, body{"olderThanSeconds": day}); !got.Complete || got.Purged != 100 {
			t.Errorf("%s: %+v", path, got)
		}
	}
}

func TestPurgeUnderAKey(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	h := newHouse(t, url, url)
	h.many(7)
	for _, path := range []string{"/internal-commands/purge", "/outbox/purge"} {
		for range 2 {
			w := h.ask("operator", "POST", path, `{"olderThanSeconds":60}`, "Idempotency-Key", "k-1")
			if got := decode[ops.Purged](t, w, 200); got.Purged != 7 {
				t.Errorf("%s: %+v", path, got)
			}
		}
	}
}

func TestPurgeMustBeSensible(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	h := newHouse(t, url, url)
	h.many(1)
	before := h.tables()
	for _, path := range []string{"/internal-commands/purge", "/outbox/purge"} {
		for request, complaint := range map[string]string{
			`{}`:                              "olderThanSeconds required",
			`{"olderThanSeconds":-1}`:         "olderThanSeconds out_of_range",
			`{"olderThanSeconds":3153600001}`: "olderThanSeconds out_of_range",
			`{"olderThanSeconds":9223372036854775807}`:                            "olderThanSeconds out_of_range",
			`{"olderThanSeconds":-9223372036854775808}`:                           "olderThanSeconds out_of_range",
			`{"olderThanSeconds":18446744074}`:                                    "olderThanSeconds out_of_range", // wraps around in nanoseconds
			`{"olderThanSeconds":1.5}`:                                            "olderThanSeconds wrong_type",
			`{"olderThanSeconds":"60"}`:                                           "olderThanSeconds wrong_type",
			`{"olderThanSeconds":60,"source":"` + strings.Repeat("s", 101) + `"}`: "source too_long",
			`{"olderThanSeconds":60,"state":"dead_lettered"}`:                     " unknown_field",
		} {
			refused(t, path+" "+request, h.ask("operator", "POST", path, request), 400, complaint)
		}
	}
	if after := h.tables(); after != before {
		t.Error("a refusal changed something")
	}
	if got := purge(h, "/outbox/purge", body{"olderThanSeconds": int64(3153600000)}); got.Purged != 0 {
		t.Errorf("of a hundred years ago: %+v", got)
	}
}
