package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/plenary/platform/postgres/postgrestest"
)

// The story: a card is declined, the customer hears of it at once, and when the time is up the order closes and
// its tickets are free again.
func TestDeclinedPayment(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		r := w.start()
		alice := r.as("alice@example.com")
		before := w.available("conference-pass")

		o := alice.order(2, "tok_declined")
		if o.Status != "payment_failed" || o.FailureReason == nil || *o.FailureReason != "card_declined" || o.Total.Amount != 25800 {
			t.Errorf("%+v", o)
		}
		w.within("the mail", func() bool { return w.about(o.Number) == 1 })
		mail := w.sent(t)[0]
		if mail.To != "alice@example.com" || !strings.Contains(mail.Text, "http://plenary.test/orders/"+o.ID) {
			t.Errorf("mail: %+v", mail)
		}
		if got := w.available("conference-pass"); got != before-2 {
			t.Errorf("%d available, want %d", got, before-2)
		}
		w.within("quiet", w.settled)

		// Its time comes.
		postgrestest.Exec(t, w.sales, `UPDATE sales.orders SET expires_on = now()`)
		postgrestest.Exec(t, w.sales, `UPDATE platform.internal_commands SET next_attempt_on = now() WHERE name = 'sales.expire_unpaid_order'`)
		r.app.wakeRunners()
		w.within("the expiry", func() bool { return alice.show(o.ID).Status == "expired" })
		w.within("quiet", w.settled)
		if got := w.available("conference-pass"); got != before {
			t.Errorf("%d available after the expiry, want %d", got, before)
		}
		if n := w.about(o.Number); n != 1 {
			t.Errorf("%d mails", n)
		}
	})
}

func TestApprovedPayment(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		r := w.start()
		alice := r.as("alice@example.com")
		o := alice.order(1, "tok_visa")
		if o.Status != "paid" || o.FailureReason != nil {
			t.Errorf("%+v", o)
		}
		w.within("the confirmation", func() bool { return w.about(o.Number) == 1 })
		// The expiry that was armed with the order finds it paid.
		before := w.available("conference-pass")
		postgrestest.Exec(t, w.sales, `UPDATE sales.orders SET expires_on = now()`)
		postgrestest.Exec(t, w.sales, `UPDATE platform.internal_commands SET next_attempt_on = now() WHERE processed_on IS NULL`)
		r.app.wakeRunners()
		w.within("quiet", w.settled)
		if got := alice.show(o.ID); got.Status != "paid" || w.available("conference-pass") != before {
			t.Errorf("%+v, %d available", got, w.available("conference-pass"))
		}
	})
}

// The gateway charges and does not answer. The order says so at once, and settle_payment finds out.
func TestSilentGateway(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		alice := w.start().as("alice@example.com")
		o := alice.order(1, "tok_timeout")
		if o.Status != "payment_initiated" {
			t.Errorf("%+v", o)
		}
		w.within("the settlement", func() bool { return alice.show(o.ID).Status == "payment_failed" })
		w.within("the mail", func() bool { return w.about(o.Number) == 1 })
		if n := postgrestest.Value[int](t, w.ledger, `SELECT count(*) FROM sandbox.charges`); n != 1 {
			t.Errorf("charged %d times", n)
		}
	})
}

// A mail server that is away is waited for; nothing is lost and nothing comes twice.
func TestMailServerThatIsAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	r := w.start()
	w.mails.SetDown(true)
	o := r.as("alice@example.com").order(1, "tok_declined")
	w.within("a failed attempt", func() bool {
		return postgrestest.Value[int](t, w.sales, `SELECT coalesce(max(attempts), 0) FROM platform.internal_commands WHERE name = 'sales.send_payment_failed_email'`) == 1
	})
	w.mails.SetDown(false)
	postgrestest.Exec(t, w.sales, `UPDATE platform.internal_commands SET next_attempt_on = now() WHERE name = 'sales.send_payment_failed_email'`)
	r.app.wakeRunners()
	w.within("the mail", func() bool { return w.about(o.Number) == 1 })
}

