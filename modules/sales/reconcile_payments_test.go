package sales_test

import (
	"context"
	"errors"
	"testing"

	"example.com/plenary/modules/sales"
	"example.com/plenary/platform/postgres/postgrestest"
)

// leaveBehind removes every command, and lets time pass.
func (r *rig) leaveBehind() {
	r.t.Helper()
	postgrestest.Exec(r.t, r.source, `DELETE FROM platform.internal_commands`)
	postgrestest.Exec(r.t, r.source, `UPDATE sales.orders SET created_on = created_on - interval '3 hours', expires_on = expires_on - interval '3 hours'`)
	postgrestest.Exec(r.t, r.source, `UPDATE sales.payments SET initiated_on = initiated_on - interval '3 hours'`)
}

func TestReconciliationSeesToWhatWasLeftBehind(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	silent, declined, paid := r.place("tok_timeout"), r.place("tok_declined"), r.place("tok_visa")
	r.drain()
	if n := r.available(); n != 494 {
		t.Fatalf("%d available", n)
	}
	r.leaveBehind()
	if err := r.ReconcilePayments(context.Background(), sales.ReconcilePayments{}); err != nil {
		t.Fatal(err)
	}
	// The silent one is only settled now: expiry went first, and its order is seen to by the next sweep at the latest.
	if a, b, c := r.show(silent.ID), r.show(declined.ID), r.show(paid.ID); a.Status != sales.PaymentFailed || b.Status != sales.Expired || c.Status != sales.Paid {
		t.Errorf("silent %s, declined %s, paid %s", a.Status, b.Status, c.Status)
	}
	r.leaveBehind()
	for range 2 {
		if err := r.ReconcilePayments(context.Background(), sales.ReconcilePayments{}); err != nil {
			t.Fatal(err)
		}
	}
	if a := r.show(silent.ID); a.Status != sales.Expired || r.available() != 498 {
		t.Errorf("%s, %d available", a.Status, r.available())
	}
}

func TestReconciliationLeavesTheirTimeToOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	silent, declined := r.place("tok_timeout"), r.place("tok_declined")
	postgrestest.Exec(t, r.source, `DELETE FROM platform.internal_commands`)
	postgrestest.Exec(t, r.source, `UPDATE sales.orders SET expires_on = now() - interval '29 minutes'`)
	if err := r.ReconcilePayments(context.Background(), sales.ReconcilePayments{}); err != nil {
		t.Fatal(err)
	}
	if a, b := r.show(silent.ID), r.show(declined.ID); a.Status != sales.PaymentInitiated || b.Status != sales.PaymentFailed {
		t.Errorf("silent %s, declined %s", a.Status, b.Status)
	}
}

// away is a gateway that does not answer.
type away struct{ sales.Gateway }

func (away) Charge(context.Context, sales.Charge) (sales.Outcome, error) {
	return sales.Outcome{}, errors.New("away")
}

func TestReconciliationWhileTheGatewayIsAway(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	silent, declined := r.place("tok_timeout"), r.place("tok_declined")
	r.leaveBehind()
	r.gateway = away{}
	if err := r.ReconcilePayments(context.Background(), sales.ReconcilePayments{}); err == nil {
		t.Error("it is content")
	}
	if a, b := r.show(silent.ID), r.show(declined.ID); a.Status != sales.PaymentInitiated || b.Status != sales.Expired {
		t.Errorf("silent %s, declined %s", a.Status, b.Status)
	}
}
