package sales_test

import (
	"context"
	"testing"

	"github.com/google/uuid"

	"example.com/plenary/modules/sales"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/identity"
)

func TestCancelGivesBackOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	o := r.place("tok_declined")
	bob := identity.WithPrincipal(context.Background(), identity.User(uuid.New(), "customer"))
	if _, err := r.CancelOrder(bob, sales.CancelOrder{OrderID: o.ID}); !fault.Is(err, "sales.order_not_found") {
		t.Errorf("somebody else: %v", err)
	}
	cancelled, err := r.CancelOrder(r.alice, sales.CancelOrder{OrderID: o.ID})
	if err != nil || cancelled.Status != sales.Cancelled || r.available() != 500 {
		t.Errorf("%+v, %v, %d available", cancelled, err, r.available())
	}
	if _, err := r.CancelOrder(r.alice, sales.CancelOrder{OrderID: o.ID}); !fault.Is(err, "sales.order_closed") {
		t.Errorf("the second time: %v", err)
	}
	r.overdue()
	r.drain()
	if got := r.show(o.ID); got.Status != sales.Cancelled || r.available() != 500 || r.dead() != 0 {
		t.Errorf("%+v, %d available, %d failures", got, r.available(), r.dead())
	}
}

func TestPaidOrderIsNotCancelled(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	o := r.place("tok_visa")
	if _, err := r.CancelOrder(r.alice, sales.CancelOrder{OrderID: o.ID}); !fault.Is(err, "sales.already_paid") || r.available() != 498 {
		t.Errorf("%v, %d available", err, r.available())
	}
}
