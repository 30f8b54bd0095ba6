package sales_test

import (
	"context"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"example.com/plenary/modules/sales"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/postgres/postgrestest"
)

// Whatever customer, clock, gateway and queue do to an order, in whatever order and at the same time: tickets are
// neither lost nor made, money is taken once, and an order that is closed stays so.
func TestOrderUnderRandomInterleavings(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const stock = 500
	rapid.Check(t, func(rt *rapid.T) {
		for _, table := range []string{
			"sales.payments", "sales.order_lines", "sales.orders", "sandbox.charges", "platform.internal_commands", "platform.deliveries", "platform.events",
		} {
			postgrestest.Exec(t, r.source, `DELETE FROM `+table)
		}
		postgrestest.Exec(t, r.source, `UPDATE sales.products SET available = $1 WHERE id = $2`, stock, pass)
		methods := rapid.SampledFrom([]string{"tok_visa", "tok_declined", "tok_flaky", "tok_timeout", "tok_insufficient_funds"})
		o := r.place(methods.Draw(rt, "first payment"))
		final := map[sales.Status]bool{sales.Paid: true, sales.Cancelled: true, sales.Expired: true}

		steps := map[string]func(){
			"pay":    func() { r.try(rt, r.pay(o, methods.Draw(rt, "payment"))) },
			"cancel": func() { r.try(rt, r.cancel(o)) },
			"time passes": func() {
				r.overdue()
				r.drain()
			},
			"the queue works": func() {
				r.due("sales.settle_payment")
				r.due("sales.send_payment_failed_email")
				r.drain()
			},
			"everything at once": func() {
				method := methods.Draw(rt, "payment")
				r.overdue()
				r.due("sales.settle_payment")
				var group sync.WaitGroup
				for _, do := range []func() error{
					r.pay(o, method), r.cancel(o), r.pay(o, method), r.cancel(o),
					func() error { return r.runner.Drain(context.Background()) },
				} {
					group.Go(func() {
						if err := do(); err != nil && fault.KindOf(err) != fault.Conflict {
							t.Error(err)
						}
					})
				}
				group.Wait()
			},
		}
		names := []string{"pay", "cancel", "time passes", "the queue works", "everything at once"}
		before := r.show(o.ID).Status
		for range rapid.IntRange(1, 5).Draw(rt, "steps") {
			steps[rapid.SampledFrom(names).Draw(rt, "step")]()
			after := r.show(o.ID).Status
			if final[before] && after != before {
				rt.Fatalf("%s became %s", before, after)
			}
			before = after
			r.checkBooks(rt, o, stock)
		}
		// In the end the queue settles everything.
		r.due("sales.settle_payment")
		r.drain()
		r.drain()
		if status := r.show(o.ID).Status; status == sales.PaymentInitiated {
			rt.Fatalf("a payment was never settled")
		}
		r.checkBooks(rt, o, stock)
	})
}

func (r *rig) pay(o sales.Order, method string) func() error {
	return func() error {
		_, err := r.PayOrder(r.alice, sales.PayOrder{OrderID: o.ID, PaymentMethod: method})
		return err
	}
}

func (r *rig) cancel(o sales.Order) func() error {
	return func() error {
		_, err := r.CancelOrder(r.alice, sales.CancelOrder{OrderID: o.ID})
		return err
	}
}

// try lets a step be refused, but not fail.
func (r *rig) try(rt *rapid.T, step func() error) {
	if err := step(); err != nil && fault.KindOf(err) != fault.Conflict {
		rt.Fatal(err)
	}
}

// checkBooks holds the order, its payments, the gateway's ledger and the stock together.
func (r *rig) checkBooks(rt *rapid.T, o sales.Order, stock int) {
	r.t.Helper()
	var status sales.Status
	var quantity, available, approved, charged, open, dead int
	err := r.source.QueryRow(context.Background(), `
		SELECT status, (SELECT sum(quantity) FROM sales.order_lines), (SELECT available FROM sales.products WHERE id = $2),
			(SELECT count(*) FROM sales.payments WHERE status = 'approved'),
			(SELECT count(*) FROM sandbox.charges WHERE outcome = 'approved'),
			(SELECT count(*) FROM sales.payments WHERE status = 'initiated'),
			(SELECT count(*) FROM platform.internal_commands WHERE dead_lettered_on IS NOT NULL)
		FROM sales.orders WHERE id = $1`, o.ID, pass).Scan(&status, &quantity, &available, &approved, &charged, &open, &dead)
	if err != nil {
		rt.Fatal(err)
	}
	held := quantity
	if status == sales.Cancelled || status == sales.Expired {
		held = 0
	}
	if available != stock-held {
		rt.Fatalf("%s: %d of %d available, %d held", status, available, stock, held)
	}
	if (status == sales.Paid) != (approved == 1) || approved > 1 || charged > 1 {
		rt.Fatalf("%s with %d approved payments and %d charges", status, approved, charged)
	}
	if (status == sales.PaymentInitiated) != (open == 1) {
		rt.Fatalf("%s with %d payments under way", status, open)
	}
	if dead != 0 {
		rt.Fatalf("%d dead letters", dead)
	}
}
