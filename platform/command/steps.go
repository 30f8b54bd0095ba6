package command

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/postgres"
)

type instruments struct {
	duration metric.Float64Histogram
	denied   metric.Int64Counter
	timeouts metric.Int64Counter
}

func newInstruments(meter metric.Meter) instruments {
	duration, err1 := meter.Float64Histogram("command.duration", metric.WithUnit("s"),
		metric.WithDescription("runs of commands, queries and event handlers"))
	denied, err2 := meter.Int64Counter("command.denied", metric.WithDescription("runs refused for want of a permission"))
	timeouts, err3 := meter.Int64Counter("command.timeouts", metric.WithDescription("runs that used up their time"))
	if err := errors.Join(err1, err2, err3); err != nil {
		panic(err) // the names above are valid
	}
	return instruments{duration: duration, denied: denied, timeouts: timeouts}
}

func named(r *run) metric.MeasurementOption {
	return metric.WithAttributes(attribute.String("name", r.info.Policy.Name))
}

// featureGate comes first, so that a feature that is off does not even show which permission it needs.
func (p *Pipeline) featureGate(ctx context.Context, r *run, next next) (any, error) {
	if name := r.info.Policy.Feature; name != "" && p.deps.Features != nil {
		if err := p.deps.Features.Require(ctx, name); err != nil {
			return nil, err
		}
	}
	return next(ctx)
}

func (p *Pipeline) permission(ctx context.Context, r *run, next next) (any, error) {
	if needed := r.info.Policy.Permission; needed != "" {
		if err := p.deps.Permissions.Require(ctx, needed); err != nil {
			p.instrument.denied.Add(ctx, 1, named(r))
			return nil, err
		}
	}
	return next(ctx)
}

// CodePutOff is the code of what a handler returns that cannot do its work yet. That is no failure; package
// later/lease, under deferred commands and deliveries, lets it come back.
const CodePutOff = "put_off"

// logging writes the one line of a failure, and measures every run.
func (p *Pipeline) logging(ctx context.Context, r *run, next next) (any, error) {
	began := time.Now()
	ctx, span := p.deps.Tracer.Start(ctx, r.info.Policy.Name)
	defer span.End()
	if span.IsRecording() {
		span.SetAttributes(attribute.String("plenary.kind", string(r.info.Kind)), attribute.String("plenary.run_id", RunID(ctx)))
	}
	result, err := safely(func() (any, error) { return next(ctx) })

	took := time.Since(began)
	if err == nil {
		p.deps.Logger.DebugContext(ctx, "completed", "name", r.info.Policy.Name, "kind", string(r.info.Kind), "took", took)
		p.instrument.duration.Record(ctx, took.Seconds(), r.info.completed)
		return result, nil
	}
	if fault.Is(err, CodePutOff) {
		p.deps.Logger.InfoContext(ctx, "put off", "name", r.info.Policy.Name, "kind", string(r.info.Kind), "took", took, "reason", err)
		p.instrument.duration.Record(ctx, took.Seconds(), outcomeOf(r.info, CodePutOff))
		return result, err
	}
	outcome, level := fault.KindOf(err).String(), slog.LevelWarn
	if fault.KindOf(err) == fault.Internal {
		level = slog.LevelError
	}
	attrs := []slog.Attr{
		slog.String("name", r.info.Policy.Name), slog.String("kind", string(r.info.Kind)), slog.Duration("took", took),
		slog.String("fault", outcome), slog.Any("error", err),
	}
	if p, ok := errors.AsType[*panicked](err); ok {
		attrs = append(attrs, slog.String("stack", string(p.stack)))
	}
	p.deps.Logger.LogAttrs(ctx, level, "failed", attrs...)
	span.SetStatus(codes.Error, outcome)
	p.instrument.duration.Record(ctx, took.Seconds(), outcomeOf(r.info, outcome))
	return result, err
}

// outcomeOf labels a run's duration.
func outcomeOf(info Info, outcome string) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(attribute.String("name", info.Policy.Name),
		attribute.String("kind", string(info.Kind)), attribute.String("outcome", outcome)))
}

// cacheInvalidation lies outside the transaction, so that it evicts what is stale only once it is stale: after
// the commit. A lost commit answer evicts as well; dropping a good entry does no harm.
func (p *Pipeline) cacheInvalidation(ctx context.Context, r *run, next next) (any, error) {
	result, err := next(ctx)
	if evicter, ok := r.input.(Evicter); ok && (err == nil || fault.Is(err, "commit_unknown")) {
		if keys := evicter.Evicts(); len(keys) > 0 {
			p.deps.Evict(context.WithoutCancel(ctx), keys)
		}
	}
	return result, err
}

func (p *Pipeline) validation(ctx context.Context, r *run, next next) (any, error) {
	if v, ok := r.input.(Validator); ok {
		if err := v.Validate(); err != nil {
			return nil, err
		}
	}
	return next(ctx)
}

var errTimedOut = errors.New("the run used up its time")

// timeout tells its own deadline, which is Unavailable ("timed_out"), from a caller who went away.
func (p *Pipeline) timeout(ctx context.Context, r *run, next next) (any, error) {
	bounded, cancel := context.WithTimeoutCause(ctx, p.limit(r), errTimedOut)
	defer cancel()
	result, err := next(bounded)
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(bounded), errTimedOut) {
		p.instrument.timeouts.Add(ctx, 1, named(r))
		return nil, fault.Wrap(err, fault.Unavailable, "timed_out", "it took too long and was given up")
	}
	return result, err
}

func (p *Pipeline) limit(r *run) time.Duration {
	if r.info.Policy.Timeout > 0 {
		return r.info.Policy.Timeout
	}
	return p.deps.DefaultTimeout
}

// transaction opens the transaction of a transactional handler, with what guards it, and leaves an outside
// handler alone: that one opens its own. Either happens under the request's idempotency key, if it has one.
func (p *Pipeline) transaction(ctx context.Context, r *run, next next) (any, error) {
	key, ctx := takeKey(ctx)
	if r.inside == nil {
		if key == nil {
			result, err := next(ctx)
			return result, postgres.Fault(err)
		}
		result, err := key.around(ctx, r.source, p.limit(r), next)
		return result, postgres.Fault(err)
	}
	guard, ctx := takeGuard(ctx)
	if key == nil {
		return p.insideTx(ctx, r, guard)
	}
	return key.inside(ctx, r.source, func() (any, error) { return p.insideTx(ctx, r, key.transactional(guard)) })
}

func (p *Pipeline) insideTx(ctx context.Context, r *run, guard Guard) (any, error) {
	var result any
	err := r.source.InGuardedTx(ctx, guard.Guard, func(ctx context.Context, tx *postgres.Tx) error {
		var err error
		result, err = safely(func() (any, error) { return r.inside(ctx, tx) })
		if err != nil || guard.Last == nil {
			return err
		}
		last, err := guard.Last(result)
		for _, statement := range last {
			tx.WithCommit(statement)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}
