package ops_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"example.com/plenary/platform/later/lease"
	"example.com/plenary/platform/ops"
	"example.com/plenary/platform/postgres/postgrestest"
)

// dead schedules commands of both modules and lets them die.
func (h *house) dead(shop, desk int) (ids []uuid.UUID) {
	h.t.Helper()
	for range shop {
		ids = append(ids, h.schedule(shopNote{To: secret}))
	}
	for range desk {
		ids = append(ids, h.schedule(deskNote{To: secret}))
	}
	h.exhaust()
	return ids
}

func requeue(h *house, path string, body map[string]any) int {
	h.t.Helper()
	return post[ops.Requeued](h, path, body).Requeued
}

type body = map[string]any

func TestRequeueGivesDeadLettersAnotherLife(t *testing.T) {
	onBoth(t, func(t *testing.T, h *house) {
		ids := h.dead(1, 1)
		before := map[uuid.UUID]ops.CommandView{}
		for _, v := range get[commandPage](h, "/internal-commands").Items {
			before[v.ID] = v
		}
		named := append(slices.Clone(ids), ids[0], uuid.New(), uuid.Nil) // one twice, and two of nobody
		if n := requeue(h, "/internal-commands/requeue", body{"ids": named, "reason": "the printer was repaired"}); n != 2 {
			t.Errorf("%d requeued", n)
		}
		for _, v := range get[commandPage](h, "/internal-commands?state=due").Items {
			old, ok := before[v.ID]
			if !ok || v.Attempts != 0 || v.DeadLetteredOn != nil || v.DeadLetterReason != nil || *v.LastError != *old.LastError ||
				!v.ScheduledOn.Equal(old.ScheduledOn) {
				t.Errorf("%+v became %+v", old, v)
			}
			delete(before, v.ID)
		}
		if len(before) != 0 {
			t.Errorf("not due again: %v", slices.Collect(maps.Keys(before)))
		}
		if n := requeue(h, "/internal-commands/requeue", body{"ids": ids}); n != 0 {
			t.Errorf("once more: %d requeued", n)
		}
		// It fails again, and has all its attempts before it is dead again; what was before stays on record.
		h.exhaust()
		for _, id := range ids {
			got := get[ops.CommandDetail](h, "/internal-commands/"+id.String())
			if got.State != lease.DeadLettered || got.Attempts != 3 || len(got.AttemptLog) != 6 {
				t.Errorf("%+v", got)
			}
		}
		for _, line := range []string{`msg=operator`, `action=ops.requeue_internal_commands`, `affected=2`, `reason="the printer was repaired"`, `ids=5`, `by=` + userID("operator")} {
			if !strings.Contains(h.log.String(), line) {
				t.Errorf("the log does not say %s:\n%s", line, h.log)
			}
		}
	})
}

func TestRequeueStartsAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, h *house) {
		ids := h.dead(1, 1)
		h.publish(context.Background(), 1)
		h.exhaust()
		h.run() // whose poll is an hour away
		requeue(h, "/internal-commands/requeue", body{"ids": ids})
		requeue(h, "/outbox/requeue", body{"all": true, "expected": 2})
		h.within("all of it", func() bool {
			return len(get[commandPage](h, "/internal-commands?state=succeeded").Items) == 2 &&
				len(get[eventPage](h, "/outbox?state=dead_lettered").Items) == 0 && len(get[eventPage](h, "/outbox?state=due").Items) == 0
		})
	})
}

