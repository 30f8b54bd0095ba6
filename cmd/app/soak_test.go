//go:build soak

package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/plenary/platform/postgres/postgrestest"
)

var (
	soakFor  = flag.Duration("soak", time.Minute, "how long")
	soakRate = flag.Int("rate", 200, "requests a second")
)

// share is one kind of request in the mix.
type share struct {
	name    string
	percent int
	status  int
	who     []string
	ask     func(s *soak) (method, path string, body any)
}

var (
	customers = []string{"alice@example.com", "bob@example.com", "sam@example.com"}
	operators = []string{"viktor@example.com", "olivia@example.com", "ada@example.com"}
)

var mix = []share{
	{"GET /sales/products", 25, 200, customers, func(*soak) (string, string, any) { return "GET", "/sales/products", nil }},
	{"GET /sales/products/{id}", 10, 200, customers, func(*soak) (string, string, any) { return "GET", "/sales/products/" + pass, nil }},
	{"GET /sales/orders", 15, 200, customers, func(*soak) (string, string, any) { return "GET", "/sales/orders?limit=20", nil }},
	{"GET /sales/orders/{id}", 20, 200, operators, func(s *soak) (string, string, any) { return "GET", "/sales/orders/" + s.anyOrder(), nil }},
	{"GET /auth/me", 8, 200, customers, func(*soak) (string, string, any) { return "GET", "/auth/me", nil }},
	{"POST /sales/orders (approved)", 8, 201, customers, func(*soak) (string, string, any) { return "POST", "/sales/orders", orderOf(1, "tok_visa") }},
	{"POST /sales/orders (declined)", 4, 201, customers, func(*soak) (string, string, any) { return "POST", "/sales/orders", orderOf(1, "tok_declined") }},
	{"GET /ops/internal-commands", 5, 200, operators, func(*soak) (string, string, any) { return "GET", "/ops/internal-commands?limit=20", nil }},
	{"GET /ops/outbox", 5, 200, operators, func(*soak) (string, string, any) { return "GET", "/ops/outbox?limit=20", nil }},
}

// soak is a load and what came of it.
type soak struct {
	t       *testing.T
	clients map[string]client

	mu     sync.Mutex
	took   map[string][]time.Duration // from when the request was due, so that waiting for a slow one counts
	orders []order
	wrong  []string
}

