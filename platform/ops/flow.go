package ops

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/platform/audit"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/later/internalcommand"
	"example.com/plenary/platform/later/lease"
	"example.com/plenary/platform/later/outbox"
	"example.com/plenary/platform/postgres"
)

// maxFlow bounds what one timeline reads of each kind in each database.
const maxFlow = 200

// Step is one thing that happened in a flow.
type Step struct {
	On       time.Time `json:"on"`
	Kind     string    `json:"kind" enum:"change,event,delivery,command,attempt"`
	Database string    `json:"database"`
	Source   string    `json:"source" doc:"The module"`
	Name     string    `json:"name" doc:"Of the event, handler, command or entity"`
	ID       uuid.UUID `json:"id" doc:"Of the entry, event, delivery or command"`
	State    string    `json:"state" doc:"Of a command or a delivery, of an attempt its outcome, of a change its operation"`
	Error    *string   `json:"error"`
}

// Flow is everything that bears one correlation id, in the order in which it happened.
type Flow struct {
	CorrelationID string `json:"correlationId"`
	Items         []Step `json:"items"`
	Complete      bool   `json:"complete" doc:"false: there is more of some kind than is shown"`
}

// Flow reads the timeline of one request and of all that came of it, by the databases' clocks. What is unknown is an
// empty timeline: a correlation id is nothing that exists by itself.
func (c *Console) Flow(ctx context.Context, correlationID string) (Flow, error) {
	f := Flow{CorrelationID: correlationID, Complete: true}
	for _, db := range c.databases {
		if err := f.read(ctx, db); err != nil {
			return Flow{}, err
		}
	}
	slices.SortStableFunc(f.Items, func(a, b Step) int { return cmp.Or(a.On.Compare(b.On), cmp.Compare(order[a.Kind], order[b.Kind])) })
	return f, nil
}

// order is that of steps of one instant: what a transaction did has its time.
var order = map[string]int{"change": 0, "event": 1, "delivery": 2, "command": 3, "attempt": 4}

func (f *Flow) read(ctx context.Context, db *postgres.Source) error {
	changes, err := audit.List(ctx, db, audit.Filter{CorrelationID: f.CorrelationID}, uuid.Nil, maxFlow)
	if err != nil {
		return err
	}
	filter := lease.Filter{CorrelationID: f.CorrelationID}
	events, err := outbox.List(ctx, db, filter, uuid.Nil, maxFlow)
	if err != nil {
		return err
	}
	commands, err := internalcommand.Rows.List(ctx, db, filter, uuid.Nil, maxFlow)
	if err != nil {
		return err
	}
	f.Complete = f.Complete && max(len(changes), len(events), len(commands)) < maxFlow
	add := func(s Step) {
		s.Database, s.On = db.Database().Name(), s.On.UTC()
		f.Items = append(f.Items, s)
	}
	for _, e := range changes {
		add(Step{On: e.ChangedOn, Kind: "change", Source: e.Source, Name: e.EntityType, ID: e.ID, State: string(e.Operation)})
	}
	for _, e := range events {
		add(Step{On: e.OccurredOn, Kind: "event", Source: e.Source, Name: e.Name, ID: e.ID})
		for _, d := range e.Deliveries {
			if err := work(ctx, db, "delivery", d, add); err != nil {
				return err
			}
		}
	}
	for _, row := range commands {
		if err := work(ctx, db, "command", row, add); err != nil {
			return err
		}
	}
	return nil
}

// work adds a row of work, and each attempt that ended.
func work(ctx context.Context, db *postgres.Source, kind string, row lease.Row, add func(Step)) error {
	add(Step{On: row.CreatedOn, Kind: kind, Source: row.Source, Name: row.Name, ID: row.ID, State: string(row.State), Error: row.LastError})
	attempts, err := lease.Attempts(ctx, db, row.ID)
	for _, a := range attempts {
		add(Step{On: a.FinishedOn, Kind: "attempt", Source: row.Source, Name: row.Name, ID: row.ID, State: a.Outcome, Error: a.Error})
	}
	return err
}

func (c *Console) getFlow(ctx context.Context, in struct {
	CorrelationID string `path:"correlationId" maxLength:"64"`
},
) (httpx.Response[Flow], error) {
	f, err := c.Flow(ctx, in.CorrelationID)
	return httpx.OK(f), err
}
