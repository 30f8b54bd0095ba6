package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/plenary/modules/engagement"
	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/postgres/postgrestest"
)

// writes says how to call each route that may change something: with what, and what the answer may be. It makes what
// it needs for that beforehand.
var writes = map[string]func(c client) (path string, body any, statuses []int){
	"POST /api/v1/auth/login": func(client) (string, any, []int) {
		return "/auth/login", map[string]string{"email": "alice@example.com", "password": "demo"}, []int{200}
	},
	"POST /api/v1/auth/logout": func(client) (string, any, []int) { return "/auth/logout", nil, []int{204, 401} },
	"POST /api/v1/sales/orders": func(client) (string, any, []int) {
		return "/sales/orders", orderOf(1, "tok_declined"), []int{201}
	},
	"POST /api/v1/sales/orders/{id}/payments": func(c client) (string, any, []int) {
		return "/sales/orders/" + c.order(1, "tok_declined").ID + "/payments", map[string]string{"paymentMethod": "tok_visa"}, []int{200}
	},
	"POST /api/v1/sales/orders/{id}/cancellation": func(c client) (string, any, []int) {
		return "/sales/orders/" + c.order(1, "tok_declined").ID + "/cancellation", nil, []int{200}
	},
	"POST /api/v1/ops/internal-commands/requeue": requeueNothing("/ops/internal-commands/requeue"),
	"POST /api/v1/ops/outbox/requeue":            requeueNothing("/ops/outbox/requeue"),
	"POST /api/v1/ops/internal-commands/purge":   purgeNothing("/ops/internal-commands/purge"),
	"POST /api/v1/ops/outbox/purge":              purgeNothing("/ops/outbox/purge"),
	"POST /api/v1/ops/jobs/{name}/runs": func(client) (string, any, []int) {
		return "/ops/jobs/sales.reconcile_payments/runs", map[string]string{}, []int{202, 409}
	},
	"POST /api/v1/conference/events/{id}/sessions": func(client) (string, any, []int) {
		return "/conference/events/01936d10-0000-7000-8000-000000000001/sessions", map[string]string{"title": "t", "abstract": "a", "speakerName": "s"}, []int{201}
	},
	"POST /api/v1/conference/events/{id}/scoring": func(client) (string, any, []int) {
		return "/conference/events/01936d10-0000-7000-8000-000000000001/scoring", nil, []int{202}
	},
	"POST /api/v1/engagement/rooms/{code}/join": func(c client) (string, any, []int) {
		return "/engagement/rooms/" + c.roomCode() + "/join", nil, []int{200}
	},
	"POST /api/v1/engagement/rooms/{code}/polls": func(c client) (string, any, []int) {
		return "/engagement/rooms/" + c.roomCode() + "/polls", teaOrCoffee, []int{201}
	},
	"POST /api/v1/engagement/polls/{id}/open": func(c client) (string, any, []int) {
		return "/engagement/polls/" + c.poll(false).ID.String() + "/open", nil, []int{200, 428}
	},
	"POST /api/v1/engagement/polls/{id}/close": func(c client) (string, any, []int) {
		return "/engagement/polls/" + c.poll(true).ID.String() + "/close", nil, []int{200, 428}
	},
	"PUT /api/v1/engagement/polls/{id}/ballot": func(c client) (string, any, []int) {
		p := c.poll(true)
		return "/engagement/polls/" + p.ID.String() + "/ballot", map[string]any{"options": []string{p.Options[0].ID.String()}}, []int{200}
	},
	"DELETE /api/v1/engagement/polls/{id}/ballot": func(c client) (string, any, []int) {
		return "/engagement/polls/" + c.poll(true).ID.String() + "/ballot", nil, []int{200, 204}
	},
	"POST /api/v1/engagement/rooms/{code}/questions": func(c client) (string, any, []int) {
		return "/engagement/rooms/" + c.roomCode() + "/questions", map[string]string{"text": "Why?"}, []int{201, 409}
	},
	"PUT /api/v1/engagement/questions/{id}/upvote": func(client) (string, any, []int) {
		return "/engagement/questions/01936d10-0000-7000-8000-00000000ffff/upvote", nil, []int{404}
	},
	"DELETE /api/v1/engagement/questions/{id}/upvote": func(client) (string, any, []int) {
		return "/engagement/questions/01936d10-0000-7000-8000-00000000ffff/upvote", nil, []int{404}
	},
	"POST /api/v1/engagement/questions/{id}/moderation": func(client) (string, any, []int) {
		return "/engagement/questions/01936d10-0000-7000-8000-00000000ffff/moderation", map[string]string{"action": "approve"}, []int{404}
	},
	"POST /api/v1/demo/faults/{fault}":   func(client) (string, any, []int) { return "/demo/faults/none", nil, []int{404} },
	"DELETE /api/v1/demo/faults/{fault}": func(client) (string, any, []int) { return "/demo/faults/none", nil, []int{404} },
	"POST /api/v1/demo/audience": func(c client) (string, any, []int) {
		return "/demo/audience", map[string]any{"room": c.roomCode(), "votes": 5}, []int{200, 409}
	},
	"POST /api/v1/demo/reset": func(client) (string, any, []int) { return "/demo/reset", nil, []int{204, 409, 503} },
	"PATCH /api/v1/ops/jobs/{name}": func(client) (string, any, []int) {
		return "/ops/jobs/sales.reconcile_payments", map[string]any{"cron": "0 4 * * *"}, []int{200}
	},
}