// TestSoak loads the program, in a process of its own, with mixed requests at a steady rate, and then looks for what
// should not be there any more. The numbers are those of this machine, which runs the load and the database, too.
func TestSoak(t *testing.T) {
	w := newWorld(t, true)
	p := w.spawn("LOG_LEVEL", "warn", "DATABASE_MAX_CONNS", "16", "LEASE", "30s", "GATEWAY_TIMEOUT", "5s", "SAFETY_POLL", "30s")
	postgrestest.Exec(t, w.sales, `UPDATE sales.products SET available = 10000000`)
	s := &soak{t: t, clients: map[string]client{}, took: map[string][]time.Duration{}}
	for _, email := range slices.Concat(customers, operators) {
		s.clients[email] = p.as(email)
	}
	s.orders = append(s.orders, s.clients["alice@example.com"].order(1, "tok_visa"))
	w.within("quiet", w.settled)
	patient.Transport = &http.Transport{MaxIdleConnsPerHost: 64}
	before := p.gauge("go_goroutines")

	began := time.Now()
	s.run()
	elapsed := time.Since(began)
	s.report(elapsed)
	const mailed = `SELECT count(*) FROM platform.internal_commands WHERE name LIKE '%_email' AND processed_on IS NOT NULL`
	w.within("all that was deferred", func() bool {
		return w.settled() && postgrestest.Value[int](t, w.sales, mailed) == len(s.orders)
	})
	t.Logf("what was deferred was done %v after the last answer", time.Since(began.Add(elapsed)).Round(time.Millisecond))

	patient.CloseIdleConnections()
	const sessions = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'plenary%'`
	w.within("no connection in use", func() bool {
		return postgrestest.Value[int](t, w.sales, sessions+` AND state <> 'idle'`) == 0
	})
	if n := postgrestest.Value[int](t, w.sales, sessions); n > 16+3+1+4+1 { // work, control, listening, the sandbox's own
		t.Errorf("%d connections to the database", n)
	}
	w.within("goroutines as before", func() bool { return p.gauge("go_goroutines") <= before+5 })
	t.Logf("goroutines: %v before, %v after; memory in use after: %.0f MiB",
		before, p.gauge("go_goroutines"), p.gauge("process_resident_memory_bytes")/(1<<20))
	if n := postgrestest.Value[int](t, w.sales, `SELECT count(*) FROM platform.internal_commands WHERE dead_lettered_on IS NOT NULL OR crashes > 0`); n != 0 {
		t.Errorf("%d commands failed", n)
	}
	if n := postgrestest.Value[int](t, w.sales, `SELECT count(*) FROM sales.orders`); n != len(s.orders) {
		t.Errorf("%d orders are stored, %d were confirmed", n, len(s.orders))
	}
}

// run sends each request when it is due, whether or not earlier ones have been answered.
func (s *soak) run() {
	var requests sync.WaitGroup
	every := time.Second / time.Duration(*soakRate)
	ticks := time.NewTicker(every)
	defer ticks.Stop()
	began := time.Now()
	for n := 0; ; n++ {
		due := began.Add(time.Duration(n) * every)
		for time.Now().Before(due) {
			<-ticks.C
		}
		if due.Sub(began) >= *soakFor {
			break
		}
		requests.Go(func() { s.one(due) })
	}
	requests.Wait()
}

func (s *soak) one(due time.Time) {
	n := rand.N(100)
	i := 0
	for n -= mix[0].percent; n >= 0; n -= mix[i].percent {
		i++
	}
	kind := mix[i]
	method, path, body := kind.ask(s)
	status, _, answer, err := s.clients[kind.who[rand.N(len(kind.who))]].try(method, path, body)
	took := time.Since(due)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.took[kind.name] = append(s.took[kind.name], took)
	if err != nil || status != kind.status {
		s.wrong = append(s.wrong, fmt.Sprintf("%s: %d %.300s %v", kind.name, status, answer, err))
		return
	}
	if method == "POST" {
		var o order
		if err := json.Unmarshal(answer, &o); err != nil {
			s.wrong = append(s.wrong, err.Error())
		}
		s.orders = append(s.orders, o)
	}
}

func (s *soak) anyOrder() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.orders[rand.N(len(s.orders))].ID
}

func (s *soak) report(elapsed time.Duration) {
	var all []time.Duration
	s.t.Logf("%-32s %7s %9s %9s %9s", "", "count", "p50", "p99", "max")
	line := func(name string, took []time.Duration) {
		slices.Sort(took)
		at := func(q float64) time.Duration { return took[int(q*float64(len(took)-1))].Round(10 * time.Microsecond) }
		s.t.Logf("%-32s %7d %9v %9v %9v", name, len(took), at(0.5), at(0.99), at(1))
	}
	for _, name := range slices.Sorted(maps.Keys(s.took)) {
		line(name, s.took[name])
		all = append(all, s.took[name]...)
	}
	line("all", all)
	s.t.Logf("%.1f requests a second for %v", float64(len(all))/elapsed.Seconds(), elapsed.Round(time.Second))
	if len(s.wrong) > 0 {
		s.t.Errorf("%d wrong answers, such as:\n%s", len(s.wrong), strings.Join(s.wrong[:min(5, len(s.wrong))], "\n"))
	}
	if want := int(soakFor.Seconds()) * *soakRate; len(all) != want {
		s.t.Errorf("%d requests, want %d", len(all), want)
	}
}

// gauge reads a metric without labels.
func (p *process) gauge(name string) float64 {
	p.w.t.Helper()
	response, err := patient.Get(p.base + "/metrics")
	if err != nil {
		p.w.t.Fatal(err)
	}
	defer response.Body.Close()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			value, err := strconv.ParseFloat(text, 64)
			if err != nil {
				p.w.t.Fatal(err)
			}
			return value
		}
	}
	p.w.t.Fatalf("no metric %s", name)
	return 0
}
