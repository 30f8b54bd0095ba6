package outbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/later/lease"
	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/strictjson"
)

// Event is a value that says what happened. EventName is a chosen, stable name, "module.noun_verbed"; it is
// called on the zero value too.
type Event interface{ EventName() string }

// Versioned is an event whose payload has changed its meaning; without it the version is 1.
type Versioned interface{ EventVersion() int }

// MaxPayload bounds an event, in bytes of JSON.
const MaxPayload = 256 << 10

// Table is where the deliveries are.
const Table = "platform.deliveries"

// Box publishes events and delivers them. Subscribing happens while the program is wired, from one goroutine;
// everything else is safe for concurrent use.
type Box struct {
	pipeline *command.Pipeline
	wake     func(database string)
	handlers map[string]*handler
	order    []string
}

type handler struct {
	name, event string
	source      *postgres.Source
	version     int
	retry       lease.Retry
	deliver     func(ctx context.Context, w lease.Work) error
}

// New returns a box. wake is called after a commit that published something, with the database's name.
func New(pipeline *command.Pipeline, wake func(database string)) *Box {
	return &Box{pipeline: pipeline, wake: wake, handlers: map[string]*handler{}}
}

// Option changes how a handler's deliveries are made.
type Option func(*handler, *command.Policy)

// Retry sets how failures are tried again; the default is 10 attempts, from 5 s up to 10 min apart.
func Retry(r lease.Retry) Option { return func(h *handler, _ *command.Policy) { h.retry = r } }

// Timeout bounds one run of the handler.
func Timeout(d time.Duration) Option { return func(_ *handler, p *command.Policy) { p.Timeout = d } }

// Subscribe lets h handle the events of type E on source, under a chosen, stable name ("module.on_event").
// h gets the transaction of its effects, which commits together with the record that the event was handled;
// it may be run again, and keeps nothing between runs. It panics if the name is taken.
func Subscribe[E Event](b *Box, source *postgres.Source, name string, h func(ctx context.Context, tx *postgres.Tx, event E) error, options ...Option) {
	var zero E
	sub := &handler{
		name: name, event: zero.EventName(), source: source, version: versionOf(zero),
		retry: lease.Retry{MaxAttempts: 10, Base: 5 * time.Second},
	}
	policy := command.Policy{Name: name}
	for _, option := range options {
		option(sub, &policy)
	}
	sub.retry = sub.retry.WithDefaults()
	door := command.HandleEvent(b.pipeline, source, policy, h)
	sub.deliver = func(ctx context.Context, w lease.Work) error {
		var event E
		if err := strictjson.Decode(w.Payload, &event); err != nil {
			return &lease.PayloadError{Err: err}
		}
		return door(ctx, event)
	}
	b.handlers[name] = sub // the pipeline has refused a name that is taken
	b.order = append(b.order, name)
}

func versionOf(event Event) int {
	if v, ok := event.(Versioned); ok {
		return v.EventVersion()
	}
	return 1
}

// Publish writes the event and its deliveries into tx, in one statement, and returns the event's id. Nobody
// hears of it unless tx commits; then they do within moments. The principal, tenant, correlation and trace of
// ctx go with it.
//
// Invalid: the payload cannot be stored or is larger than MaxPayload. Internal: the event is not tx's
// module's to publish.
func (b *Box) Publish(ctx context.Context, tx *postgres.Tx, event Event) (uuid.UUID, error) {
	name, module := event.EventName(), tx.Source().Name()
	if !strings.HasPrefix(name, module+".") {
		return uuid.Nil, fault.Newf(fault.Internal, "foreign_event", "%s is not an event of %s", name, module)
	}
	payload, err := strictjson.Encode(event)
	if err != nil {
		return uuid.Nil, fault.Wrap(err, fault.Invalid, "payload_invalid", "the event cannot be stored")
	}
	if len(payload) > MaxPayload {
		return uuid.Nil, fault.Newf(fault.Invalid, "payload_too_large", "the event has more than %d bytes", MaxPayload)
	}
	o := identity.Capture(ctx)
	id := uuid.Must(uuid.NewV7())
	_, err = tx.Exec(ctx, `
		WITH event AS (
			INSERT INTO platform.events (id, source, name, payload, payload_version, user_id, roles, tenant, correlation_id, trace_parent)
			VALUES ($1, $2, $3, $4, $5, nullif($6, ''), coalesce($7::text[], '{}'), nullif($8, ''), nullif($9, ''), nullif($10, ''))
			RETURNING id, name, payload_version)
		INSERT INTO platform.deliveries (event_id, event, name, payload_version, max_attempts)
		SELECT event.id, event.name, s.handler, event.payload_version, s.max_attempts
		FROM event JOIN platform.subscriptions s ON s.event = event.name`,
		id, module, name, payload, versionOf(event), o.UserID, o.Roles, o.Tenant, o.CorrelationID, o.TraceParent)
	if err != nil {
		return uuid.Nil, fmt.Errorf("publish %s: %w", name, postgres.Fault(err))
	}
	database := tx.Source().Database().Name()
	tx.AfterCommitOrUnknown(func(context.Context) { b.wake(database) })
	return id, nil
}

