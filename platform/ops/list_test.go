package ops_test

import (
	"bytes"
	"context"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/later/internalcommand"
	"example.com/plenary/platform/later/lease"
	"example.com/plenary/platform/ops"
	"example.com/plenary/platform/postgres/postgrestest"
)

type (
	commandPage = httpx.Page[ops.CommandView]
	eventPage   = httpx.Page[ops.EventView]
)

// states are what a row looks like in each state.
var states = map[lease.State]string{
	lease.Scheduled:    `next_attempt_on = now() + interval '1 hour'`,
	lease.Due:          `next_attempt_on = now() - interval '1 second'`,
	lease.Running:      `next_attempt_on = now() - interval '1 second', attempts = 1, claim = 2, claimed_on = now(), claimed_until = now() + interval '1 hour'`,
	lease.Retrying:     `next_attempt_on = now() + interval '1 hour', attempts = 1, last_error = 'no paper'`,
	lease.Succeeded:    `processed_on = now(), attempts = 2`,
	lease.DeadLettered: `dead_lettered_on = now(), attempts = 3, last_error = 'no paper', dead_letter_reason = 'attempts_exhausted'`,
}

func TestCommandsByState(t *testing.T) {
	onBoth(t, func(t *testing.T, h *house) {
		ids := map[lease.State][]uuid.UUID{}
		for state, sql := range states {
			ids[state] = []uuid.UUID{h.schedule(shopNote{To: secret}), h.schedule(deskNote{To: secret})}
			h.each(`UPDATE platform.internal_commands SET `+sql+` WHERE id = ANY($1)`, ids[state])
		}
		if all := get[commandPage](h, "/internal-commands"); len(all.Items) != 2*len(states) || all.NextCursor != nil {
			t.Errorf("%d of all", len(all.Items))
		}
		for state := range states {
			got := get[commandPage](h, "/internal-commands?state="+string(state)).Items
			if len(got) != 2 || got[0].State != state || got[1].State != state ||
				!slices.Contains(ids[state], got[0].ID) || !slices.Contains(ids[state], got[1].ID) || got[0].ID == got[1].ID {
				t.Fatalf("%s: %+v", state, got)
			}
			v := got[0]
			done, dead := state == lease.Succeeded, state == lease.DeadLettered
			if (v.ProcessedOn != nil) != done || (v.DeadLetteredOn != nil) != dead || (v.NextAttemptOn == nil) != (done || dead) ||
				v.MaxAttempts != 3 || v.ScheduledOn.IsZero() || v.CreatedOn.IsZero() {
				t.Errorf("%s: %+v", state, v)
			}
			if failed := state == lease.Retrying || dead; (v.LastError != nil) != failed || failed && *v.LastError != "no paper" {
				t.Errorf("%s: last error %v", state, v.LastError)
			}
		}
	})
}

func TestEventsByState(t *testing.T) {
	onBoth(t, func(t *testing.T, h *house) {
		ids := map[lease.State]uuid.UUID{}
		for state, sql := range states {
			ids[state] = h.publish(context.Background(), 1)[0]
			postgrestest.Exec(t, h.shop, `UPDATE platform.deliveries SET `+sql+` WHERE event_id = $1 AND name = 'desk.on_paid'`, ids[state])
			postgrestest.Exec(t, h.shop, `UPDATE platform.deliveries SET processed_on = now() WHERE event_id = $1 AND name = 'shop.on_paid'`, ids[state])
		}
		for state, id := range ids {
			got := get[eventPage](h, "/outbox?state="+string(state)).Items
			if state == lease.Succeeded {
				if len(got) != len(states) {
					t.Errorf("%d events have a delivery that was made", len(got))
				}
				continue
			}
			if len(got) != 1 || got[0].ID != id || len(got[0].Deliveries) != 2 {
				t.Fatalf("%s: %+v", state, got)
			}
			for _, d := range got[0].Deliveries {
				want := lease.Succeeded
				if d.Handler == "desk.on_paid" {
					want = state
				}
				if d.State != want || d.AttemptLog != nil {
					t.Errorf("%s: %+v", state, d)
				}
			}
		}
	})
}

