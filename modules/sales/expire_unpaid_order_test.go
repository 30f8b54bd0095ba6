package sales_test

import (
	"testing"

	"example.com/plenary/modules/sales"
	"example.com/plenary/platform/postgres/postgrestest"
)

func TestExpiryGivesBackOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	o := r.place("tok_declined")
	r.drain()
	if r.available() != 498 {
		t.Fatalf("%d available", r.available())
	}
	// Two commands are armed: the order's and the failed payment's. Both come due.
	r.overdue()
	r.drain()
	if got := r.show(o.ID); got.Status != sales.Expired || r.available() != 500 || r.dead() != 0 {
		t.Errorf("%+v, %d available, %d failures", got, r.available(), r.dead())
	}
}

func TestExpiryDecidesByTheOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	paid, open := r.place("tok_visa"), r.place("tok_declined")
	r.drain()
	// The commands come early, or after the order was paid: neither changes anything.
	r.due("sales.expire_unpaid_order")
	postgrestest.Exec(t, r.source, `UPDATE sales.orders SET expires_on = now() WHERE id = $1`, paid.ID)
	r.drain()
	if a, b := r.show(paid.ID), r.show(open.ID); a.Status != sales.Paid || b.Status != sales.PaymentFailed || r.available() != 496 || r.dead() != 0 {
		t.Errorf("paid %s, open %s, %d available, %d failures", a.Status, b.Status, r.available(), r.dead())
	}
}

func TestExpiryOfAnOrderThatIsGone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.place("tok_declined")
	for _, table := range []string{"payments", "order_lines", "orders"} {
		postgrestest.Exec(t, r.source, `DELETE FROM sales.`+table)
	}
	r.due("sales.expire_unpaid_order")
	r.due("sales.settle_payment")
	r.drain()
	if len(r.sent) != 0 || r.dead() != 0 {
		t.Errorf("%d mails, %d failures", len(r.sent), r.dead())
	}
}