var teaOrCoffee = map[string]any{"question": "Tea or coffee?", "options": []string{"Tea", "Coffee"}}

// roomCode waits for the demo session's room, which comes of an event.
func (c client) roomCode() string {
	c.t.Helper()
	var room struct{ Code string }
	poll(c.t, "the room", func() bool {
		status, _, answer, err := c.try("GET", "/engagement/sessions/"+demoSession+"/room", nil)
		return err == nil && status == http.StatusOK && json.Unmarshal(answer, &room) == nil
	})
	return room.Code
}

// poll makes a poll in the demo session's room, a draft or open. The client is a host.
func (c client) poll(open bool) (p engagement.PollView) {
	c.t.Helper()
	c.do("POST", "/engagement/rooms/"+c.roomCode()+"/polls", teaOrCoffee, http.StatusCreated, &p)
	if open {
		status, _, answer, err := c.try("POST", "/engagement/polls/"+p.ID.String()+"/open", nil, "If-Match", `"1"`)
		if err != nil || status != http.StatusOK {
			c.t.Fatalf("%d %s %v", status, answer, err)
		}
	}
	return p
}

func purgeNothing(path string) func(client) (string, any, []int) {
	return func(client) (string, any, []int) {
		return path, map[string]any{"olderThanSeconds": 1_000_000}, []int{200}
	}
}

func requeueNothing(path string) func(client) (string, any, []int) {
	return func(client) (string, any, []int) { return path, map[string]any{"all": true, "expected": 0}, []int{200} }
}

// Twice as many requests as connections, at each route that writes, while the workers want connections, too: all
// of them end, and none because it waited for a connection that it held itself.
func TestFewConnections(t *testing.T) {
	t.Parallel()
	for _, size := range []int{2, 4} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, true)
			r := w.start("DATABASE_MAX_CONNS", fmt.Sprint(size), "RATE_LIMIT_USER", "off")
			postgrestest.Exec(t, w.sales, `UPDATE sales.products SET available = 1000000`)
			for _, route := range r.app.api.Routes() {
				if route.Method == http.MethodGet {
					continue
				}
				prepare := writes[route.Method+" "+route.Path]
				if prepare == nil {
					t.Errorf("%s %s: how is it called? Add it to the table.", route.Method, route.Path)
					continue
				}
				for range 3 {
					atOnce(t, r, 2*size, route.Method, prepare)
				}
			}
			w.within("quiet", w.settled)
			r.nothingHeld(t)
		})
	}
}

// atOnce sends n requests at the same moment, each by a session of its own.
func atOnce(t *testing.T, r *replica, n int, method string, prepare func(c client) (string, any, []int)) {
	t.Helper()
	by := r.as("ada@example.com")
	var all, ready sync.WaitGroup
	ready.Add(n)
	for range n {
		path, body, statuses := prepare(by)
		all.Go(func() {
			ready.Done()
			ready.Wait()
			status, _, answer, err := by.try(method, path, body)
			for _, s := range statuses {
				if s == status {
					return
				}
			}
			t.Errorf("%s %s: %d %s, %v", method, path, status, answer, err)
		})
	}
	all.Wait()
}

// slow makes every new row of a table take some time.
func (w *world) slow(super *postgres.Source, table string, seconds float64) (heal func()) {
	w.t.Helper()
	postgrestest.Exec(w.t, super, `CREATE SCHEMA IF NOT EXISTS trap`)
	postgrestest.Exec(w.t, super, `GRANT USAGE ON SCHEMA trap TO public`)
	postgrestest.Exec(w.t, super, fmt.Sprintf(`CREATE OR REPLACE FUNCTION trap.slow() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN PERFORM pg_sleep(%f); RETURN NEW; END $$`, seconds))
	postgrestest.Exec(w.t, super, `CREATE TRIGGER slow BEFORE INSERT ON `+table+` FOR EACH ROW EXECUTE FUNCTION trap.slow()`)
	return func() { postgrestest.Exec(w.t, super, `DROP TRIGGER slow ON `+table) }
}

