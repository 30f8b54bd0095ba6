package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/plenary/migrations"
	"example.com/plenary/modules/sales"
	"example.com/plenary/platform/mail/inbox"
	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/postgres/postgrestest"
)

// world is what replicas share: databases, and the mail server of somebody else.
type world struct {
	t       testing.TB
	environ map[string]string
	sales   *postgres.Source // where the module's tables are; the test looks at them as the program would
	ledger  *postgres.Source

	conference, engagement *postgres.Source // where those modules' tables are
	mails                  *inbox.Server
}

func of(source string) postgres.Migrations {
	return postgres.Migrations{Source: source, Files: migrations.Of(source)}
}

// noJobs keeps the clock from starting anything by itself while a test counts rows: the real schedules come round every ten minutes.
const noJobs = "audit-trail-cleanup=@yearly; engagement.recount=@yearly; expired-keys-cleanup=@yearly; finished-work-cleanup=@yearly; sales.reconcile_payments=@yearly"

// newWorld makes migrated databases: one for all, or one a module. The safety poll is set to an hour, so that
// nothing passes because of it.
func newWorld(t testing.TB, oneDatabase bool) *world {
	t.Helper()
	mails, err := inbox.Listen(inbox.Config{Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(mails.Close)
	w := &world{t: t, mails: mails, environ: map[string]string{
		"HTTP_ADDR": "127.0.0.1:0", "DEMO": "true", "SMTP_URL": mails.URL(), "SAFETY_POLL": "1h", "LOG_LEVEL": "debug",
		"GATEWAY_TIMEOUT": "500ms", "DATABASE_MAX_CONNS": "8", "BASE_URL": "http://plenary.test", "DATA_DIR": t.TempDir(),
		"JOB_SCHEDULES": noJobs,
	}}
	own := []postgres.Migrations{of("sandbox")}
	if oneDatabase {
		own = append([]postgres.Migrations{of("sales"), of("conference"), of("engagement")}, own...)
	}
	url := postgrestest.URL(t, own...)
	w.environ["DATABASE_URL"] = url
	w.ledger = postgrestest.Connect(t, postgres.Config{URL: url, Application: "test"}).Source("sandbox")
	w.sales, w.conference, w.engagement = w.ledger, w.ledger, w.ledger
	if !oneDatabase {
		w.environ["SALES_DATABASE_URL"] = postgrestest.URL(t, of("sales"))
		w.sales = postgrestest.Connect(t, postgres.Config{URL: w.environ["SALES_DATABASE_URL"], Application: "test"}).Source("sales")
		w.environ["ENGAGEMENT_DATABASE_URL"] = postgrestest.URL(t, of("engagement"))
		w.engagement = postgrestest.Connect(t, postgres.Config{URL: w.environ["ENGAGEMENT_DATABASE_URL"], Application: "test"}).Source("engagement")
		w.environ["CONFERENCE_DATABASE_URL"] = postgrestest.URL(t, of("conference"))
		w.conference = postgrestest.Connect(t, postgres.Config{URL: w.environ["CONFERENCE_DATABASE_URL"], Application: "test"}).Source("conference")
	}
	return w
}

// onBoth runs a flow with one database, and with one a module.
func onBoth(t *testing.T, flow func(t *testing.T, w *world)) {
	t.Parallel()
	for name, one := range map[string]bool{"one database": true, "one a module": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			flow(t, newWorld(t, one))
		})
	}
}

// replica is the program in this process.
type replica struct {
	client
	app  *App
	stop func()
}

