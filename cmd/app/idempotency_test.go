package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"example.com/plenary/platform/postgres/postgrestest"
)

func keyed(key string) []string { return []string{"Idempotency-Key", key} }

// The same key fifty times at once, on two replicas with ten connections each: one order, one charge, one answer.
func TestOneKeyFiftyTimes(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		w.environ["DATABASE_MAX_CONNS"] = "10"
		one, two := w.start(), w.start()
		alice := one.as("alice@example.com")
		elsewhere := alice
		elsewhere.base = two.base

		var group sync.WaitGroup
		answers := make([]string, 50)
		fresh := make([]bool, len(answers))
		for i := range answers {
			group.Go(func() {
				c := []client{alice, elsewhere}[i%2]
				status, header, answer, err := c.try("POST", "/sales/orders", orderOf(1, "tok_visa"), keyed("fifty")...)
				if err != nil || status != http.StatusCreated {
					t.Errorf("%d %v %s", status, err, answer)
				}
				answers[i] = header.Get("Location") + header.Get("ETag") + string(answer)
				fresh[i] = header.Get("Idempotency-Replayed") == ""
			})
		}
		group.Wait()
		n := 0
		for i := range answers {
			if answers[i] != answers[0] {
				t.Errorf("two answers:\n%s\n%s", answers[0], answers[i])
			}
			if fresh[i] {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d answers say that they are the first", n)
		}
		w.checkCounts(1, 1)
	})
}

func (w *world) checkCounts(orders, charges int) {
	w.t.Helper()
	if n := postgrestest.Value[int](w.t, w.sales, `SELECT count(*) FROM sales.orders`); n != orders {
		w.t.Errorf("%d orders, want %d", n, orders)
	}
	if n := postgrestest.Value[int](w.t, w.ledger, `SELECT count(*) FROM sandbox.charges`); n != charges {
		w.t.Errorf("%d charges, want %d", n, charges)
	}
}

func TestKeyIsBoundToWhoAsksForWhat(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	r := w.start()
	alice, bob := r.as("alice@example.com"), r.as("bob@example.com")
	send := func(c client, path string, body any, want int, replayed bool, code string) order {
		t.Helper()
		status, header, answer, err := c.try("POST", path, body, keyed("k")...)
		if err != nil || status != want || (header.Get("Idempotency-Replayed") == "true") != replayed || (code != "" && !strings.Contains(string(answer), `"`+code+`"`)) {
			t.Errorf("%s: %d (replayed %q) %s %v", path, status, header.Get("Idempotency-Replayed"), answer, err)
		}
		var o order
		_ = json.Unmarshal(answer, &o)
		return o
	}
	first := send(alice, "/sales/orders", orderOf(1, "tok_declined"), 201, false, "")
	again := send(alice, "/sales/orders", orderOf(1, "tok_declined"), 201, true, "")
	send(alice, "/sales/orders", orderOf(2, "tok_declined"), 422, false, "idempotency_key_reused")
	others := send(bob, "/sales/orders", orderOf(1, "tok_declined"), 201, false, "")
	if first.ID != again.ID || first.ID == others.ID {
		t.Errorf("alice %s and %s, bob %s", first.ID, again.ID, others.ID)
	}
	// The same key under another path is another request: alice pays, and asks again.
	pay := map[string]string{"paymentMethod": "tok_visa"}
	paid := send(alice, "/sales/orders/"+first.ID+"/payments", pay, 200, false, "")
	send(alice, "/sales/orders/"+first.ID+"/payments", pay, 200, true, "")
	if paid.Status != "paid" {
		t.Errorf("%+v", paid)
	}
	send(bob, "/sales/orders/"+others.ID+"/cancellation", map[string]string{}, 200, false, "")
	send(bob, "/sales/orders/"+others.ID+"/cancellation", map[string]string{}, 200, true, "")
	w.checkCounts(2, 3)

	for _, bad := range []string{"", strings.Repeat("k", 256), "clé"} {
		if status, _, answer, _ := alice.try("POST", "/sales/orders", orderOf(1, "tok_visa"), keyed(bad)...); status != 400 {
			t.Errorf("key %.10q: %d %s", bad, status, answer)
		}
	}
}

