package command

import (
	"context"

	"example.com/plenary/platform/postgres"
)

// Guard is what must stand or fall with the transaction of one run: the stamp of a deferred command's row, an
// inbox row, the stored answer of an idempotent request.
//
// The transaction step of a transactional handler takes it out of the context before it calls the handler, so
// that a nested run does not stamp again, and repeats it when the transaction is repeated.
type Guard struct {
	postgres.Guard
	// Last, if set, sees the handler's result and returns statements that are sent together with COMMIT.
	Last func(result any) ([]postgres.Statement, error)
}

type guardKey struct{}

// WithGuard returns a context under which the next transactional run is guarded.
func WithGuard(ctx context.Context, g Guard) context.Context {
	return context.WithValue(ctx, guardKey{}, &g)
}

// takeGuard returns the guard of ctx, and ctx without it.
func takeGuard(ctx context.Context) (Guard, context.Context) {
	g, _ := ctx.Value(guardKey{}).(*Guard)
	if g == nil {
		return Guard{}, ctx
	}
	return *g, context.WithValue(ctx, guardKey{}, (*Guard)(nil))
}

type runKey struct{}

// WithRunID returns a context whose run has an identity that survives repetition: the id of the row that a
// deferred run comes from.
func WithRunID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, runKey{}, id)
}

// RunID returns the identity of the run that ctx belongs to: the same for each attempt of a deferred command,
// hence fit for a Message-ID or an idempotency key at another system. It is "" for a run that will not be
// repeated.
func RunID(ctx context.Context) string {
	id, _ := ctx.Value(runKey{}).(string)
	return id
}
