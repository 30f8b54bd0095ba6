package sales_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/plenary/modules/sales"
	"example.com/plenary/platform/postgres/postgrestest"
)

// silent is a gateway that does not answer until it is told to.
type silent struct {
	sales.Gateway
	answers atomic.Bool
}

func (s *silent) Charge(ctx context.Context, c sales.Charge) (sales.Outcome, error) {
	if !s.answers.Load() {
		return sales.Outcome{}, errors.New("connection reset")
	}
	return s.Gateway.Charge(ctx, c)
}

func TestSilenceIsAskedAbout(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	g := &silent{Gateway: r.gateway}
	r.gateway = g
	o := r.place("tok_visa")
	if o.Status != sales.PaymentInitiated {
		t.Fatalf("%+v", o)
	}
	// While the gateway is away the payment is asked for again and again, and the order does not expire.
	r.overdue()
	r.due("sales.settle_payment")
	r.drain()
	if got := r.show(o.ID); got.Status != sales.PaymentInitiated {
		t.Errorf("%+v", got)
	}
	g.answers.Store(true)
	r.due("sales.settle_payment")
	r.drain()
	if got := r.show(o.ID); got.Status != sales.Paid || len(r.sent) != 1 {
		t.Errorf("%+v, %d mails", got, len(r.sent))
	}
}

// The one who pays and settle_payment both get an answer; the second finds the payment settled.
func TestSecondToSettleChangesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	o := r.place("tok_declined")
	r.due("sales.settle_payment")
	r.drain()
	r.due("sales.settle_payment")
	r.drain()
	if got := r.show(o.ID); got.Status != sales.PaymentFailed || len(r.sent) != 1 || r.dead() != 0 {
		t.Errorf("%+v, %d mails, %d failures", got, len(r.sent), r.dead())
	}
	if n := postgrestest.Value[int](t, r.source, `SELECT count(*) FROM platform.events`); n != 1 {
		t.Errorf("%d events", n)
	}
}

// slow is a gateway whose first answer takes its time.
type slow struct {
	sales.Gateway
	calls   atomic.Int32
	asked   chan struct{}
	release chan struct{}
}

func (s *slow) Charge(ctx context.Context, c sales.Charge) (sales.Outcome, error) {
	outcome, err := s.Gateway.Charge(ctx, c)
	if s.calls.Add(1) == 1 {
		close(s.asked)
		<-s.release
	}
	return outcome, err
}

// While the customer waits for the gateway, settle_payment comes and records the outcome. The customer is told the
// same, and nothing counts as failed.
func TestSlowerOneReportsWhatTheFasterRecorded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	g := &slow{Gateway: r.gateway, asked: make(chan struct{}), release: make(chan struct{})}
	r.gateway = g
	var o sales.Order
	var err error
	var customer sync.WaitGroup
	customer.Go(func() {
		o, err = r.PlaceOrder(r.alice, sales.PlaceOrder{Lines: []sales.OrderedLine{{ProductID: pass, Quantity: 1}}, PaymentMethod: "tok_visa"})
	})
	<-g.asked
	r.due("sales.settle_payment")
	r.drain()
	close(g.release)
	customer.Wait()
	if err != nil || o.Status != sales.Paid || r.dead() != 0 {
		t.Errorf("%+v, %v, %d failures", o, err, r.dead())
	}
	if n := postgrestest.Value[int](t, r.source, `SELECT count(*) FROM platform.events`); n != 1 {
		t.Errorf("%d events", n)
	}
}