func (w *world) start(settings ...string) *replica {
	w.t.Helper()
	environ := maps.Clone(w.environ)
	for i := 0; i < len(settings); i += 2 {
		environ[settings[i]] = settings[i+1]
	}
	config, err := readConfig(environ)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := config.forServing(); err != nil {
		w.t.Fatal(err)
	}
	app, err := New(context.Background(), config, slog.New(slog.NewTextHandler(w.t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})))
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := app.host.Run(ctx); err != nil {
			w.t.Errorf("run: %v", err)
		}
	})
	r := &replica{app: app, client: client{t: w.t, base: "http://" + app.Address()}}
	r.stop = sync.OnceFunc(func() { cancel(); running.Wait() })
	w.t.Cleanup(r.stop)
	w.within("the start", func() bool {
		response, err := patient.Get(r.base + "/readyz")
		if err != nil {
			return false
		}
		defer response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
	return r
}

// within waits for what another process or goroutine brings about, by asking the database in between.
func (w *world) within(what string, done func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !done(); {
		if time.Now().After(deadline) {
			w.t.Fatalf("not within 30 s: %s\n%s", what, w.rows())
		}
		postgrestest.Value[bool](w.t, w.sales, `SELECT true FROM pg_sleep(0.01)`)
	}
}

// rows shows the durable work, for a failed test.
func (w *world) rows() string {
	return postgrestest.Value[string](w.t, w.sales, `
		SELECT coalesce(string_agg(concat_ws(' ', name, 'attempts', attempts, 'crashes', crashes, 'claim', claim, claimed_until,
			'due', next_attempt_on, 'done', processed_on, 'dead', dead_letter_reason, last_error), E'\n'), '(no commands)')
		FROM platform.internal_commands`)
}

func (w *world) sent(t testing.TB) []inbox.Mail {
	t.Helper()
	list, err := w.mails.Store().List(context.Background(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// about counts the mails whose subject has an order's number.
func (w *world) about(number string) int {
	n := 0
	for _, m := range w.sent(w.t) {
		if strings.Contains(m.Subject, number) {
			n++
		}
	}
	return n
}

func (w *world) available(slug string) int {
	w.t.Helper()
	return postgrestest.Value[int](w.t, w.sales, `SELECT available FROM sales.products WHERE slug = $1`, slug)
}

func (w *world) settled() bool {
	return postgrestest.Value[int](w.t, w.sales, `
		SELECT (SELECT count(*) FROM platform.internal_commands WHERE processed_on IS NULL AND dead_lettered_on IS NULL AND next_attempt_on <= now())
			+ (SELECT count(*) FROM platform.deliveries WHERE processed_on IS NULL AND dead_lettered_on IS NULL AND next_attempt_on <= now())`) == 0
}

// patient waits longer than the program may take, and not for ever.
var patient = &http.Client{Timeout: 40 * time.Second}

// client is a person at the API.
type client struct {
	t     testing.TB
	base  string
	token string
}

func (c client) as(email string) client {
	c.t.Helper()
	var session struct{ Token string }
	c.do("POST", "/auth/login", map[string]string{"email": email, "password": "demo"}, http.StatusOK, &session)
	c.token = session.Token
	return c
}

// do sends a request and reads the answer, which must have the given status.
func (c client) do(method, path string, body any, status int, into any) http.Header {
	c.t.Helper()
	got, header, answer, err := c.try(method, path, body)
	if err != nil {
		c.t.Fatal(err)
	}
	if got != status {
		c.t.Fatalf("%s %s: %d, want %d: %s", method, path, got, status, answer)
	}
	if into != nil {
		if err := json.Unmarshal(answer, into); err != nil {
			c.t.Fatalf("%s %s: %v in %s", method, path, err, answer)
		}
	}
	return header
}

func (c client) try(method, path string, body any, headers ...string) (status int, header http.Header, answer []byte, err error) {
	var content io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return 0, nil, nil, err
		}
		content = bytes.NewReader(data)
	}
	request, err := http.NewRequest(method, c.base+"/api/v1"+path, content)
	if err != nil {
		return 0, nil, nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := patient.Do(request)
	if err != nil {
		return 0, nil, nil, err
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	return response.StatusCode, response.Header, answer, err
}

type order struct {
	ID, Number, Status string
	CustomerID         string
	FailureReason      *string
	CreatedOn          time.Time
	ExpiresOn          time.Time
	Total              sales.Money
	Version            int
}

func orderOf(quantity int, method string) map[string]any {
	return ordered("01936d10-0000-7000-8000-000000000101", quantity, method)
}

func ordered(product string, quantity int, method string) map[string]any {
	return map[string]any{
		"lines":         []map[string]any{{"productId": product, "quantity": quantity}},
		"paymentMethod": method,
	}
}

func (c client) order(quantity int, method string) (o order) {
	c.t.Helper()
	header := c.do("POST", "/sales/orders", orderOf(quantity, method), http.StatusCreated, &o)
	if want := "/api/v1/sales/orders/" + o.ID; header.Get("Location") != want {
		c.t.Errorf("Location %q, want %q", header.Get("Location"), want)
	}
	return o
}

func (c client) show(id string) (o order) {
	c.t.Helper()
	header := c.do("GET", "/sales/orders/"+id, nil, http.StatusOK, &o)
	if want := fmt.Sprintf("%q", fmt.Sprint(o.Version)); header.Get("ETag") != want {
		c.t.Errorf("ETag %s, want %s", header.Get("ETag"), want)
	}
	return o
}
