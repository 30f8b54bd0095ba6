package internalcommand

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/later/lease"
	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/strictjson"
)

// Limits of what can be scheduled.
const (
	MaxPayload = 256 << 10 // bytes of JSON: ids and plain values; everything else is read when it runs
	MaxDelay   = 10 * 366 * 24 * time.Hour
)

// Table is where the rows are.
const Table = "platform.internal_commands"

// Queue schedules commands and runs them. Registration happens while the program is wired, from one
// goroutine; everything else is safe for concurrent use.
type Queue struct {
	pipeline *command.Pipeline
	// wake tells every replica that the named database has something to look at.
	wake    func(database string)
	entries map[string]*entry // by stable name and by alias
	byType  map[reflect.Type]*entry
}

type entry struct {
	name     string
	info     command.Info
	version  int
	retry    lease.Retry
	upcast   func(version int, payload []byte) ([]byte, error)
	decode   func(payload []byte) (any, error)
	run      func(ctx context.Context, cmd any) error
	workType reflect.Type
	// same lets a test see that a deferred run goes through the door that was registered, not through a copy.
	door any
}

// New returns a queue. wake is called after a commit that scheduled something, with the database's name.
func New(pipeline *command.Pipeline, wake func(database string)) *Queue {
	return &Queue{pipeline: pipeline, wake: wake, entries: map[string]*entry{}, byType: map[reflect.Type]*entry{}}
}

// Option changes how a registered command is deferred.
type Option func(*entry)

// Retry sets how failures are tried again; the default is 5 attempts, from 10 s up to 10 min apart.
func Retry(r lease.Retry) Option { return func(e *entry) { e.retry = r } }

// Version says that payloads are now written in the given version (from 1), and how to bring an older one up
// to it. Replicas that do not know the version yet leave such rows alone.
func Version(version int, upcast func(version int, payload []byte) ([]byte, error)) Option {
	return func(e *entry) { e.version, e.upcast = version, upcast }
}

// Register makes the command behind door deferrable under its policy's name. Rows that bear an alias, a former
// name, run as well. It panics for what can only be a mistake in the program: a name taken, a door that the
// pipeline does not know, a command that does not survive its own JSON.
func Register[C command.Command](q *Queue, door command.Func[C], options ...Option) {
	var zero C
	name := zero.Policy().Name
	info, ok := q.pipeline.Lookup(name)
	if !ok {
		panic("internalcommand: the pipeline does not know " + name)
	}
	e := &entry{
		name: name, info: info, version: 1, workType: reflect.TypeFor[C](), door: door,
		decode: func(payload []byte) (any, error) {
			var cmd C
			err := strictjson.Decode(payload, &cmd)
			return cmd, err
		},
		run: func(ctx context.Context, cmd any) error { return door(ctx, cmd.(C)) },
	}
	for _, option := range options {
		option(e)
	}
	e.retry = e.retry.WithDefaults()
	payload, err := strictjson.Encode(zero)
	if err == nil {
		_, err = e.decode(payload)
	}
	if err != nil {
		panic(fmt.Sprintf("internalcommand: %s does not survive its own JSON: %v", name, err))
	}
	q.add(name, e)
	q.byType[e.workType] = e
}

// Alias lets rows that still bear a former name run as the command of type C.
func Alias[C command.Command](q *Queue, former string) {
	q.add(former, q.byType[reflect.TypeFor[C]()])
}

func (q *Queue) add(name string, e *entry) {
	if _, taken := q.entries[name]; taken || e == nil {
		panic("internalcommand: " + name + " is taken, or its command is not registered")
	}
	q.entries[name] = e
}

// When says when a command is to run; without one, as soon as its cause has committed.
type When func(*schedule)

type schedule struct {
	delay time.Duration
	at    time.Time
}

// After lets the command wait, from the transaction's start, by the database's clock.
func After(delay time.Duration) When { return func(s *schedule) { s.delay = delay } }

// At lets the command wait for an instant, by the database's clock. One that has passed means at once.
func At(instant time.Time) When { return func(s *schedule) { s.at = instant } }

// Schedule writes the command into tx and returns the row's id. Nothing is scheduled unless tx commits; the
// command starts no earlier than that. The principal, tenant, correlation and trace of ctx go with it.
//
// Invalid: the payload cannot be stored or is larger than MaxPayload, or the delay is longer than MaxDelay.
// Internal: the command is not registered, or it is not tx's module's.
func (q *Queue) Schedule(ctx context.Context, tx *postgres.Tx, cmd command.Command, when ...When) (uuid.UUID, error) {
	e := q.byType[reflect.TypeOf(cmd)]
	if e == nil {
		return uuid.Nil, fault.Newf(fault.Internal, "not_deferrable", "%T is not registered as an internal command", cmd)
	}
	if own := tx.Source().Name(); own != e.info.Source.Name() {
		return uuid.Nil, fault.Newf(fault.Internal, "foreign_command",
			"%s belongs to %s and cannot be scheduled by %s; publish an event instead", e.name, e.info.Source.Name(), own)
	}
	payload, err := strictjson.Encode(cmd)
	if err != nil {
		return uuid.Nil, fault.Wrap(err, fault.Invalid, "payload_invalid", "the command cannot be stored")
	}
	if len(payload) > MaxPayload {
		return uuid.Nil, fault.Newf(fault.Invalid, "payload_too_large", "the command has more than %d bytes", MaxPayload)
	}
	var s schedule
	for _, w := range when {
		w(&s)
	}
	if s.delay > MaxDelay || s.at.Year() > 9999 {
		return uuid.Nil, fault.New(fault.Invalid, "delay_too_long", "the command would wait for too long")
	}
	id := uuid.Must(uuid.NewV7())
	if err := insert(ctx, tx, id, e, payload, s); err != nil {
		return uuid.Nil, fmt.Errorf("schedule %s: %w", e.name, postgres.Fault(err))
	}
	database := tx.Source().Database().Name()
	tx.AfterCommitOrUnknown(func(context.Context) { q.wake(database) })
	return id, nil
}

func insert(ctx context.Context, tx *postgres.Tx, id uuid.UUID, e *entry, payload []byte, s schedule) error {
	var at *time.Time
	if !s.at.IsZero() {
		at = &s.at
	}
	o := identity.Capture(ctx)
	_, err := tx.Exec(ctx, `
		INSERT INTO platform.internal_commands (id, source, name, payload, payload_version, scheduled_on, next_attempt_on,
			max_attempts, user_id, roles, tenant, correlation_id, trace_parent)
		SELECT $1, $2, $3, $4, $5, due, due, $8, nullif($9, ''), coalesce($10::text[], '{}'), nullif($11, ''), nullif($12, ''), nullif($13, '')
		FROM (SELECT greatest(now(), coalesce($6, now() + $7::interval)) AS due) AS d`,
		id, e.info.Source.Name(), e.name, payload, e.version, at, max(0, s.delay), e.retry.MaxAttempts,
		o.UserID, o.Roles, o.Tenant, o.CorrelationID, o.TraceParent)
	return err
}

// Names lists what can be deferred, aliases included.
func (q *Queue) Names() []string {
	names := make([]string, 0, len(q.entries))
	for name := range q.entries {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
