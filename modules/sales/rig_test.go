package sales_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/migrations"
	"example.com/plenary/modules/sales"
	"example.com/plenary/modules/sales/sandbox"
	"example.com/plenary/platform/command"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/later/internalcommand"
	"example.com/plenary/platform/later/lease"
	"example.com/plenary/platform/later/outbox"
	"example.com/plenary/platform/later/schedule"
	"example.com/plenary/platform/mail"
	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/postgres/postgrestest"
)

// rig is the module on a database of its own, with a gateway and a mail server that the test controls.
type rig struct {
	*sales.Module
	t      *testing.T
	source *postgres.Source
	runner *lease.Runner
	alice  context.Context
	id     uuid.UUID

	mu       sync.Mutex
	sent     []mail.Message
	mailErr  error
	gateway  sales.Gateway
	contacts map[uuid.UUID]string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	set := func(source string) postgres.Migrations {
		return postgres.Migrations{Source: source, Files: migrations.Of(source)}
	}
	db := postgrestest.Open(t, postgrestest.With(set("sales"), set("sandbox")))
	logger := slog.New(slog.NewTextHandler(t.Output(), nil))
	var permissions identity.Permissions
	sales.Grant(&permissions)
	pipeline := command.New(command.Deps{Permissions: &permissions, Logger: logger})
	wake := func(string) {}
	r := &rig{t: t, source: db.Source("sales"), id: uuid.New(), contacts: map[uuid.UUID]string{}}
	r.contacts[r.id] = "alice@example.com"
	r.alice = identity.WithPrincipal(context.Background(), identity.User(r.id, "customer"))
	r.gateway = sandbox.New(db.Source("sandbox"))
	commands, events := internalcommand.New(pipeline, wake), outbox.New(pipeline, wake)
	jobs := schedule.New(pipeline, commands, wake)
	var err error
	r.Module, err = sales.New(sales.Deps{
		Source: r.source, Pipeline: pipeline, Commands: commands, Events: events, Jobs: jobs, Permissions: &permissions,
		Gateway: r, Mailer: r, Customers: r, Logger: logger,
		ExpiresAfter: 30 * time.Minute, GatewayTimeout: 200 * time.Millisecond, BaseURL: "http://plenary.test",
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := events.SaveSubscriptions(context.Background(), map[string]*postgres.Source{"sales": r.source}); err != nil {
		t.Fatal(err)
	}
	r.runner, err = lease.New(lease.Config{
		Database: db, Logger: logger, Mechanisms: []*lease.Mechanism{commands.Mechanism(db, 4), events.Mechanism(4)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.source.InTx(context.Background(), sales.Seed); err != nil {
		t.Fatal(err)
	}
	return r
}

// The rig is the module's gateway, mail server and customer list.

func (r *rig) Knows(method string) bool { return r.gateway.Knows(method) }

func (r *rig) Charge(ctx context.Context, c sales.Charge) (sales.Outcome, error) {
	r.mu.Lock()
	g := r.gateway
	r.mu.Unlock()
	return g.Charge(ctx, c)
}

func (r *rig) Send(_ context.Context, m mail.Message) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mailErr != nil {
		return r.mailErr
	}
	r.sent = append(r.sent, m)
	return nil
}

func (r *rig) Contact(_ context.Context, id uuid.UUID) (name, email string, err error) {
	email, ok := r.contacts[id]
	if !ok {
		return "", "", fault.New(fault.NotFound, "user_not_found", "there is no such user")
	}
	return "Alice", email, nil
}

var pass = uuid.MustParse("01936d10-0000-7000-8000-000000000101")

func (r *rig) place(method string) sales.Order {
	r.t.Helper()
	o, err := r.PlaceOrder(r.alice, sales.PlaceOrder{Lines: []sales.OrderedLine{{ProductID: pass, Quantity: 2}}, PaymentMethod: method})
	if err != nil {
		r.t.Fatal(err)
	}
	return o
}

func (r *rig) show(id uuid.UUID) sales.Order {
	r.t.Helper()
	o, err := r.GetOrder(r.alice, sales.GetOrder{ID: id})
	if err != nil {
		r.t.Fatal(err)
	}
	return o
}

func (r *rig) drain() {
	r.t.Helper()
	if err := r.runner.Drain(context.Background()); err != nil {
		r.t.Fatal(err)
	}
}

// due makes commands of one name due, by moving their rows.
func (r *rig) due(name string) {
	r.t.Helper()
	postgrestest.Exec(r.t, r.source, `UPDATE platform.internal_commands SET next_attempt_on = now() WHERE name = $1 AND processed_on IS NULL`, name)
}

func (r *rig) overdue() {
	r.t.Helper()
	postgrestest.Exec(r.t, r.source, `UPDATE sales.orders SET expires_on = now()`)
	r.due("sales.expire_unpaid_order")
}

func (r *rig) available() int {
	r.t.Helper()
	return postgrestest.Value[int](r.t, r.source, `SELECT available FROM sales.products WHERE id = $1`, pass)
}

func (r *rig) dead() int {
	r.t.Helper()
	return postgrestest.Value[int](r.t, r.source, `
		SELECT (SELECT count(*) FROM platform.internal_commands WHERE dead_lettered_on IS NOT NULL OR last_error IS NOT NULL)
			+ (SELECT count(*) FROM platform.deliveries WHERE dead_lettered_on IS NOT NULL OR last_error IS NOT NULL)`)
}