// Refusals and faults are not stored: with the cause gone, the key works.
func TestFailuresAreNotStored(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	alice := w.start().as("alice@example.com")
	send := func(want int) {
		t.Helper()
		if status, _, answer, err := alice.try("POST", "/sales/orders", orderOf(1, "tok_visa"), keyed("k")...); status != want || err != nil {
			t.Errorf("%d %s %v, want %d", status, answer, err, want)
		}
	}
	postgrestest.Exec(t, w.sales, `UPDATE sales.products SET available = 0 WHERE slug = 'conference-pass'`)
	send(409)
	postgrestest.Exec(t, w.sales, `UPDATE sales.products SET available = 5 WHERE slug = 'conference-pass'`)
	super := w.superuser()
	postgrestest.Exec(t, super, `ALTER TABLE sales.orders ADD CONSTRAINT boom CHECK (false) NOT VALID`)
	send(500)
	postgrestest.Exec(t, super, `ALTER TABLE sales.orders DROP CONSTRAINT boom`)
	send(201)
	w.checkCounts(1, 1)
}

// A request that is still at work after five seconds is not waited for any longer, and not started again.
func TestBusyKeyIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	alice := w.start().as("alice@example.com")
	trap := w.set("sales.payments", "UPDATE", "true")
	var first sync.WaitGroup
	first.Go(func() {
		if status, _, answer, err := alice.try("POST", "/sales/orders", orderOf(1, "tok_visa"), keyed("k")...); status != 201 || err != nil {
			t.Errorf("the first: %d %s %v", status, answer, err)
		}
	})
	trap.caught()
	status, header, answer, err := alice.try("POST", "/sales/orders", orderOf(1, "tok_visa"), keyed("k")...)
	if err != nil || status != 409 || header.Get("Retry-After") == "" || !strings.Contains(string(answer), "idempotency_in_progress") {
		t.Errorf("%d, Retry-After %q: %s %v", status, header.Get("Retry-After"), answer, err)
	}
	trap.remove()
	first.Wait()
	w.checkCounts(1, 1)
}

// The process dies at each step of a request. The key works again, and nothing is there twice.
func TestKilledRequestsKeyWorksAgain(t *testing.T) {
	t.Parallel()
	steps := []struct{ name, table, statement, condition string }{
		{"before the order", "sales.orders", "INSERT", "true"},
		{"with the key", "platform.idempotency_keys", "INSERT", "true"},
		{"before the outcome", "sales.payments", "UPDATE", "true"},
		{"with the answer", "platform.idempotency_keys", "UPDATE", "NEW.status IS NOT NULL"},
	}
	for _, step := range steps {
		for _, lands := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, lands=%v", step.name, lands), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, true)
				p := w.spawn()
				alice := p.as("alice@example.com")
				trap := w.set(step.table, step.statement, step.condition)
				asked := make(chan struct{})
				go func() {
					defer close(asked)
					_, _, _, _ = alice.try("POST", "/sales/orders", orderOf(1, "tok_visa"), keyed("k")...)
				}()
				trap.caught()
				p.kill()
				<-asked
				if !lands {
					trap.end()
				}
				trap.remove()
				// The dead run's claim is over when its time is; the test moves the row instead of the clock.
				postgrestest.Exec(t, w.sales, `UPDATE platform.idempotency_keys SET claimed_until = now() WHERE claimed_until IS NOT NULL`)
				again := alice
				again.base = w.spawn().base
				var answer []byte
				w.within("the answer", func() bool {
					var status int
					var err error
					status, _, answer, err = again.try("POST", "/sales/orders", orderOf(1, "tok_visa"), keyed("k")...)
					return err == nil && status == 201
				})
				var o order
				if err := json.Unmarshal(answer, &o); err != nil || again.show(o.ID).Status != "paid" {
					t.Errorf("%s %v", answer, err)
				}
				w.checkCounts(1, 1)
			})
		}
	}
}