// whole requires that whatever of an order is there, all of it is.
func (w *world) whole() {
	w.t.Helper()
	half := postgrestest.Value[int](w.t, w.sales, `SELECT count(*) FROM sales.orders o
		WHERE NOT EXISTS (SELECT FROM sales.order_lines WHERE order_id = o.id) OR NOT EXISTS (SELECT FROM sales.payments WHERE order_id = o.id)
			OR 2 > (SELECT count(*) FROM platform.internal_commands WHERE name IN ('sales.expire_unpaid_order', 'sales.settle_payment')
				AND (payload::text LIKE '%' || o.id || '%' OR payload::text LIKE '%' || o.payment_id || '%'))`)
	if half != 0 {
		w.t.Errorf("%d orders are half there", half)
	}
}

// Two hundred clients leave in the middle of a transaction, and then the database ends every session in the middle
// of fifty: no connection stays away, nothing is half written, and the next request works.
func TestClientsAndSessionsThatGoAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	r := w.start("RATE_LIMIT_USER", "off", "LEASE", "2s")
	alice := r.as("alice@example.com")
	postgrestest.Exec(t, w.sales, `UPDATE sales.products SET available = 1000000`)
	super := w.superuser()

	heal := w.slow(super, "sales.orders", 0.3)
	var clients sync.WaitGroup
	for range 200 {
		clients.Go(func() { alice.leaveAfter(100 * time.Millisecond) })
	}
	clients.Wait()
	r.nothingHeld(t)
	heal()
	w.whole()
	alice.order(1, "tok_visa")

	heal = w.slow(super, "sales.orders", 0.1)
	answers := make(chan string, 50)
	for range 50 {
		clients.Go(func() {
			status, header, answer, err := alice.try("POST", "/sales/orders", orderOf(1, "tok_declined"))
			if err != nil || status != http.StatusCreated && (status != http.StatusServiceUnavailable || header.Get("Retry-After") == "") {
				answers <- fmt.Sprintf("%d %s %v", status, answer, err)
			}
		})
	}
	const writing = ` FROM pg_stat_activity WHERE application_name LIKE 'plenary%' AND datname = current_database()`
	w.within("writes under way", func() bool {
		return postgrestest.Value[int](t, super, `SELECT count(*)`+writing+` AND wait_event = 'PgSleep'`) > 0
	})
	postgrestest.Value[int](t, super, `SELECT count(pg_terminate_backend(pid))`+writing)
	clients.Wait()
	close(answers)
	for answer := range answers {
		t.Error(answer)
	}
	heal()
	r.nothingHeld(t)
	w.whole()
	alice.order(1, "tok_visa")
	w.within("quiet", w.settled)
	w.whole()
}

// leaveAfter orders, and hangs up before it is answered.
func (c client) leaveAfter(d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	body := strings.NewReader(`{"lines":[{"productId":"` + pass + `","quantity":1}],"paymentMethod":"tok_declined"}`)
	request, err := http.NewRequestWithContext(ctx, "POST", c.base+"/api/v1/sales/orders", body)
	if err != nil {
		c.t.Error(err)
		return
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+c.token)
	if response, err := patient.Do(request); err == nil {
		response.Body.Close()
	}
}

// A migration changes tables that are in use. A connection may have to learn of it by one failure; then all is as before.
func TestSchemaChangesUnderTraffic(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	r := w.start("RATE_LIMIT_USER", "off")
	postgrestest.Exec(t, w.sales, `UPDATE sales.products SET available = 1000000`)
	super := w.superuser()
	load := startTraffic(r.as("alice@example.com"), 8)
	changes := []string{
		`ALTER TABLE sales.orders ADD COLUMN note text NOT NULL DEFAULT ''`,
		`ALTER TABLE sales.products ALTER COLUMN available TYPE bigint`,
		`ALTER TABLE sales.order_lines ALTER COLUMN quantity TYPE bigint`,
		`ALTER TABLE sales.products ALTER COLUMN name TYPE varchar(500)`,
		`ALTER TABLE platform.internal_commands ALTER COLUMN attempts TYPE bigint`,
		`ALTER TABLE platform.users ADD COLUMN phone text`,
	}
	for _, change := range changes {
		before := load.copy()
		w.within("traffic", func() bool { return load.seen(before, true, 5) })
		postgrestest.Exec(t, super, change)
	}
	last := load.copy()
	w.within("traffic after the last change", func() bool { return load.seen(last, true, 20) })
	load.stop(t)
	w.within("quiet", w.settled)
	r.nothingHeld(t)
}
