package sales_test

import (
	"context"
	"testing"

	"github.com/google/uuid"

	"example.com/plenary/modules/sales"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/postgres/postgrestest"
)

func TestPlaceOrderRefuses(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	line := func(product uuid.UUID, quantity int) []sales.OrderedLine {
		return []sales.OrderedLine{{ProductID: product, Quantity: quantity}}
	}
	yen := uuid.New()
	postgrestest.Exec(t, r.source, `INSERT INTO sales.products (id, slug, name, description, price, currency, available, event_id)
		VALUES ($1, 'yen', 'Yen', '', 100, 'JPY', 10, $1)`, yen)
	dear := uuid.New()
	postgrestest.Exec(t, r.source, `INSERT INTO sales.products (id, slug, name, description, price, currency, available, event_id)
		VALUES ($1, 'dear', 'Dear', '', 9223372036854775807, 'EUR', 10, $1)`, dear)
	cases := map[string]struct {
		ctx  context.Context
		cmd  sales.PlaceOrder
		code string
	}{
		"nobody":              {context.Background(), sales.PlaceOrder{Lines: line(pass, 1), PaymentMethod: "tok_visa"}, "unauthenticated"},
		"no lines":            {r.alice, sales.PlaceOrder{PaymentMethod: "tok_visa"}, "invalid_input"},
		"too many lines":      {r.alice, sales.PlaceOrder{Lines: make([]sales.OrderedLine, 21), PaymentMethod: "tok_visa"}, "invalid_input"},
		"none of it":          {r.alice, sales.PlaceOrder{Lines: line(pass, 0), PaymentMethod: "tok_visa"}, "invalid_input"},
		"less than none":      {r.alice, sales.PlaceOrder{Lines: line(pass, -5), PaymentMethod: "tok_visa"}, "invalid_input"},
		"too many of it":      {r.alice, sales.PlaceOrder{Lines: line(pass, 21), PaymentMethod: "tok_visa"}, "invalid_input"},
		"an unknown product":  {r.alice, sales.PlaceOrder{Lines: line(uuid.New(), 1), PaymentMethod: "tok_visa"}, "invalid_input"},
		"an unknown method":   {r.alice, sales.PlaceOrder{Lines: line(pass, 1), PaymentMethod: "cash"}, "invalid_input"},
		"mixed currencies":    {r.alice, sales.PlaceOrder{Lines: append(line(pass, 1), line(yen, 1)...), PaymentMethod: "tok_visa"}, "sales.mixed_currencies"},
		"an amount too large": {r.alice, sales.PlaceOrder{Lines: line(dear, 2), PaymentMethod: "tok_visa"}, "sales.amount_too_large"},
		"more than there are": {r.alice, sales.PlaceOrder{Lines: line(yen, 11), PaymentMethod: "tok_visa"}, "sales.out_of_stock"},
		"more, on two lines":  {r.alice, sales.PlaceOrder{Lines: append(line(yen, 6), line(yen, 6)...), PaymentMethod: "tok_visa"}, "sales.out_of_stock"},
	}
	for name, c := range cases {
		if _, err := r.PlaceOrder(c.ctx, c.cmd); !fault.Is(err, c.code) {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
	left := postgrestest.Value[int](t, r.source, `
		SELECT (SELECT count(*) FROM sales.orders) + (SELECT count(*) FROM platform.internal_commands) + (SELECT count(*) FROM sandbox.charges)`)
	if left != 0 || r.available() != 500 {
		t.Errorf("refused orders left %d rows, %d available", left, r.available())
	}
}

// Order, reservation, payment, expiry and the later look at the payment are one fact.
func TestPlacedOrderIsOneFact(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	o := r.place("tok_visa")
	if o.Status != sales.Paid || o.Total != (sales.Money{Amount: 25800, Currency: "EUR"}) || len(o.Number) != 11 || r.available() != 498 {
		t.Errorf("%+v, %d available", o, r.available())
	}
	names := postgrestest.Value[string](t, r.source, `
		SELECT string_agg(name, ' ' ORDER BY name) FROM platform.internal_commands WHERE user_id = $1 AND roles = '{customer}'`, r.id.String())
	if names != "sales.expire_unpaid_order sales.settle_payment" {
		t.Errorf("armed: %s", names)
	}
	if n := postgrestest.Value[int](t, r.source, `SELECT count(*) FROM platform.events WHERE name = 'sales.order_paid'`); n != 1 {
		t.Errorf("%d events", n)
	}
}
