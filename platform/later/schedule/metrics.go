package schedule

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

type instruments struct {
	runs     metric.Int64Counter
	duration metric.Float64Histogram
	lag      metric.Float64Histogram
}

func newInstruments(meter metric.Meter) instruments {
	runs, err1 := meter.Int64Counter("scheduler.job.runs", metric.WithDescription("occurrences of jobs that ended or were skipped, by outcome"))
	duration, err2 := meter.Float64Histogram("scheduler.job.duration", metric.WithUnit("s"),
		metric.WithDescription("from a run's first attempt to its end"))
	lag, err3 := meter.Float64Histogram("scheduler.job.lag", metric.WithUnit("s"),
		metric.WithDescription("from the planned instant to the first attempt"))
	if err := errors.Join(err1, err2, err3); err != nil {
		panic(err) // the names above are valid
	}
	return instruments{runs: runs, duration: duration, lag: lag}
}

func (i instruments) decided(ctx context.Context, job string, made decision) {
	if made.skipped > 0 {
		i.runs.Add(ctx, int64(made.skipped), metric.WithAttributes(attribute.String("job", job), attribute.String("outcome", "skipped")))
	}
}

func (i instruments) settled(ctx context.Context, s settled) {
	i.runs.Add(ctx, 1, metric.WithAttributes(attribute.String("job", s.job), attribute.String("outcome", s.outcome)))
	i.duration.Record(ctx, s.took.Seconds(), metric.WithAttributes(attribute.String("job", s.job)))
	if !s.manual {
		i.lag.Record(ctx, s.lag.Seconds(), metric.WithAttributes(attribute.String("job", s.job)))
	}
}
