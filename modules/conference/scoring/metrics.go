package scoring

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
)

type instruments struct {
	calls    metric.Int64Counter
	tokens   metric.Int64Counter
	duration metric.Float64Histogram
}

func newInstruments(meter metric.Meter) instruments {
	if meter == nil {
		meter = noop.Meter{}
	}
	calls, err1 := meter.Int64Counter("scoring.calls", metric.WithDescription("requests to a model, by how they ended"))
	tokens, err2 := meter.Int64Counter("scoring.tokens", metric.WithDescription("tokens used, also by answers that were of no use"))
	duration, err3 := meter.Float64Histogram("scoring.duration", metric.WithUnit("s"), metric.WithDescription("how long a model took"))
	if err := errors.Join(err1, err2, err3); err != nil {
		panic(err) // the names above are valid
	}
	return instruments{calls: calls, tokens: tokens, duration: duration}
}

func (i instruments) record(ctx context.Context, outcome string, in, out int64, took time.Duration) {
	ended := metric.WithAttributes(attribute.String("outcome", outcome))
	i.calls.Add(ctx, 1, ended)
	i.duration.Record(ctx, took.Seconds(), ended)
	i.tokens.Add(ctx, max(in, 0), metric.WithAttributes(attribute.String("direction", "input")))
	i.tokens.Add(ctx, max(out, 0), metric.WithAttributes(attribute.String("direction", "output")))
}
