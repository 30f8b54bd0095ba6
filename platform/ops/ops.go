package ops

import (
	"bytes"
	"context"
	"slices"

	"github.com/google/uuid"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/later/lease"
	"example.com/plenary/platform/postgres"
)

// What operators may be allowed.
const (
	PermissionRead  identity.Permission = "ops:read"
	PermissionAct   identity.Permission = "ops:act"
	PermissionAdmin identity.Permission = "ops:admin"
)

// Grant registers what the roles may do here.
func Grant(p *identity.Permissions) {
	p.Grant("viewer", PermissionRead)
	p.Grant("operator", PermissionRead, PermissionAct)
	p.Grant("admin", PermissionRead, PermissionAct, PermissionAdmin)
}

// Console serves the operators' part of the API.
type Console struct {
	// Databases are all physical databases of the program.
	Databases []*postgres.Database
	// Wake tells every replica that a database has something to look at.
	Wake func(database string)
}

// Routes declares the API.
func (c *Console) Routes(api *httpx.API) {
	const tag = "Operations"
	read := func(path, id, summary string, errors ...int) httpx.Route {
		return httpx.Route{Method: "GET", Path: "/ops/" + path, ID: id, Tags: []string{tag}, Summary: summary, Permission: PermissionRead, Errors: errors}
	}
	act := func(path, id, summary string) httpx.Route {
		return httpx.Route{Method: "POST", Path: "/ops/" + path, ID: id, Tags: []string{tag}, Summary: summary, Permission: PermissionAct, Errors: []int{409}}
	}
	httpx.Handle(api, read("internal-commands", "listInternalCommands", "Deferred commands, newest first"), c.getCommands)
	httpx.Handle(api, read("internal-commands/{id}", "getInternalCommand", "One deferred command with its attempts", 404), c.getCommand)
	httpx.Handle(api, act("internal-commands/requeue", "requeueInternalCommands", "Give dead letters another life"), c.requeueCommands)
	httpx.Handle(api, read("outbox", "listOutbox", "Events with a delivery per handler, newest first"), c.getEvents)
	httpx.Handle(api, read("outbox/{id}", "getOutboxEvent", "One event with its deliveries and their attempts", 404), c.getEvent)
	httpx.Handle(api, act("outbox/requeue", "requeueDeliveries", "Give dead deliveries another life"), c.requeueDeliveries)
}

// listInput is what both lists can be narrowed down by.
type listInput struct {
	httpx.Paging
	State         string `query:"state" enum:"scheduled,due,running,retrying,succeeded,dead_lettered"`
	Name          string `query:"name" maxLength:"200"`
	Source        string `query:"source" maxLength:"100"`
	CorrelationID string `query:"correlationId" maxLength:"64"`
}

func (in listInput) filter() lease.Filter {
	return lease.Filter{State: lease.State(in.State), Name: in.Name, Source: in.Source, CorrelationID: in.CorrelationID}
}

// merged answers one page of rows from all databases, by descending id.
func merged[S, V any](ctx context.Context, c *Console, in listInput, idOf func(S) uuid.UUID, show func(S) V,
	list func(ctx context.Context, r postgres.Reader, f lease.Filter, before uuid.UUID, limit int) ([]S, error),
) (httpx.Response[httpx.Page[V]], error) {
	var none httpx.Response[httpx.Page[V]]
	after, err := httpx.After[uuid.UUID](in.Paging)
	if err != nil {
		return none, err
	}
	if after == nil {
		after = &uuid.UUID{}
	}
	var all []S
	for _, db := range c.Databases {
		rows, err := list(ctx, db.Control(), in.filter(), *after, in.Fetch())
		if err != nil {
			return none, err
		}
		all = append(all, rows...)
	}
	slices.SortFunc(all, func(a, b S) int {
		x, y := idOf(a), idOf(b)
		return bytes.Compare(y[:], x[:])
	})
	page, err := httpx.NewPage(in.Paging, all[:min(len(all), in.Fetch())], idOf)
	views := make([]V, len(page.Items))
	for i, s := range page.Items {
		views[i] = show(s)
	}
	return httpx.OK(httpx.Page[V]{Items: views, NextCursor: page.NextCursor}), err
}

// requeueInput names rows, or all dead letters that a filter means together with how many those should be.
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
	Name          string `json:"name,omitempty"`
	Source        string `json:"source,omitempty"`
	CorrelationID string `json:"correlationId,omitempty"`
}

// Requeued is how many dead letters were given another life.
type Requeued struct {
	Requeued int `json:"requeued"`
}

func (c *Console) requeue(ctx context.Context, t lease.Table, in requeueInput) (httpx.Response[Requeued], error) {
	var none httpx.Response[Requeued]
	var v fault.Violations
	v.Check(in.Body.All != (len(in.Body.IDs) > 0), "ids", "required", "name rows by ids, or say all; not both")
	v.Check(!in.Body.All || in.Body.Expected != nil, "expected", "required", "say how many there should be")
	v.Check(len(in.Body.IDs) <= 1000, "ids", "too_many", "at most 1000 at once")
	if err := v.Err(); err != nil {
		return none, err
	}
	if !in.Body.All {
		n, err := c.requeueIDs(ctx, t, in.Body.IDs)
		return httpx.OK(Requeued{n}), err
	}
	f := lease.Filter{Name: in.Body.Filter.Name, Source: in.Body.Filter.Source, CorrelationID: in.Body.Filter.CorrelationID}
	n, err := c.requeueAll(ctx, t, f, *in.Body.Expected)
	return httpx.OK(Requeued{n}), err
}

func (c *Console) requeueIDs(ctx context.Context, t lease.Table, ids []uuid.UUID) (total int, err error) {
	for _, db := range c.Databases {
		n := 0
		err := c.inTx(ctx, db, func(ctx context.Context, tx *postgres.Tx) (err error) {
			n, err = t.Requeue(ctx, tx, ids)
			return err
		})
		if err != nil {
			return total, err
		}
		total += n
	}
	return total, nil
}

// requeueAll counts in every database before it changes any. Within each, the count is held to again by the
// statement that changes the rows.
func (c *Console) requeueAll(ctx context.Context, t lease.Table, f lease.Filter, expected int) (int, error) {
	counts := make([]int, len(c.Databases))
	sum := 0
	for i, db := range c.Databases {
		n, err := t.CountDead(ctx, db.Control(), f)
		if err != nil {
			return 0, err
		}
		counts[i] = n
		sum += n
	}
	if sum != expected {
		return 0, fault.New(fault.Conflict, "unexpected_count", "the number of dead letters is not the expected one")
	}
	for i, db := range c.Databases {
		if counts[i] == 0 {
			continue
		}
		err := c.inTx(ctx, db, func(ctx context.Context, tx *postgres.Tx) error {
			_, err := t.RequeueAll(ctx, tx, f, counts[i])
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	return sum, nil
}

func (c *Console) inTx(ctx context.Context, db *postgres.Database, fn func(ctx context.Context, tx *postgres.Tx) error) error {
	return db.Control().InTx(ctx, func(ctx context.Context, tx *postgres.Tx) error {
		tx.AfterCommitOrUnknown(func(context.Context) { c.Wake(db.Name()) })
		return fn(ctx, tx)
	})
}
