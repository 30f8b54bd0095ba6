package lease

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
)

// Stats is how a table of work stands.
type Stats struct {
	Depth        int64   // rows that are neither processed nor dead-lettered, those for later included
	OldestDueAge float64 // seconds that the oldest due and unclaimed row has waited
	InFlight     int64
	DeadLetters  int64
	Unclaimable  int64 // due rows whose name no live replica knows
}

// instruments are the metrics of one runner; labels are the database, the mechanism and names that the
// program registered.
type instruments struct {
	database string
	outcomes metric.Int64Counter
	lag      metric.Float64Histogram
	duration metric.Float64Histogram

	mu    sync.Mutex
	stats map[string]Stats
}

func newInstruments(meter metric.Meter, database string) (*instruments, error) {
	if meter == nil {
		meter = noop.Meter{}
	}
	i := &instruments{database: database, stats: map[string]Stats{}}
	var errs [3]error
	i.outcomes, errs[0] = meter.Int64Counter("later.outcomes", metric.WithDescription("ended claims of durable work, by outcome"))
	i.lag, errs[1] = meter.Float64Histogram("later.lag", metric.WithUnit("s"),
		metric.WithDescription("from the instant when a row was due to its start"))
	i.duration, errs[2] = meter.Float64Histogram("later.duration", metric.WithUnit("s"), metric.WithDescription("from start to end of a run"))
	return i, errors.Join(errors.Join(errs[:]...), i.observeTables(meter))
}

func (i *instruments) observeTables(meter metric.Meter) error {
	gauges := []struct {
		name, text string
		value      func(Stats) float64
	}{
		{"later.depth", "rows not yet done, those for later included", func(s Stats) float64 { return float64(s.Depth) }},
		{"later.oldest_due_age", "seconds that the oldest due row has waited", func(s Stats) float64 { return s.OldestDueAge }},
		{"later.in_flight", "rows under a claim", func(s Stats) float64 { return float64(s.InFlight) }},
		{"later.dead_letters", "rows that nobody works on any more", func(s Stats) float64 { return float64(s.DeadLetters) }},
		{"later.unclaimable", "due rows whose name no live replica knows", func(s Stats) float64 { return float64(s.Unclaimable) }},
	}
	for _, g := range gauges {
		_, err := meter.Float64ObservableGauge(g.name, metric.WithDescription(g.text),
			metric.WithFloat64Callback(func(_ context.Context, o metric.Float64Observer) error {
				i.mu.Lock()
				defer i.mu.Unlock()
				for mechanism, s := range i.stats {
					o.Observe(g.value(s), metric.WithAttributes(
						attribute.String("database", i.database), attribute.String("mechanism", mechanism)))
				}
				return nil
			}))
		if err != nil {
			return err
		}
	}
	return nil
}

func (i *instruments) measured(mechanism string, s Stats) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.stats[mechanism] = s
}

func (i *instruments) labels(mechanism, name string) []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.String("database", i.database), attribute.String("mechanism", mechanism), attribute.String("name", name),
	}
}

func (i *instruments) started(it *item) {
	lag := max(0, it.work.ClaimedOn.Sub(it.work.DueOn).Seconds())
	i.lag.Record(context.Background(), lag, metric.WithAttributes(i.labels(it.mechanism.Name, it.work.Name)...))
}

func (i *instruments) crashed(mechanism, name string) {
	// The name is what a row says; only names that programs registered are ever claimed.
	i.outcomes.Add(context.Background(), 1, metric.WithAttributes(append(i.labels(mechanism, name), attribute.String("outcome", "crashed"))...))
}

func (r *Runner) observe(it *item, outcome string) {
	labels := r.metrics.labels(it.mechanism.Name, it.work.Name)
	ctx := context.Background()
	r.metrics.duration.Record(ctx, time.Since(it.begun).Seconds(), metric.WithAttributes(labels...))
	r.metrics.outcomes.Add(ctx, 1, metric.WithAttributes(append(labels, attribute.String("outcome", outcome))...))
}

// Stats returns how a mechanism's table stood at the last heartbeat.
func (r *Runner) Stats(mechanism string) Stats {
	r.metrics.mu.Lock()
	defer r.metrics.mu.Unlock()
	return r.metrics.stats[mechanism]
}
