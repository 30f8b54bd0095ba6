package command

import (
	"context"
	"reflect"
	"time"

	"example.com/plenary/platform/cache"
	"example.com/plenary/platform/postgres"
)

// Handle makes the door of a command whose handler changes the database and nothing else. The pipeline opens
// the transaction on source and hands it over; the handler may be run again if others got in the way, so it
// keeps nothing between runs.
//
// The door returns the handler's error, with a fault kind where it is known, or the fault of the step that
// refused: NotFound ("feature_disabled"), Unauthenticated, Forbidden ("permission_denied"), Invalid,
// Unavailable ("timed_out", "database_…", "commit_unknown"), Internal ("panic").
func Handle[C Command](p *Pipeline, source *postgres.Source, h func(ctx context.Context, tx *postgres.Tx, cmd C) error) Func[C] {
	return withoutResult(HandleResult(p, source, func(ctx context.Context, tx *postgres.Tx, cmd C) (struct{}, error) {
		return struct{}{}, h(ctx, tx, cmd)
	}))
}

// HandleResult is Handle for a handler with a result.
func HandleResult[C Command, R any](p *Pipeline, source *postgres.Source, h func(ctx context.Context, tx *postgres.Tx, cmd C) (R, error)) ResultFunc[C, R] {
	info := infoOf[C](Transactional, source)
	p.register(info)
	return func(ctx context.Context, cmd C) (R, error) {
		return typed[R](p.walk(ctx, p.commands, &run{
			info: info, input: cmd, source: source,
			inside: func(ctx context.Context, tx *postgres.Tx) (any, error) { return h(ctx, tx, cmd) },
		}))
	}
}

// HandleOutside makes the door of a command whose handler calls the network. No transaction is open around
// it. It opens short ones on its source, before and after its calls; in a deferred run each of them first
// checks that the run still holds its lease. Delivery is at least once, so what it calls must bear being
// called again for the same RunID.
func HandleOutside[C Command](p *Pipeline, source *postgres.Source, h func(ctx context.Context, cmd C) error) Func[C] {
	return withoutResult(HandleOutsideResult(p, source, func(ctx context.Context, cmd C) (struct{}, error) {
		return struct{}{}, h(ctx, cmd)
	}))
}

// HandleOutsideResult is HandleOutside for a handler with a result.
func HandleOutsideResult[C Command, R any](p *Pipeline, source *postgres.Source, h func(ctx context.Context, cmd C) (R, error)) ResultFunc[C, R] {
	info := infoOf[C](Outside, source)
	p.register(info)
	return func(ctx context.Context, cmd C) (R, error) {
		return typed[R](p.walk(ctx, p.commands, &run{
			info: info, input: cmd, source: source,
			outside: func(ctx context.Context) (any, error) { return h(ctx, cmd) },
		}))
	}
}

// Cached is a query whose result may be kept. The key must name everything that the result depends on, the
// principal included where it matters.
type Cached interface {
	CacheKey() (key string, keep time.Duration)
}

// HandleQuery makes the door of a query. It reads through its source and changes nothing.
func HandleQuery[Q Command, R any](p *Pipeline, source *postgres.Source, h func(ctx context.Context, q Q) (R, error)) ResultFunc[Q, R] {
	info := infoOf[Q](Query, source)
	p.register(info)
	return func(ctx context.Context, q Q) (R, error) {
		return typed[R](p.walk(ctx, p.queries, &run{
			info: info, input: q, source: source, cached: cacheKeyOf(q),
			outside: func(ctx context.Context) (any, error) {
				result, err := h(ctx, q)
				return result, postgres.Fault(err)
			},
		}))
	}
}

// HandleEvent makes the door through which package outbox delivers an event to one handler, named by policy.
// The delivery's inbox row comes in as the Guard.
func HandleEvent[E any](p *Pipeline, source *postgres.Source, policy Policy, h func(ctx context.Context, tx *postgres.Tx, event E) error) func(ctx context.Context, event E) error {
	info := newInfo(policy, Event, source)
	p.register(info)
	return func(ctx context.Context, event E) error {
		_, err := p.walk(ctx, p.events, &run{
			info: info, input: event, source: source,
			inside: func(ctx context.Context, tx *postgres.Tx) (any, error) { return nil, h(ctx, tx, event) },
		})
		return err
	}
}

func infoOf[C Command](kind Kind, source *postgres.Source) Info {
	if reflect.TypeFor[C]().Kind() == reflect.Pointer {
		panic("command: commands are values, not pointers: " + reflect.TypeFor[C]().String())
	}
	var zero C
	return newInfo(zero.Policy(), kind, source)
}

func newInfo(policy Policy, kind Kind, source *postgres.Source) Info {
	info := Info{Policy: policy, Kind: kind, Source: source}
	info.completed = outcomeOf(info, "completed")
	return info
}

func withoutResult[C Command](door ResultFunc[C, struct{}]) Func[C] {
	return func(ctx context.Context, cmd C) error {
		_, err := door(ctx, cmd)
		return err
	}
}

func typed[R any](result any, err error) (R, error) {
	value, _ := result.(R) // nil when the run failed
	return value, err
}

type cached struct {
	key  string
	keep time.Duration
}

func cacheKeyOf(query any) cached {
	if c, ok := query.(Cached); ok {
		key, keep := c.CacheKey()
		return cached{key: key, keep: keep}
	}
	return cached{}
}

// caching serves a query's result from the cache while it is fresh. Failures are never kept.
func (p *Pipeline) caching(ctx context.Context, r *run, next next) (any, error) {
	if r.cached.key == "" || p.deps.Cache == nil {
		return next(ctx)
	}
	return cache.Get(ctx, p.deps.Cache, r.cached.key, r.cached.keep, func(ctx context.Context) (any, error) { return next(ctx) })
}
