package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/ops"
	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/postgres/postgrestest"
)

// The life of an order as the trail tells it: by whom, and from what to what.
func TestTheTrailOfAnOrder(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		r := w.start()
		alice := r.as("alice@example.com")
		o := alice.order(1, "tok_declined")
		w.within("quiet", w.settled)
		alice.do("POST", "/sales/orders/"+o.ID+"/cancellation", nil, 200, nil)
		var trail httpx.Page[ops.AuditView]
		r.as("viktor@example.com").do("GET", "/ops/audit?entityType=sales.order&entityKey="+o.ID, nil, 200, &trail)
		story := ""
		for i := len(trail.Items) - 1; i >= 0; i-- {
			e := trail.Items[i]
			if e.ChangedBy == nil || *e.ChangedBy != o.CustomerID || e.CorrelationID == nil {
				t.Errorf("%+v", e)
			}
			for _, c := range e.Changes {
				if c.Property == "status" {
					story += fmt.Sprintf("%s→%s ", c.Old, c.New)
				}
			}
		}
		if want := `null→"payment_initiated" "payment_initiated"→"payment_failed" "payment_failed"→"cancelled" `; story != want {
			t.Errorf("the trail says %s, want %s", story, want)
		}
		var signIns httpx.Page[ops.AuditView]
		r.as("viktor@example.com").do("GET", "/ops/audit?entityType=platform.session&actor="+o.CustomerID, nil, 200, &signIns)
		if len(signIns.Items) != 1 {
			t.Errorf("%d sign-ins of one who signed in once", len(signIns.Items))
		}
	})
}

// One correlation id leads through everything that came of a request, in whatever database.
func TestTheFlowOfAnOrder(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		r := w.start()
		status, _, answer, err := r.as("alice@example.com").try("POST", "/sales/orders", orderOf(1, "tok_visa"), "X-Correlation-Id", "the-order-of-alice")
		if err != nil || status != 201 {
			t.Fatalf("%d %s %v", status, answer, err)
		}
		w.within("quiet", w.settled)
		var flow ops.Flow
		w.within("the registration", func() bool {
			r.as("viktor@example.com").do("GET", "/ops/flows/the-order-of-alice", nil, 200, &flow)
			story := ""
			for _, s := range flow.Items {
				story += s.Kind + " " + s.Name + " " + s.State + "\n"
			}
			for _, line := range []string{
				"change sales.order added", "change sales.order modified", "event sales.order_paid", "attempt conference.on_order_paid succeeded",
				"attempt sales.on_order_paid succeeded", "attempt sales.send_order_confirmation_email succeeded", "command sales.expire_unpaid_order scheduled",
			} {
				if !strings.Contains(story, line) {
					return false
				}
			}
			return true
		})
		for i := 1; i < len(flow.Items); i++ {
			if flow.Items[i].On.Before(flow.Items[i-1].On) {
				t.Error("not in the order of time")
			}
		}
	})
}

// Where the trail cannot be written, nothing changes: by HTTP, by a command, by an event's handler, by the clock.
// And what rolls back leaves no trail.
func TestNoChangeWithoutItsTrail(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	r := w.start()
	alice := r.as("alice@example.com")
	o := alice.order(1, "tok_declined")
	w.within("quiet", w.settled)
	audited := func() int {
		return postgrestest.Value[int](t, w.sales, `SELECT count(*) FROM platform.audit_entries WHERE entity_type = 'sales.order'`)
	}
	orders := func() string {
		return postgrestest.Value[string](t, w.sales, `SELECT string_agg(concat_ws(' ', id, status, version), ',' ORDER BY id) FROM sales.orders`)
	}
	super := w.superuser()
	before, entries := orders(), audited()
	postgrestest.Exec(t, super, `ALTER TABLE platform.audit_entries ADD CONSTRAINT broken CHECK (entity_type <> 'sales.order') NOT VALID`)
	for _, request := range []struct {
		method, path string
		body         any
	}{
		{"POST", "/sales/orders", orderOf(1, "tok_visa")},
		{"POST", "/sales/orders/" + o.ID + "/cancellation", nil},
		{"POST", "/sales/orders/" + o.ID + "/payments", map[string]string{"paymentMethod": "tok_visa"}},
	} {
		if status, _, answer, err := alice.try(request.method, request.path, request.body); err != nil || status < 500 {
			t.Errorf("%s %s: %d %s %v", request.method, request.path, status, answer, err)
		}
	}
	postgrestest.Exec(t, w.sales, `UPDATE sales.orders SET expires_on = now() - interval '2 hours'`)
	postgrestest.Exec(t, w.sales, `UPDATE platform.internal_commands SET next_attempt_on = now() WHERE processed_on IS NULL`)
	w.due("300 ms")
	r.app.clocks[0].Wake()
	r.app.wakeRunners()
	w.within("the sweep and the expiry to fail", func() bool { return w.sweeps(`c.attempts > 0 AND c.last_error IS NOT NULL`) == 1 })
	if now := orders(); now != before || audited() != entries {
		t.Errorf("%s\nbecame\n%s, %d entries became %d", before, now, entries, audited())
	}
	postgrestest.Exec(t, super, `ALTER TABLE platform.audit_entries DROP CONSTRAINT broken`)

	// The reverse: the change fails after its entry was written.
	postgrestest.Exec(t, super, `ALTER TABLE platform.internal_commands ADD CONSTRAINT broken CHECK (name <> 'sales.expire_unpaid_order') NOT VALID`)
	if status, _, answer, err := alice.try("POST", "/sales/orders", orderOf(1, "tok_visa")); err != nil || status < 500 {
		t.Errorf("%d %s %v", status, answer, err)
	}
	if audited() != entries {
		t.Error("what was rolled back is in the trail")
	}
	postgrestest.Exec(t, super, `ALTER TABLE platform.internal_commands DROP CONSTRAINT broken`)
}

// No role of the database can change the trail by hand.
func TestTheTrailIsRefusedToEveryHand(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	w.start().as("alice@example.com").order(1, "tok_visa")
	for name, source := range map[string]*postgres.Source{"the program": w.sales, "a superuser": w.superuser()} {
		for _, statement := range []string{
			`UPDATE platform.audit_entries SET changed_by = 'nobody'`, `DELETE FROM platform.audit_entries`, `TRUNCATE platform.audit_entries`,
			`SELECT platform.purge_audit_entries('1 hour', 10)`,
		} {
			if err := source.InTx(t.Context(), statementOf(statement)); err == nil {
				t.Errorf("%s may %s", name, statement)
			}
		}
	}
}

func statementOf(statement string) func(context.Context, *postgres.Tx) error {
	return func(ctx context.Context, tx *postgres.Tx) error {
		_, err := tx.Exec(ctx, statement)
		return err
	}
}
