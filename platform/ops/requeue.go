package ops

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"unicode/utf8"

	"github.com/google/uuid"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/later/internalcommand"
	"example.com/plenary/platform/later/lease"
	"example.com/plenary/platform/later/outbox"
	"example.com/plenary/platform/postgres"
)

const (
	maxIDs    = 1000 // rows that are named at once
	maxReason = 500
)

// Selection names rows by id, or all that a filter means together with how many those should be. Reason is what
// the operator has to say about it, if anything.
type Selection struct {
	IDs      []uuid.UUID
	All      bool
	Expected *int
	Filter   lease.Filter
	Reason   string
}

// Validate wants one of the two ways.
func (s Selection) Validate() error {
	var v fault.Violations
	v.Check(s.All != (len(s.IDs) > 0), "ids", "required", "name rows by ids, or say all; not both")
	v.Check(!s.All || s.Expected != nil, "expected", "required", "say how many there should be")
	v.Check(s.Expected == nil || *s.Expected >= 0, "expected", "out_of_range", "must not be negative")
	v.Check(len(s.IDs) <= maxIDs, "ids", "too_many", "at most 1000 at once")
	v.Check(s.All || s.Expected == nil, "expected", "not_applicable", "goes with all")
	v.Check(s.All || s.Filter == lease.Filter{}, "filter", "not_applicable", "goes with all")
	checkLength(&v, "filter.name", s.Filter.Name, 200)
	checkLength(&v, "filter.source", s.Filter.Source, 100)
	checkLength(&v, "filter.correlationId", s.Filter.CorrelationID, 64)
	checkLength(&v, "reason", s.Reason, maxReason)
	return v.Err()
}

func checkLength(v *fault.Violations, path, text string, most int) {
	v.Check(utf8.RuneCountInString(text) <= most, path, "too_long", fmt.Sprintf("must have at most %d characters", most))
}

// RequeueCommands gives dead internal commands another life; the result is how many there were.
type RequeueCommands struct{ Selection }

// Policy is for operators.
func (RequeueCommands) Policy() command.Policy {
	return command.Policy{Name: "ops.requeue_internal_commands", Permission: PermissionAct}
}

// RequeueDeliveries is the same for deliveries of events.
type RequeueDeliveries struct{ Selection }

// Policy is for operators.
func (RequeueDeliveries) Policy() command.Policy {
	return command.Policy{Name: "ops.requeue_deliveries", Permission: PermissionAct}
}

func (c *Console) requeueCommands(ctx context.Context, cmd RequeueCommands) (int, error) {
	return c.requeue(ctx, cmd.Policy().Name, internalcommand.Rows, cmd.Selection)
}

func (c *Console) requeueDeliveries(ctx context.Context, cmd RequeueDeliveries) (int, error) {
	return c.requeue(ctx, cmd.Policy().Name, outbox.Deliveries, cmd.Selection)
}

// requeue changes all databases or none. The answer to an idempotency key commits with the default one's part.
func (c *Console) requeue(ctx context.Context, action string, t lease.Table, s Selection) (int, error) {
	begin := func(context.Context, *postgres.Tx) (string, error) { return "", nil } // there is nothing to be resumed
	if err := command.FirstTx(ctx, c.databases[0], begin); err != nil {
		return 0, err
	}
	return command.LastTx(ctx, c.databases[0], func(inside context.Context, tx *postgres.Tx) (int, error) {
		total, err := c.revive(ctx, inside, tx, t, s, 0)
		if err != nil {
			return 0, err
		}
		return total, c.note(inside, tx, t.Name, noteKey(s), act{Action: action, Reason: s.Reason, Affected: total}, slog.Int("ids", len(s.IDs)),
			slog.Bool("all", s.All), slog.String("name", s.Filter.Name), slog.String("source", s.Filter.Source), slog.String("correlation", s.Filter.CorrelationID))
	})
}

// noteKey is the row that was named, if it was one.
func noteKey(s Selection) string {
	if len(s.IDs) == 1 {
		return s.IDs[0].String()
	}
	return "*"
}

// revive requeues in the database that tx is open on, and then in those after it, whose transactions commit
// first: none does before the last count is known. outside has no open transaction; the ones inside each other
// are on different databases, always in this order, so that no two can wait for each other's connections.
func (c *Console) revive(outside, inside context.Context, tx *postgres.Tx, t lease.Table, s Selection, before int) (int, error) {
	n, err := reviveHere(inside, tx, t, s)
	if err != nil {
		return 0, err
	}
	database := tx.Source().Database()
	if n > 0 {
		tx.AfterCommitOrUnknown(func(context.Context) { c.wake(database.Name()) })
	}
	total := before + n
	at := slices.IndexFunc(c.databases, func(db *postgres.Source) bool { return db.Database() == database })
	if at+1 < len(c.databases) {
		err = c.databases[at+1].InTx(outside, func(inside context.Context, tx *postgres.Tx) (err error) {
			total, err = c.revive(outside, inside, tx, t, s, before+n)
			return err
		})
		return total, err
	}
	if s.All && total != *s.Expected {
		return 0, fault.New(fault.Conflict, "unexpected_count", "the number of dead letters is not the expected one")
	}
	return total, nil
}

func reviveHere(ctx context.Context, tx *postgres.Tx, t lease.Table, s Selection) (int, error) {
	if !s.All {
		return t.Requeue(ctx, tx, s.IDs)
	}
	n, err := t.CountDead(ctx, tx, s.Filter)
	if err != nil {
		return 0, err
	}
	return t.RequeueAll(ctx, tx, s.Filter, n)
}

type requeueInput struct {
	Body struct {
		IDs      []uuid.UUID   `json:"ids,omitempty" maxItems:"1000"`
		All      bool          `json:"all,omitempty"`
		Expected *int          `json:"expected,omitempty" minimum:"0"`
		Filter   requeueFilter `json:"filter,omitzero"`
		Reason   string        `json:"reason,omitempty" maxLength:"500"`
	}
}

type requeueFilter struct {
	Name          string `json:"name,omitempty" maxLength:"200"`
	Source        string `json:"source,omitempty" maxLength:"100"`
	CorrelationID string `json:"correlationId,omitempty" maxLength:"64"`
}

func (in requeueInput) selection() Selection {
	f := in.Body.Filter
	return Selection{
		IDs: in.Body.IDs, All: in.Body.All, Expected: in.Body.Expected, Reason: in.Body.Reason,
		Filter: lease.Filter{Name: f.Name, Source: f.Source, CorrelationID: f.CorrelationID},
	}
}

// Requeued is how many dead letters were given another life.
type Requeued struct {
	Requeued int `json:"requeued"`
}

func requeued(n int) httpx.Response[Requeued] { return httpx.OK(Requeued{n}) }

func (c *Console) postRequeueCommands(ctx context.Context, in requeueInput) (httpx.Response[Requeued], error) {
	return httpx.Act(ctx, c.RequeueCommands, RequeueCommands{in.selection()}, requeued)
}

func (c *Console) postRequeueDeliveries(ctx context.Context, in requeueInput) (httpx.Response[Requeued], error) {
	return httpx.Act(ctx, c.RequeueDeliveries, RequeueDeliveries{in.selection()}, requeued)
}
