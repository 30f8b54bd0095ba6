package ops_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/later/lease"
	"example.com/plenary/platform/ops"
)

func TestCommandInDetail(t *testing.T) {
	onBoth(t, func(t *testing.T, h *house) {
		ada := identity.User(uuid.New(), "customer", "admin")
		ctx := identity.WithTenant(identity.WithCorrelationID(identity.WithPrincipal(context.Background(), ada), "c-1"), "acme")
		ref := uuid.New()
		id := h.scheduleMany(ctx, []command.Command{shopNote{To: secret, Ref: ref, Cent: 9007199254740993}})[0]
		other := h.schedule(deskNote{To: secret})
		h.exhaust()
		post[ops.Requeued](h, "/internal-commands/requeue", map[string]any{"ids": []uuid.UUID{id}})
		h.drain()

		got := get[ops.CommandDetail](h, "/internal-commands/"+strings.ToUpper(id.String()))
		if got.ID != id || got.State != lease.Succeeded || got.Source != "shop" || got.Name != "shop.note" || *got.CorrelationID != "c-1" {
			t.Errorf("%+v", got)
		}
		if *got.User != ada.ID || !slices.Equal(got.Roles, ada.Roles) || *got.Tenant != "acme" || got.Trace != nil {
			t.Errorf("on whose behalf: %+v", got.OriginView)
		}
		var log []string
		for _, a := range got.AttemptLog {
			text := a.Outcome
			if a.Error != nil {
				text += ": " + *a.Error
			}
			if a.Replica != h.replica.ID || a.FinishedOn.Before(a.StartedOn) {
				t.Errorf("attempt %+v", a)
			}
			log = append(log, text)
		}
		const fire = "the printer is on fire"
		if want := []string{"failed: " + fire, "failed: " + fire, "dead_lettered: " + fire, "succeeded"}; !slices.Equal(log, want) {
			t.Errorf("attempts %q", log)
		}
		if want := fmt.Sprintf(`{"To":"[redacted]","Ref":"%s","Cent":9007199254740993}`, ref); !sameJSON(t, string(got.Payload), want) {
			t.Errorf("payload %s, want %s", got.Payload, want)
		}
		if dead := get[ops.CommandDetail](h, "/internal-commands/"+other.String()); dead.State != lease.DeadLettered || dead.User != nil ||
			dead.Source != "desk" || *dead.DeadLetterReason != lease.ReasonExhausted || *dead.LastError != fire || dead.Attempts != 3 {
			t.Errorf("the dead one: %+v", dead)
		}
	})
}

func TestEventInDetail(t *testing.T) {
	onBoth(t, func(t *testing.T, h *house) {
		ada := identity.User(uuid.New(), "customer")
		id := h.publish(identity.WithPrincipal(context.Background(), ada), 1)[0]
		h.exhaust()
		got := get[ops.EventDetail](h, "/outbox/"+id.String())
		if got.ID != id || got.Name != "shop.paid" || got.Source != "shop" || *got.User != ada.ID || len(got.Deliveries) != 2 ||
			!strings.Contains(string(got.Payload), `"To":"[redacted]"`) {
			t.Errorf("%+v", got)
		}
		for _, d := range got.Deliveries {
			if d.State != lease.DeadLettered || len(d.AttemptLog) != 3 || d.AttemptLog[2].Outcome != "dead_lettered" || d.Attempts != 3 {
				t.Errorf("%+v", d)
			}
		}
	})
}

// The list is for deciding what to look at; what a row is about is not told there, not even redacted.
func TestPayloadsAreNotInLists(t *testing.T) {
	onBoth(t, func(t *testing.T, h *house) {
		h.schedule(shopNote{To: secret})
		h.publish(context.Background(), 1)
		for _, path := range []string{"/internal-commands", "/outbox", "/summary"} {
			body := h.ask("admin", "GET", path, "").Body.String()
			for _, word := range []string{"payload", "redacted", `"To"`, `"roles"`, `"user"`} {
				if strings.Contains(body, word) {
					t.Errorf("%s has %s: %s", path, word, body)
				}
			}
		}
	})
}

func TestHostileIDsAndFilters(t *testing.T) {
	onBoth(t, func(t *testing.T, h *house) {
		id := h.schedule(shopNote{To: secret}).String()
		for _, list := range []string{"/internal-commands", "/outbox"} {
			for what, want := range map[string]int{
				uuid.NewString(): 404, uuid.Nil.String(): 404, uuid.Max.String(): 404,
				"27": 400, "undefined": 400, "%7B" + id + "%7D": 400, strings.ReplaceAll(id, "-", ""): 400, "urn:uuid:" + id: 400,
				id[1:]: 400, "%00": 400, "%ff": 400, "%2e%2e%2f": 400, "'--": 400, id + "/attempts": 404,
			} {
				if w := h.ask("viewer", "GET", list+"/"+what, ""); w.Code != want {
					t.Errorf("%s/%s: %d, want %d", list, what, w.Code, want)
				}
			}
			for _, query := range []string{
				"limit=-1", "limit=0", "limit=201", "limit=1e9", "state=dead", "state=DUE", "state=due&state=due", "sort=;drop", "sort=name",
				"name=%00", "name=%ff", "name=" + strings.Repeat("n", 201), "source=" + strings.Repeat("s", 101),
				"correlationId=" + strings.Repeat("c", 65), "cursor=x", "cursor=" + url.QueryEscape("' OR 1=1"), "cursor=e30", "from=2026-13-40",
			} {
				if w := h.ask("viewer", "GET", list+"?"+query, ""); w.Code != http.StatusBadRequest {
					t.Errorf("%s?%.40s: %d", list, query, w.Code)
				}
			}
		}
	})
}