// The customer, or the order, is gone by the time the mail is sent: that is success, not a reason to try again.
func TestMissingOrderOrCustomerIsSuccess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	r := w.start()
	alice := r.as("alice@example.com")
	w.mails.SetDown(true)
	alice.order(1, "tok_declined")
	failed := func() bool {
		return postgrestest.Value[int](t, w.sales, `SELECT coalesce(max(attempts), 0) FROM platform.internal_commands WHERE name = 'sales.send_payment_failed_email'`) == 1
	}
	w.within("a failed attempt", failed)
	w.mails.SetDown(false)
	postgrestest.Exec(t, w.sales, `DELETE FROM platform.users WHERE email = 'alice@example.com'`)
	postgrestest.Exec(t, w.sales, `UPDATE platform.internal_commands SET next_attempt_on = now() WHERE name = 'sales.send_payment_failed_email'`)
	r.app.wakeRunners()
	w.within("the end", func() bool {
		return postgrestest.Value[bool](t, w.sales, `SELECT processed_on IS NOT NULL FROM platform.internal_commands WHERE name = 'sales.send_payment_failed_email'`)
	})
	if n := len(w.sent(t)); n != 0 {
		t.Errorf("%d mails to nobody", n)
	}
	postgrestest.Exec(t, w.sales, `DELETE FROM sales.payments; `)
	postgrestest.Exec(t, w.sales, `DELETE FROM sales.order_lines`)
	postgrestest.Exec(t, w.sales, `DELETE FROM sales.orders`)
	postgrestest.Exec(t, w.sales, `UPDATE platform.internal_commands SET next_attempt_on = now() WHERE processed_on IS NULL`)
	r.app.wakeRunners()
	w.within("quiet", w.settled)
	if n := postgrestest.Value[int](t, w.sales, `SELECT count(*) FROM platform.internal_commands WHERE dead_lettered_on IS NOT NULL OR attempts > 2`); n != 0 {
		t.Errorf("%d commands failed\n%s", n, w.rows())
	}
}

func TestFiftyOrdersForTheLastTenTickets(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		one, two := w.start(), w.start()
		clients := []client{one.as("alice@example.com"), two.as("bob@example.com")}
		postgrestest.Exec(t, w.sales, `UPDATE sales.products SET available = 10 WHERE slug = 'student-pass'`)
		const product = "01936d10-0000-7000-8000-000000000103"

		var group sync.WaitGroup
		statuses := make([]int, 50)
		for i := range statuses {
			group.Go(func() {
				status, _, answer, err := clients[i%2].try("POST", "/sales/orders", ordered(product, 1, "tok_declined"))
				if err != nil {
					t.Error(err)
				}
				if statuses[i] = status; status == http.StatusConflict && !strings.Contains(string(answer), `"sales.out_of_stock"`) {
					t.Errorf("%s", answer)
				}
			})
		}
		group.Wait()
		count := map[int]int{}
		for _, s := range statuses {
			count[s]++
		}
		if count[http.StatusCreated] != 10 || count[http.StatusConflict] != 40 || w.available("student-pass") != 0 {
			t.Errorf("answers %v, %d available", count, w.available("student-pass"))
		}
		w.within("the mails", func() bool { return len(w.sent(t)) == 10 && w.settled() })

		// All of them expire, and some of the commands come twice.
		postgrestest.Exec(t, w.sales, `UPDATE sales.orders SET expires_on = now()`)
		postgrestest.Exec(t, w.sales, `UPDATE platform.internal_commands SET next_attempt_on = now() WHERE name = 'sales.expire_unpaid_order'`)
		one.app.wakeRunners()
		two.app.wakeRunners()
		w.within("quiet", w.settled)
		if got := w.available("student-pass"); got != 10 {
			t.Errorf("%d tickets are back, want 10", got)
		}
	})
}

func TestTwoReplicasDoEverythingOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		one, two := w.start(), w.start()
		clients := []client{one.as("alice@example.com"), two.as("bob@example.com")}
		var group sync.WaitGroup
		orders := make([]order, 40)
		for i := range orders {
			method := "tok_visa"
			if i%2 == 0 {
				method = "tok_declined"
			}
			group.Go(func() { orders[i] = clients[i%2].order(1, method) })
		}
		group.Wait()
		w.within("everything", func() bool { return len(w.sent(t)) >= len(orders) && w.settled() })
		for _, o := range orders {
			if n := w.about(o.Number); n != 1 {
				t.Errorf("%d mails about %s", n, o.Number)
			}
		}
		if n := postgrestest.Value[int](t, w.ledger, `SELECT count(*) FROM sandbox.charges`); n != len(orders) {
			t.Errorf("%d charges", n)
		}
	})
}

// A web process schedules, a worker process runs, and the poll is an hour away.
func TestWebAndWorkerProcesses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	web := w.start("PROCESS_ROLE", "web")
	w.start("PROCESS_ROLE", "worker")
	o := web.as("alice@example.com").order(1, "tok_declined")
	w.within("the mail", func() bool { return w.about(o.Number) == 1 })
}

func TestWhoSeesWhichOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	r := w.start()
	alice, bob, viktor := r.as("alice@example.com"), r.as("bob@example.com"), r.as("viktor@example.com")
	o := alice.order(1, "tok_visa")
	alice.show(o.ID)
	viktor.show(o.ID)
	bob.do("GET", "/sales/orders/"+o.ID, nil, http.StatusNotFound, nil)
	r.do("GET", "/sales/orders/"+o.ID, nil, http.StatusUnauthorized, nil)
	viktor.do("POST", "/sales/orders", orderOf(1, "tok_visa"), http.StatusForbidden, nil)
	var mine, theirs struct{ Items []order }
	bob.do("GET", "/sales/orders", nil, http.StatusOK, &mine)
	viktor.do("GET", "/sales/orders?status=paid", nil, http.StatusOK, &theirs)
	if len(mine.Items) != 0 || len(theirs.Items) != 1 {
		t.Errorf("bob sees %d, viktor %d", len(mine.Items), len(theirs.Items))
	}
}

// The order, its mail and everything in between bear the request's correlation id.
func TestCorrelationTravels(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		alice := w.start().as("alice@example.com")
		request, err := http.NewRequest("POST", alice.base+"/api/v1/sales/orders",
			strings.NewReader(`{"lines":[{"productId":"01936d10-0000-7000-8000-000000000101","quantity":1}],"paymentMethod":"tok_declined"}`))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Authorization", "Bearer "+alice.token)
		request.Header.Set("X-Correlation-Id", "story-1")
		response, err := patient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if got := response.Header.Get("X-Correlation-Id"); got != "story-1" {
			t.Errorf("answered %q", got)
		}
		w.within("the mail", func() bool { return len(w.sent(t)) == 1 })
		names := postgrestest.Value[string](t, w.sales, `
			SELECT string_agg(DISTINCT name, ' ' ORDER BY name) FROM platform.internal_commands
			WHERE correlation_id = 'story-1' AND user_id = '01936d10-0000-7000-8000-000000000201'`)
		if want := "sales.expire_unpaid_order sales.send_payment_failed_email sales.settle_payment"; names != want {
			t.Errorf("bear it: %s", names)
		}
	})
}

func TestGracefulStopUnderLoad(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	one, two := w.start("STOP_GRACE", "2s"), w.start()
	alice, bob := one.as("alice@example.com"), two.as("bob@example.com")
	var group sync.WaitGroup
	for i := range 10 {
		group.Go(func() { alice.order(1, []string{"tok_declined", "tok_visa"}[i%2]) })
	}
	group.Wait()
	began := time.Now()
	one.stop()
	if took := time.Since(began); took > 18*time.Second {
		t.Errorf("stopping took %v", took)
	}
	o := bob.order(1, "tok_declined")
	w.within("everything", func() bool { return len(w.sent(t)) == 11 && w.settled() })
	if n := w.about(o.Number); n != 1 {
		t.Errorf("%d mails", n)
	}
	if n := postgrestest.Value[int](t, w.sales, `SELECT coalesce(sum(crashes), 0)::int FROM platform.internal_commands`); n != 0 {
		t.Error(fmt.Sprint(n, " claims ended without an outcome though the stop was graceful\n", w.rows()))
	}
}
