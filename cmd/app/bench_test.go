package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/plenary/modules/sales/sandbox"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/postgres/postgrestest"
	"example.com/plenary/platform/telemetry"
)

// The sides take turns in runs: long enough that what one of them leaves to be done in the background falls into its
// own time, short enough that both see the same machine. The first request of a run is not counted.
const (
	runs   = 50
	inARun = 11
)

// BenchmarkOrderAgainstBare measures what the pipeline costs: the program, and handlers that are nothing but chi and
// pgx, asked for the same in turn, by one client over HTTP, on one database. It reports both medians and their ratio.
// Nothing is done later meanwhile, by neither.
func BenchmarkOrderAgainstBare(b *testing.B) {
	w := newWorld(b, true)
	program := w.quiet("PROCESS_ROLE", "web", "DATABASE_MAX_CONNS", "16", "RATE_LIMIT_USER", "off", "LOG_LEVEL", "info")
	plain := w.bareServer()
	postgrestest.Exec(b, w.sales, `UPDATE sales.products SET available = 10000000`)
	alice := client{t: b, base: program}.as("alice@example.com")
	naked := client{t: b, base: plain, token: alice.token}
	w.same(b, alice, naked)

	order := orderOf(1, "tok_visa")
	b.Run("POST sales_orders", func(b *testing.B) {
		compare(b, alice, naked, "POST", "/sales/orders", order, http.StatusCreated)
	})
	b.Run("GET sales_orders", func(b *testing.B) { // what the page of one's orders shows
		compare(b, alice, naked, "GET", "/sales/orders?limit=50", nil, http.StatusOK)
	})
	shown := "/sales/orders/" + alice.order(1, "tok_visa").ID
	b.Run("GET sales_orders_id", func(b *testing.B) { // the smallest: three short statements, of which one finds out who asks
		compare(b, alice, naked, "GET", shown, nil, http.StatusOK)
	})
}

// compare asks both in turn, who comes first taking turns, too.
func compare(b *testing.B, program, bare client, method, path string, body any, status int) {
	sides := []client{program, bare}
	var took [2][]time.Duration
	for b.Loop() {
		for n := range 2 * runs {
			side := (n + n/2) % 2
			for i := range inARun {
				began := time.Now()
				got, _, answer, err := sides[side].try(method, path, body)
				if got != status || err != nil {
					b.Fatalf("%d %s %v", got, answer, err)
				}
				if i > 0 {
					took[side] = append(took[side], time.Since(began))
				}
			}
		}
	}
	median := func(d []time.Duration) time.Duration { slices.Sort(d); return d[len(d)/2] }
	ours, theirs := median(took[0]), median(took[1])
	b.ReportMetric(float64(ours.Microseconds()), "µs-program")
	b.ReportMetric(float64(theirs.Microseconds()), "µs-bare")
	b.ReportMetric(float64(ours)/float64(theirs), "ratio")
	b.ReportMetric(0, "ns/op")
}

// quiet starts the program as it runs in production, and returns where it is served. Its log goes nowhere.
func (w *world) quiet(settings ...string) string {
	w.t.Helper()
	for i := 0; i < len(settings); i += 2 {
		w.environ[settings[i]] = settings[i+1]
	}
	config, err := readConfig(w.environ)
	if err != nil {
		w.t.Fatal(err)
	}
	app, err := New(context.Background(), config, telemetry.NewLogger(io.Discard, config.LogLevel, "json"))
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = app.host.Run(ctx) })
	w.t.Cleanup(func() { cancel(); running.Wait() })
	base := "http://" + app.Address()
	w.within("the start", func() bool {
		response, err := patient.Get(base + "/readyz")
		if err != nil {
			return false
		}
		defer response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
	return base
}

// bareServer starts what the program is compared with.
func (w *world) bareServer() string {
	w.t.Helper()
	config, err := pgxpool.ParseConfig(w.environ["DATABASE_URL"])
	if err != nil {
		w.t.Fatal(err)
	}
	config.MaxConns = 16
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		w.t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	server := httpx.NewServer("", (&bare{pool: pool, gateway: sandbox.New(w.ledger)}).handler(), slog.New(slog.DiscardHandler)) // the same limits of time
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	w.t.Cleanup(func() { _ = server.Close(); serving.Wait(); pool.Close() })
	return "http://" + listener.Addr().String()
}

// same makes sure that both do the same work: the same rows in the same tables, the same members in the answers.
func (w *world) same(b *testing.B, program, bare client) {
	b.Helper()
	var rows, members [2]string
	for i, c := range []client{program, bare} {
		before := w.counts()
		_, _, answer, err := c.try("POST", "/sales/orders", orderOf(1, "tok_visa"))
		if err != nil {
			b.Fatal(err)
		}
		rows[i], members[i] = added(before, w.counts()), shape(b, answer)
	}
	if rows[0] != rows[1] || rows[0] == "" || members[0] != members[1] {
		b.Fatalf("it is not the same work:\n%s\nand\n%s\n%s\nand\n%s", rows[0], rows[1], members[0], members[1])
	}
}

// added lists the tables whose counts differ, with both.
func added(before, after string) string {
	var tables []string
	old := strings.Split(before, "\n")
	for i, line := range strings.Split(after, "\n") {
		if line != old[i] {
			tables = append(tables, line[:strings.LastIndexByte(line, ' ')])
		}
	}
	return strings.Join(tables, "\n")
}

// shape is an answer without its values.
func shape(b *testing.B, answer []byte) string {
	b.Helper()
	var names []string
	d := json.NewDecoder(bytes.NewReader(answer))
	for token, err := d.Token(); err == nil; token, err = d.Token() {
		if name, ok := token.(string); ok && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzIDOPUT") == "" {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}