// Handlers lists the subscribed handlers as "event → handler", in the order of subscription.
func (b *Box) Handlers() []string {
	lines := make([]string, len(b.order))
	for i, name := range b.order {
		lines[i] = b.handlers[name].event + " → " + name
	}
	return lines
}

// SaveSubscriptions records this program's handlers where their publishers look for them: publishers maps a
// module's name to its source. It only adds. A handler that is gone stays subscribed, and its deliveries are
// dead-lettered loudly, until Unsubscribe says that this is meant.
func (b *Box) SaveSubscriptions(ctx context.Context, publishers map[string]*postgres.Source) error {
	for _, name := range b.order {
		h := b.handlers[name]
		module, _, _ := strings.Cut(h.event, ".")
		publisher := publishers[module]
		if publisher == nil {
			return fmt.Errorf("outbox: %s listens to %s, but there is no module %s", name, h.event, module)
		}
		err := publisher.Database().Control().InTx(ctx, func(ctx context.Context, tx *postgres.Tx) error {
			_, err := tx.Exec(ctx, `
				INSERT INTO platform.subscriptions AS s (event, handler, max_attempts) VALUES ($1, $2, $3)
				ON CONFLICT (event, handler) DO UPDATE SET max_attempts = excluded.max_attempts
				WHERE s.max_attempts <> excluded.max_attempts`, h.event, name, h.retry.MaxAttempts)
			return err
		})
		if err != nil {
			return fmt.Errorf("subscribe %s: %w", name, err)
		}
	}
	return nil
}

// Unsubscribe ends a handler's subscription. Deliveries that exist stay.
func Unsubscribe(ctx context.Context, tx *postgres.Tx, event, handler string) error {
	_, err := tx.Exec(ctx, `DELETE FROM platform.subscriptions WHERE event = $1 AND handler = $2`, event, handler)
	return postgres.Fault(err)
}

// Mechanism returns what a lease.Runner needs to make the deliveries that lie in one database.
func (b *Box) Mechanism(workers int) *lease.Mechanism {
	names := map[string]int{}
	for name, h := range b.handlers {
		names[name] = h.version
	}
	return &lease.Mechanism{
		Name: "delivery", Table: Table, Workers: workers, Names: names,
		Detail: "e.payload, e.user_id, e.roles, e.tenant, e.correlation_id, e.trace_parent, e.id",
		From:   "platform.events e", Where: "e.id = t.event_id",
		Retry: func(name string) lease.Retry { return b.handlers[name].retry },
		Run: func(ctx context.Context, w lease.Work) (bool, error) {
			return false, b.deliver(ctx, w)
		},
	}
}

// errHandled says that the inbox has the event: an earlier delivery has done what this one would do.
var errHandled error = fault.New(fault.Conflict, "already_handled", "the event was handled before")

// deliver runs one handler for one event. The delivery's row is stamped afterwards, and may be stamped twice
// or be claimed by two replicas; the inbox row is what makes the effects happen once.
func (b *Box) deliver(ctx context.Context, w lease.Work) error {
	h := b.handlers[w.Name]
	ctx = identity.Restore(ctx, w.Origin)
	ctx = command.WithRunID(ctx, w.ID.String())
	err := h.deliver(command.WithGuard(ctx, inbox(w)), w)
	if errors.Is(err, errHandled) {
		return nil
	}
	return err
}

// inbox puts the record of having handled the event into the handler's transaction. A second delivery waits
// here for the first one's commit, and then ends with errHandled.
func inbox(w lease.Work) command.Guard {
	return command.Guard{Guard: postgres.Guard{
		First: []postgres.Statement{{
			SQL:  `INSERT INTO platform.inbox (event_id, handler) VALUES ($1, $2) ON CONFLICT DO NOTHING`,
			Args: []any{w.Subject, w.Name},
			Check: func(tag pgconn.CommandTag) error {
				if tag.RowsAffected() == 0 {
					return errHandled
				}
				return nil
			},
		}},
		Witness: func(ctx context.Context, tx *postgres.Tx) (bool, error) {
			// Inserting waits for a session that may still be committing the same row.
			tag, err := tx.Exec(ctx, `INSERT INTO platform.inbox (event_id, handler) VALUES ($1, $2) ON CONFLICT DO NOTHING`,
				w.Subject, w.Name)
			return err == nil && tag.RowsAffected() == 0, err
		},
	}}
}
