package sales_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/uuid"

	"example.com/plenary/modules/sales"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/postgres/postgrestest"
)

func TestPayAgainAfterAFailure(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	o := r.place("tok_flaky")
	if o.Status != sales.PaymentFailed {
		t.Fatalf("%+v", o)
	}
	paid, err := r.PayOrder(r.alice, sales.PayOrder{OrderID: o.ID, PaymentMethod: "tok_flaky"})
	if err != nil || paid.Status != sales.Paid || paid.FailureReason != "" || paid.Version <= o.Version {
		t.Errorf("%+v, %v", paid, err)
	}
	r.drain()
	// The customer is told of both payments, and of the first one in the light of the second.
	if len(r.sent) != 2 || r.dead() != 0 {
		t.Fatalf("%d mails, %d failures", len(r.sent), r.dead())
	}
	for _, m := range r.sent {
		if strings.Contains(m.Subject, "failed") && (!strings.Contains(m.Text, "You have paid the order since then") || strings.Contains(m.Text, "pay again")) {
			t.Errorf("%s", m.Text)
		}
	}
}

func TestPayOrderRefuses(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	bob := identity.WithPrincipal(context.Background(), identity.User(uuid.New(), "customer"))
	failed, paid := r.place("tok_declined"), r.place("tok_visa")
	cases := map[string]struct {
		ctx  context.Context
		cmd  sales.PayOrder
		code string
	}{
		"nobody":            {context.Background(), sales.PayOrder{OrderID: failed.ID, PaymentMethod: "tok_visa"}, "unauthenticated"},
		"somebody else":     {bob, sales.PayOrder{OrderID: failed.ID, PaymentMethod: "tok_visa"}, "sales.order_not_found"},
		"an unknown order":  {r.alice, sales.PayOrder{OrderID: uuid.New(), PaymentMethod: "tok_visa"}, "sales.order_not_found"},
		"an unknown method": {r.alice, sales.PayOrder{OrderID: failed.ID, PaymentMethod: "cash"}, "invalid_input"},
		"paid already":      {r.alice, sales.PayOrder{OrderID: paid.ID, PaymentMethod: "tok_visa"}, "sales.already_paid"},
	}
	for name, c := range cases {
		if _, err := r.PayOrder(c.ctx, c.cmd); !fault.Is(err, c.code) {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
	postgrestest.Exec(t, r.source, `UPDATE sales.orders SET expires_on = now()`)
	if _, err := r.PayOrder(r.alice, sales.PayOrder{OrderID: failed.ID, PaymentMethod: "tok_visa"}); !fault.Is(err, "sales.order_closed") {
		t.Errorf("when its time is up: %v", err)
	}
}
