package internalcommand

import (
	"context"

	"github.com/google/uuid"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/later/lease"
	"example.com/plenary/platform/postgres"
)

// Mechanism returns what a lease.Runner needs to run this queue's commands whose module lies in db. workers
// bounds how many run at once; 0 means the default.
func (q *Queue) Mechanism(db *postgres.Database, workers int) *lease.Mechanism {
	names := map[string]int{}
	for name, e := range q.entries {
		// A row that was left behind when its module moved to another database is nobody's: its stamp could
		// not commit with its effects.
		if e.info.Source.Database() == db {
			names[name] = e.version
		}
	}
	m := &lease.Mechanism{
		Name: "command", Table: Table, Workers: workers, Names: names,
		Detail: "t.payload, t.user_id, t.roles, t.tenant, t.correlation_id, t.trace_parent, t.id",
		Retry:  func(name string) lease.Retry { return q.entries[name].retry },
		Renew:  func(name string) bool { return q.entries[name].info.Kind != command.Transactional },
	}
	m.Run = func(ctx context.Context, w lease.Work) (stamped bool, err error) { return q.run(ctx, db, m, w) }
	return m
}

// run takes a claimed row through the door of its command. A transactional command stamps its row in its own
// transaction; any other has its transactions fenced, and is stamped afterwards.
func (q *Queue) run(ctx context.Context, db *postgres.Database, m *lease.Mechanism, w lease.Work) (stamped bool, err error) {
	e := q.entries[w.Name]
	cmd, err := e.read(w)
	if err != nil {
		return false, &lease.PayloadError{Err: err}
	}
	ctx = identity.Restore(ctx, w.Origin)
	ctx = command.WithRunID(ctx, w.ID.String())
	ctx = context.WithValue(ctx, rowKey{}, w.ID)
	if e.info.Kind == command.Transactional {
		return true, e.run(command.WithGuard(ctx, m.Stamp(w)), cmd)
	}
	return false, e.run(postgres.WithFence(ctx, db, m.Fence(w)), cmd)
}

func (e *entry) read(w lease.Work) (any, error) {
	payload := w.Payload
	if w.Version < e.version && e.upcast != nil {
		var err error
		if payload, err = e.upcast(w.Version, payload); err != nil {
			return nil, err
		}
	}
	return e.decode(payload)
}

type rowKey struct{}

// RowID returns the id of the row that ctx's run comes from, and false for an inline run.
func RowID(ctx context.Context) (uuid.UUID, bool) {
	id, ok := ctx.Value(rowKey{}).(uuid.UUID)
	return id, ok
}
