package sales_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/postgres/postgrestest"
)

func TestDeclineIsToldOnceAndGivesTime(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	o := r.place("tok_insufficient_funds")
	// The order is nearly an hour old by the time the payment fails.
	postgrestest.Exec(t, r.source, `UPDATE sales.orders SET created_on = now() - interval '50 minutes', expires_on = now() + interval '1 minute'`)
	r.drain()
	if len(r.sent) != 1 {
		t.Fatalf("%d mails", len(r.sent))
	}
	m := r.sent[0]
	if !strings.Contains(m.Subject, o.Number) || m.To.Email != "alice@example.com" || !strings.Contains(m.Text, "http://plenary.test/orders/"+o.ID.String()) ||
		!strings.Contains(m.HTML, "does not cover") || m.ID == "" {
		t.Errorf("%+v", m)
	}
	left := postgrestest.Value[time.Duration](t, r.source, `SELECT expires_on - now() FROM sales.orders`)
	if left < 29*time.Minute || left > 30*time.Minute {
		t.Errorf("%v left to pay again", left)
	}
	armed := postgrestest.Value[bool](t, r.source, `
		SELECT bool_or(c.scheduled_on = o.expires_on) FROM platform.internal_commands c, sales.orders o WHERE c.name = 'sales.expire_unpaid_order'`)
	if !armed {
		t.Error("no expiry is armed for the new deadline")
	}
}

func TestMailThatFailsIsTriedAgainUnderTheSameID(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.mailErr = fault.Wrap(errors.New("451"), fault.Unavailable, "mail.unavailable", "busy")
	r.place("tok_declined")
	r.drain()
	id := postgrestest.Value[string](t, r.source, `SELECT id::text FROM platform.internal_commands WHERE name = 'sales.send_payment_failed_email' AND attempts = 1`)
	r.mailErr = nil
	r.due("sales.send_payment_failed_email")
	r.drain()
	if len(r.sent) != 1 || r.sent[0].ID != id {
		t.Errorf("%+v, want the command's id %s", r.sent, id)
	}
}

func TestMailToNobodyIsSuccess(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	delete(r.contacts, r.id)
	r.place("tok_declined")
	r.place("tok_visa")
	r.drain()
	if len(r.sent) != 0 || r.dead() != 0 {
		t.Errorf("%d mails, %d failures", len(r.sent), r.dead())
	}
}
