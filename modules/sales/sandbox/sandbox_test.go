package sandbox_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/migrations"
	"example.com/plenary/modules/sales"
	"example.com/plenary/modules/sales/sandbox"
	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/postgres/postgrestest"
)

func newGateway(t *testing.T) (*sandbox.Gateway, *postgres.Source) {
	t.Helper()
	set := postgres.Migrations{Source: "sandbox", Files: migrations.Of("sandbox")}
	ledger := postgrestest.Open(t, postgrestest.With(set)).Source("sandbox")
	return sandbox.New(ledger), ledger
}

func charge(order uuid.UUID, method string) sales.Charge {
	return sales.Charge{PaymentID: uuid.New(), OrderID: order, Method: method, Amount: sales.Money{Amount: 100, Currency: "EUR"}}
}

func TestMethodsSayWhatHappens(t *testing.T) {
	t.Parallel()
	g, _ := newGateway(t)
	order := uuid.New()
	for _, c := range []struct {
		method   string
		approved bool
		reason   string
	}{
		{"tok_visa", true, ""},
		{"tok_declined", false, "card_declined"},
		{"tok_insufficient_funds", false, "insufficient_funds"},
	} {
		got, err := g.Charge(context.Background(), charge(uuid.New(), c.method))
		if err != nil || got.Approved != c.approved || got.Reason != c.reason || !g.Knows(c.method) {
			t.Errorf("%s: %+v, %v", c.method, got, err)
		}
	}
	first, _ := g.Charge(context.Background(), charge(order, "tok_flaky"))
	second, _ := g.Charge(context.Background(), charge(order, "tok_flaky"))
	if first.Approved || !second.Approved {
		t.Errorf("flaky: %+v, then %+v", first, second)
	}
	if g.Knows("cash") {
		t.Error("knows cash")
	}
}

func TestOneKeyIsChargedOnce(t *testing.T) {
	t.Parallel()
	g, ledger := newGateway(t)
	c := charge(uuid.New(), "tok_flaky")
	var group sync.WaitGroup
	outcomes := make([]sales.Outcome, 20)
	for i := range outcomes {
		group.Go(func() {
			var err error
			if outcomes[i], err = g.Charge(context.Background(), c); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for _, o := range outcomes {
		if o != outcomes[0] {
			t.Errorf("one key, two answers: %+v and %+v", o, outcomes[0])
		}
	}
	if n := postgrestest.Value[int](t, ledger, `SELECT count(*) FROM sandbox.charges`); n != 1 {
		t.Errorf("charged %d times", n)
	}
}

func TestSilenceHasCharged(t *testing.T) {
	t.Parallel()
	g, ledger := newGateway(t)
	c := charge(uuid.New(), "tok_timeout")
	ctx, hangUp := context.WithCancel(context.Background())
	defer hangUp()
	silence := make(chan error, 1)
	go func() {
		_, err := g.Charge(ctx, c)
		silence <- err
	}()
	charges := func() int { return postgrestest.Value[int](t, ledger, `SELECT count(*) FROM sandbox.charges`) }
	for charges() == 0 {
		if len(silence) > 0 {
			t.Fatalf("it answered before it charged: %v", <-silence)
		}
	}
	hangUp()
	if err := <-silence; !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	again, err := g.Charge(ctx, c)
	if err != nil || again.Approved || again.Reason != "no_answer" {
		t.Errorf("asked again: %+v, %v", again, err)
	}
	if n := charges(); n != 1 {
		t.Errorf("charged %d times", n)
	}
}