func TestListsCanBeNarrowedDown(t *testing.T) {
	onBoth(t, func(t *testing.T, h *house) {
		ctx := identity.WithCorrelationID(context.Background(), "c-1")
		shop, desk := h.scheduleMany(ctx, []command.Command{shopNote{To: secret}})[0], h.schedule(deskNote{To: secret})
		later := h.scheduleMany(ctx, []command.Command{shopNote{To: secret}}, internalcommand.After(time.Hour))[0]
		for query, want := range map[string][]uuid.UUID{
			"":                                {later, desk, shop},
			"name=shop.note":                  {later, shop},
			"source=desk":                     {desk},
			"correlationId=c-1":               {later, shop},
			"correlationId=c-1&state=due":     {shop},
			"name=desk.note&source=shop":      {},
			"name=shop.%25":                   {}, // no pattern
			"name=SHOP.NOTE":                  {},
			"source=shop&state=scheduled":     {later},
			"source=nowhere&correlationId=c-": {},
			"name='%20OR%201=1--":             {},
		} {
			var got []uuid.UUID
			for _, v := range get[commandPage](h, "/internal-commands?"+query).Items {
				got = append(got, v.ID)
			}
			if !slices.Equal(got, want) && len(got)+len(want) > 0 {
				t.Errorf("%s: %v, want %v", query, got, want)
			}
		}
		event := h.publish(ctx, 1)[0]
		h.publish(context.Background(), 1)
		for query, want := range map[string]int{
			"": 2, "name=shop.paid": 2, "name=desk.on_paid": 2, "name=desk.other": 0, "source=shop": 2, "source=desk": 0,
			"correlationId=c-1": 1, "correlationId=c-1&state=due": 1, "correlationId=c-1&state=running": 0,
		} {
			got := get[eventPage](h, "/outbox?"+query).Items
			if len(got) != want || want == 1 && (got[0].ID != event || *got[0].CorrelationID != "c-1" || got[0].Source != "shop" || got[0].Name != "shop.paid") {
				t.Errorf("%s: %+v, want %d", query, got, want)
			}
		}
	})
}

// Rows of one transaction have one time; and between two pages more come, and some go.
func TestPagesShowEachRowOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, h *house) {
		notes := make([]command.Command, 13)
		for i := range notes {
			notes[i] = shopNote{To: secret}
		}
		want := h.scheduleMany(context.Background(), notes)
		for i := range notes {
			notes[i] = deskNote{To: secret}
		}
		want = append(want, h.scheduleMany(context.Background(), notes[:12])...)
		checkPages(t, h, want, "/internal-commands", func() {
			h.schedule(deskNote{To: secret})
			h.schedule(shopNote{To: secret})
		}, func(id uuid.UUID) { h.each(`DELETE FROM platform.internal_commands WHERE id = $1`, id) },
			func(v ops.CommandView) uuid.UUID { return v.ID })
	})
}

func TestPagesShowEachEventOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, h *house) {
		checkPages(t, h, h.publish(context.Background(), 25), "/outbox", func() { h.publish(context.Background(), 2) },
			func(id uuid.UUID) {
				h.each(`DELETE FROM platform.deliveries WHERE event_id = $1`, id)
				h.each(`DELETE FROM platform.events WHERE id = $1`, id)
			}, func(v ops.EventView) uuid.UUID { return v.ID })
	})
}

func checkPages[V any](t *testing.T, h *house, want []uuid.UUID, path string, more func(), remove func(uuid.UUID), idOf func(V) uuid.UUID) {
	t.Helper()
	seen := map[uuid.UUID]bool{}
	last := uuid.Max
	cursor, pages := "", 0
	for {
		page := get[httpx.Page[V]](h, path+"?limit=10"+cursor)
		pages++
		for _, v := range page.Items {
			id := idOf(v)
			if seen[id] || bytes.Compare(id[:], last[:]) >= 0 {
				t.Errorf("page %d: %s is out of order, or there again", pages, id)
			}
			seen[id], last = true, id
		}
		if page.NextCursor == nil {
			break
		}
		more()
		if pages == 1 {
			remove(last) // where the next page begins is the place of a row that is no more
		}
		cursor = "&cursor=" + url.QueryEscape(*page.NextCursor)
	}
	if pages != 3 || len(seen) != len(want) {
		t.Errorf("%d pages with %d rows, want 3 with %d", pages, len(seen), len(want))
	}
	for _, id := range want {
		if !seen[id] {
			t.Errorf("%s is on no page", id)
		}
	}
}