func TestRequeueIsForDeadLettersOnly(t *testing.T) {
	onBoth(t, func(t *testing.T, h *house) {
		var ids []uuid.UUID
		event := h.publish(context.Background(), 1)[0]
		for state, sql := range states {
			if state == lease.DeadLettered {
				continue
			}
			id := h.schedule(deskNote{To: secret})
			h.each(`UPDATE platform.internal_commands SET `+sql+` WHERE id = $1`, id)
			ids = append(ids, id)
		}
		postgrestest.Exec(t, h.shop, `UPDATE platform.deliveries SET `+states[lease.Running]+` WHERE name = 'shop.on_paid'`)
		postgrestest.Exec(t, h.shop, `UPDATE platform.deliveries SET `+states[lease.Succeeded]+` WHERE name = 'desk.on_paid'`)
		for _, d := range get[ops.EventDetail](h, "/outbox/"+event.String()).Deliveries {
			ids = append(ids, d.ID)
		}
		ids = append(ids, event)
		before := h.tables()
		for _, path := range []string{"/internal-commands/requeue", "/outbox/requeue"} {
			for _, request := range []body{{"ids": ids}, {"all": true, "expected": 0}} {
				if n := requeue(h, path, request); n != 0 {
					t.Errorf("%s %v: %d requeued", path, request, n)
				}
			}
		}
		if after := h.tables(); after != before {
			t.Errorf("%s\nbecame\n%s", before, after)
		}
	})
}

func TestRequeuePressedTenTimes(t *testing.T) {
	onBoth(t, func(t *testing.T, h *house) {
		id := h.dead(0, 1)[0]
		var sum atomic.Int64
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				n, err := h.console.RequeueCommands(asUser("operator"), ops.RequeueCommands{Selection: ops.Selection{IDs: []uuid.UUID{id}}})
				if err != nil {
					t.Error(err)
				}
				sum.Add(int64(n))
			})
		}
		all.Wait()
		if sum.Load() != 1 {
			t.Errorf("requeued %d times", sum.Load())
		}
		h.drain()
		if got := get[ops.CommandDetail](h, "/internal-commands/"+id.String()); got.State != lease.Succeeded || len(got.AttemptLog) != 4 {
			t.Errorf("%+v", got)
		}
	})
}

func TestRequeueAllHoldsToTheNumber(t *testing.T) {
	onBoth(t, func(t *testing.T, h *house) {
		h.dead(3, 2)
		h.schedule(shopNote{To: secret})
		before := h.tables()
		for _, expected := range []int{0, 2, 3, 4, 6, 1 << 40} {
			w := h.ask("operator", "POST", "/internal-commands/requeue", encode(t, body{"all": true, "expected": expected}))
			refused(t, "a wrong number", w, 409, "unexpected_count")
		}
		w := h.ask("operator", "POST", "/internal-commands/requeue", encode(t, body{"all": true, "expected": 5, "filter": body{"name": "desk.note"}}))
		refused(t, "of all, instead of those", w, 409, "unexpected_count")
		if after := h.tables(); after != before {
			t.Errorf("a refusal changed something: %s\nbecame\n%s", before, after)
		}
		if n := requeue(h, "/internal-commands/requeue", body{"all": true, "expected": 2, "filter": body{"name": "desk.note", "source": "desk"}}); n != 2 {
			t.Errorf("%d of 2 of the desk", n)
		}
		if n := requeue(h, "/internal-commands/requeue", body{"all": true, "expected": 3}); n != 3 {
			t.Errorf("%d of 3 that were left", n)
		}
	})
}

// Whoever looks at one event's or one handler's dead letters can requeue just those.
func TestRequeueDeliveries(t *testing.T) {
	onBoth(t, func(t *testing.T, h *house) {
		event := h.publish(context.Background(), 2)[0]
		h.exhaust()
		deliveries := get[ops.EventDetail](h, "/outbox/"+event.String()).Deliveries
		if n := requeue(h, "/outbox/requeue", body{"ids": []uuid.UUID{deliveries[0].ID, event}}); n != 1 {
			t.Errorf("%d of one delivery", n)
		}
		h.drain()
		after := get[ops.EventDetail](h, "/outbox/"+event.String()).Deliveries
		if after[0].State != lease.Succeeded || after[1].State != lease.DeadLettered {
			t.Errorf("%+v", after)
		}
		other := after[1].Handler
		if n := requeue(h, "/outbox/requeue", body{"all": true, "expected": 2, "filter": body{"name": other, "source": "shop"}}); n != 2 {
			t.Errorf("%d of 2 for %s", n, other)
		}
		if n := requeue(h, "/outbox/requeue", body{"all": true, "expected": 1, "filter": body{"name": "shop.paid"}}); n != 1 {
			t.Errorf("%d of the event's last", n)
		}
	})
}

