package sales

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/platform/fault"
)

// Every transition from every status: what it leads to, or the code of the refusal.
func TestOrderTransitions(t *testing.T) {
	t.Parallel()
	current, other := uuid.New(), uuid.New()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	overdue := func(o *Order) error { return o.Expire(now.Add(time.Hour)) }
	early := func(o *Order) error { return o.Expire(now) }
	pay := func(o *Order) error { return o.InitiatePayment(other, now) }
	payLate := func(o *Order) error { return o.InitiatePayment(other, now.Add(time.Minute)) }
	cancel := func(o *Order) error { return o.Cancel() }
	approve := func(o *Order) error { return o.MarkPaid(current) }
	stale := func(o *Order) error { return o.MarkPaid(other) }
	decline := func(o *Order) error { return o.MarkPaymentFailed(current, "card_declined") }
	staleDecline := func(o *Order) error { return o.MarkPaymentFailed(other, "card_declined") }
	extend := func(o *Order) error { return o.ExtendAfterFailure(now, time.Hour) }

	const closed, paid, busy, state = "sales.order_closed", "sales.already_paid", "sales.payment_in_progress", "sales.order_state"
	cases := []struct {
		from Status
		name string
		do   func(*Order) error
		want string // a status, or a code
	}{
		{PendingPayment, "pay", pay, string(PaymentInitiated)},
		{PendingPayment, "pay when the time is up", payLate, closed},
		{PendingPayment, "cancel", cancel, string(Cancelled)},
		{PaymentInitiated, "cancel", cancel, busy},
		{PaymentFailed, "cancel", cancel, string(Cancelled)},
		{PaymentFailed, "pay when the time is up", payLate, closed},
		{PendingPayment, "approve", approve, state},
		{PendingPayment, "decline", decline, state},
		{PendingPayment, "expire early", early, "sales.not_expired"},
		{PendingPayment, "expire", overdue, string(Expired)},
		{PendingPayment, "extend", extend, state},
		{PaymentInitiated, "pay", pay, busy},
		{PaymentInitiated, "approve", approve, string(Paid)},
		{PaymentInitiated, "approve another payment", stale, busy},
		{PaymentInitiated, "decline", decline, string(PaymentFailed)},
		{PaymentInitiated, "decline another payment", staleDecline, busy},
		{PaymentInitiated, "expire", overdue, busy},
		{PaymentInitiated, "extend", extend, busy},
		{PaymentFailed, "pay", pay, string(PaymentInitiated)},
		{PaymentFailed, "approve", approve, state},
		{PaymentFailed, "decline", decline, state},
		{PaymentFailed, "expire early", early, "sales.not_expired"},
		{PaymentFailed, "expire", overdue, string(Expired)},
		{PaymentFailed, "extend", extend, string(PaymentFailed)},
	}
	for from, code := range map[Status]string{Paid: paid, Cancelled: closed, Expired: closed} {
		for name, do := range map[string]func(*Order) error{
			"pay": pay, "cancel": cancel, "approve": approve, "decline": decline, "expire": overdue, "extend": extend,
		} {
			cases = append(cases, struct {
				from Status
				name string
				do   func(*Order) error
				want string
			}{from, name, do, code})
		}
	}
	for _, c := range cases {
		o := Order{Status: c.from, PaymentID: current, CreatedOn: now.Add(-time.Hour), ExpiresOn: now.Add(time.Minute)}
		before := fmt.Sprintf("%+v", o)
		err := c.do(&o)
		if err == nil && string(o.Status) != c.want {
			t.Errorf("%s, %s: became %s, want %s", c.from, c.name, o.Status, c.want)
		}
		if err != nil {
			if !fault.Is(err, c.want) || fault.KindOf(err) != fault.Conflict {
				t.Errorf("%s, %s: %v, want %s", c.from, c.name, err, c.want)
			}
			if after := fmt.Sprintf("%+v", o); after != before {
				t.Errorf("%s, %s: refused, yet changed:\n%s\n%s", c.from, c.name, before, after)
			}
		}
	}
}

func TestFailedPaymentGivesTimeWithinTwoHours(t *testing.T) {
	t.Parallel()
	created := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	cases := []struct {
		name                 string
		expires, now, window time.Duration // after creation
		want                 time.Duration
	}{
		{"another window", 30 * time.Minute, 10 * time.Minute, 30 * time.Minute, 40 * time.Minute},
		{"but not past two hours", 30 * time.Minute, 110 * time.Minute, 30 * time.Minute, 2 * time.Hour},
		{"and never less than before", 3 * time.Hour, 110 * time.Minute, 30 * time.Minute, 3 * time.Hour},
		{"a failure in the first second", 30 * time.Minute, 0, 30 * time.Minute, 30 * time.Minute},
	}
	for _, c := range cases {
		o := Order{Status: PaymentFailed, CreatedOn: created, ExpiresOn: created.Add(c.expires)}
		if err := o.ExtendAfterFailure(created.Add(c.now), c.window); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := o.ExpiresOn.Sub(created); got != c.want {
			t.Errorf("%s: open for %v, want %v", c.name, got, c.want)
		}
	}
}
