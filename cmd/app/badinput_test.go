package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/postgres/postgrestest"
)

// marker stands in what is sent, and must not come back.
const marker = "hunter2"

// bad is a request that must be refused, and how. Its zero values are what most of the cases share.
type bad struct {
	name         string
	who          string // "alice@example.com"; "-" is nobody
	method       string // POST
	target       string // below /api/v1, unless it begins with "//"
	body         string
	header       []string // pairs
	status       int      // 400
	code         string   // "invalid_input"
	field, about string   // of the first complaint
}

// counts has the number of rows of every table: what is refused leaves nothing behind. The notes of the queue about
// its own work are not counted: that goes on beside the requests.
func (w *world) counts() string {
	w.t.Helper()
	return postgrestest.Value[string](w.t, w.sales, `
		SELECT string_agg(format('%s.%s %s', table_schema, table_name, (xpath('/row/n/text()',
			query_to_xml(format('SELECT count(*) AS n FROM %I.%I', table_schema, table_name), false, true, '')))[1]), E'\n'
			ORDER BY table_schema, table_name)
		FROM information_schema.tables WHERE table_schema IN ('platform', 'sales', 'conference', 'engagement', 'sandbox') AND table_type = 'BASE TABLE'
			AND table_name NOT IN ('attempts', 'replicas', 'replica_names')`)
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	r := w.start("RATE_LIMIT_LOGIN", "off", "RATE_LIMIT_USER", "off")
	clients := map[string]client{"-": r.client}
	for _, u := range demoUsers() {
		clients[u.Email] = r.as(u.Email)
	}
	order := clients["alice@example.com"].order(1, "tok_declined")
	w.within("quiet", func() bool { return w.about(order.Number) == 1 && w.settled() })
	order = clients["alice@example.com"].show(order.ID) // its time has been extended by now
	cases := badInputs(order)
	if len(cases) < 100 {
		t.Errorf("only %d cases", len(cases))
	}
	before := w.counts()
	names := map[string]bool{}
	for _, c := range cases {
		if names[c.name] {
			t.Errorf("%s is there twice", c.name)
		}
		names[c.name] = true
		c.check(t, clients[cmp.Or(c.who, "alice@example.com")])
	}
	for _, c := range malformed(clients["alice@example.com"].token) {
		c.check(t, strings.TrimPrefix(r.base, "http://"))
	}
	if after := w.counts(); after != before {
		t.Errorf("something was stored:\n%s\nand before:\n%s", after, before)
	}
	if got := clients["alice@example.com"].show(order.ID); got.Version != order.Version || got.Status != order.Status {
		t.Errorf("the order has changed: %+v", got)
	}
}

func (c bad) check(t *testing.T, by client) {
	t.Helper()
	before := t.Failed()
	defer func() {
		if !before && t.Failed() {
			t.Logf("that was: %s", c.name)
		}
	}()
	target := "/api/v1" + c.target
	if rest, whole := strings.CutPrefix(c.target, "//"); whole {
		target = "/" + rest
	}
	got := by.send(cmp.Or(c.method, "POST"), target, c.body, c.header...)
	status, code := cmp.Or(c.status, http.StatusBadRequest), cmp.Or(c.code, "invalid_input")
	if got.status != status {
		t.Errorf("%s: %d, want %d: %.300s", c.name, got.status, status, got.body)
		return
	}
	p := got.isProblem(t, status, code)
	var first httpx.ProblemField
	if len(p.Errors) > 0 {
		first = p.Errors[0]
	}
	if c.about != "" && (first.Field != c.field || first.Code != c.about) {
		t.Errorf("%s: complains of %q %s, want %q %s", c.name, first.Field, first.Code, c.field, c.about)
	}
	sent := fmt.Sprint(got.header) + string(got.body)
	if strings.Contains(strings.ToLower(sent), marker) {
		t.Errorf("%s: what was sent comes back: %s", c.name, sent)
	}
	for _, secret := range []string{"SQLSTATE", "pgx", "goroutine", ".go:", "sales.orders", "postgres"} {
		if strings.Contains(string(got.body), secret) {
			t.Errorf("%s: %q leaves: %s", c.name, secret, got.body)
		}
	}
}

// wire is a request that no library would send.
type wire struct {
	name, text string
	status     string // as the answer's first line has it; "" for an end without one
	ours       bool   // it reaches the program; what is no HTTP is refused by the server below it, in plain text
}

func (c wire) check(t *testing.T, address string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.WriteString(conn, c.text) }() // the answer may come before all is written
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Errorf("%s: %v", c.name, err)
		return
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body)
	if !strings.HasPrefix(answer.Status, c.status) || strings.Contains(string(body), marker) {
		t.Errorf("%s: %s, want %s: %s", c.name, answer.Status, c.status, body)
	}
	if ours := answer.Header.Get("X-Correlation-Id") != ""; ours != c.ours {
		t.Errorf("%s: answered by the program: %v: %s", c.name, ours, body)
	}
}
