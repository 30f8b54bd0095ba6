package postgres

import (
	"context"
	"slices"
)

type fenceKey struct{}

type fence struct {
	db        *Database
	statement Statement
}

// WithFence returns a context under which every transaction on db begins with statement, in one round trip
// with BEGIN. The statement's Check refuses the transaction if whatever entitled the work to go on (a lease,
// a distributed lock) is no longer held; its row lock keeps that so until the transaction ends.
// Fences add up. A transaction on another database is not affected.
func WithFence(ctx context.Context, db *Database, statement Statement) context.Context {
	held, _ := ctx.Value(fenceKey{}).([]fence)
	return context.WithValue(ctx, fenceKey{}, append(slices.Clone(held), fence{db, statement}))
}

func withoutFence(ctx context.Context) context.Context {
	return context.WithValue(ctx, fenceKey{}, []fence(nil))
}

func fences(ctx context.Context, db *Database) []Statement {
	held, _ := ctx.Value(fenceKey{}).([]fence)
	var statements []Statement
	for _, f := range held {
		if f.db == db {
			statements = append(statements, f.statement)
		}
	}
	return statements
}