func TestRequeueMustNameSomething(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	h := newHouse(t, url, url)
	id := h.dead(1, 0)[0].String()
	before := h.tables()
	many := make([]string, 1001)
	for i := range many {
		many[i] = id
	}
	for _, path := range []string{"/internal-commands/requeue", "/outbox/requeue"} {
		for request, complaint := range map[string]string{
			``:                                "invalid_input",
			`{}`:                              "ids required",
			`{"ids":[]}`:                      "ids required",
			`{"all":false}`:                   "ids required",
			`{"filter":{"name":"shop.note"}}`: "ids required",
			`{"expected":1}`:                  "ids required",
			`{"all":true}`:                    "expected required",
			`{"all":true,"expected":-1}`:      "expected out_of_range",
			`{"all":true,"expected":1,"ids":["` + id + `"]}`:    "ids required",
			`{"ids":["` + id + `"],"expected":1}`:               "expected not_applicable",
			`{"ids":["` + id + `"],"filter":{"source":"shop"}}`: "filter not_applicable",
			`{"ids":["` + strings.Join(many, `","`) + `"]}`:     "ids too_many",
			`{"ids":["27"]}`:           "ids[0] invalid_id",
			`{"ids":["{` + id + `}"]}`: "ids[0] invalid_id",
			`{"ids":null}`:             "ids null",
			`{"ids":"` + id + `"}`:     "ids wrong_type",
			`{"ids":["` + id + `"],"reason":"` + strings.Repeat("r", 501) + `"}`:                     "reason too_long",
			`{"all":true,"expected":1,"filter":{"name":"` + strings.Repeat("n", 201) + `"}}`:         "filter.name too_long",
			`{"all":true,"expected":1,"filter":{"correlationId":"` + strings.Repeat("n", 65) + `"}}`: "filter.correlationId too_long",
			`{"all":true,"expected":1,"filter":{"name":"a\u0000"}}`:                                  "filter.name invalid_text",
			`{"all":true,"expected":1,"filter":{"state":"running"}}`:                                 "filter unknown_field",
			`{"all":true,"expected":1,"everything":true}`:                                            " unknown_field",
		} {
			w := h.ask("operator", "POST", path, request)
			if request == `` {
				w = h.ask("operator", "POST", path, request, "Content-Type", "application/json")
				complaint = " required"
			}
			refused(t, path+" "+request[:min(len(request), 90)], w, 400, complaint)
		}
	}
	if after := h.tables(); after != before {
		t.Errorf("a refusal changed something: %s\nbecame\n%s", before, after)
	}
}

// A request that is sent again under its key gets the answer that it had, and nothing more is requeued.
func TestRequeueUnderAKey(t *testing.T) {
	onBoth(t, func(t *testing.T, h *house) {
		h.dead(1, 1)
		request := encode(t, body{"all": true, "expected": 2})
		for i, replayed := range []string{"", "true", "true"} {
			w := h.ask("operator", "POST", "/internal-commands/requeue", request, "Idempotency-Key", "k-1")
			if got := decode[ops.Requeued](t, w, 200); got.Requeued != 2 || w.Header().Get("Idempotency-Replayed") != replayed {
				t.Errorf("%d: %+v, replayed %q", i, got, w.Header().Get("Idempotency-Replayed"))
			}
			h.exhaust()
		}
		if n := len(get[commandPage](h, "/internal-commands?state=dead_lettered").Items); n != 2 {
			t.Errorf("%d dead letters", n)
		}
	})
}
