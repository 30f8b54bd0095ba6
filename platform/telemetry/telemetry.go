package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/otlptranslator"
	"go.opentelemetry.io/otel/attribute"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	noopmetric "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	nooptrace "go.opentelemetry.io/otel/trace/noop"
)

// CardinalityLimit is the largest number of series that one instrument may have. The last of them, labelled
// otel_metric_overflow="true", takes all for which there is no room.
const CardinalityLimit = 1000

// A histogram that names no buckets of its own gets these: seconds, from a query to the slowest deferred work.
var secondsBuckets = []float64{
	0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
}

// Config says who is measured and where spans go.
type Config struct {
	Service string // what the program is called; required
	Version string
	Replica string // tells the processes of one service apart

	// SpanProcessor receives the spans, for instance sdktrace.NewBatchSpanProcessor(exporter); Shutdown
	// flushes it. nil: spans have ids, are propagated and logged, and go nowhere.
	SpanProcessor sdktrace.SpanProcessor
	// Sampler decides which spans the processor gets. nil: all of them, except those of callers who said no.
	Sampler sdktrace.Sampler
}

// Telemetry hands out meters and tracers. All methods may be called by any number of goroutines, and on nil or
// the zero value, which measure nothing.
type Telemetry struct {
	registry *prometheus.Registry
	meters   *sdkmetric.MeterProvider
	tracers  *sdktrace.TracerProvider
	requests metric.Float64Histogram
}

// Discard returns a Telemetry that measures nothing and serves an empty /metrics.
func Discard() *Telemetry { return new(Telemetry) }

// Start begins to measure, the Go runtime and the process included. The caller ends it with Shutdown, after
// everything that measures has stopped.
func Start(ctx context.Context, cfg Config) (*Telemetry, error) {
	if cfg.Service == "" {
		return nil, errors.New("start telemetry: the service has no name")
	}
	// Built from attributes alone it has no schema URL, so it merges with any other, whatever its version.
	who, err := resource.New(ctx, resource.WithAttributes(
		attribute.String("service.name", cfg.Service),
		attribute.String("service.version", cfg.Version),
		attribute.String("service.instance.id", cfg.Replica),
	))
	if err != nil {
		return nil, fmt.Errorf("start telemetry: %w", err)
	}
	t := &Telemetry{registry: prometheus.NewRegistry(), tracers: newTracers(cfg, who)}
	t.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if t.meters, err = newMeters(t.registry, who); err != nil {
		return nil, fmt.Errorf("start telemetry: %w", err)
	}
	t.requests, err = t.Meter("http").Float64Histogram("http.server.request.duration", metric.WithUnit("s"),
		metric.WithDescription("How long requests took, by route."))
	if err != nil {
		return nil, fmt.Errorf("start telemetry: %w", err)
	}
	return t, nil
}

func newMeters(registry *prometheus.Registry, who *resource.Resource) (*sdkmetric.MeterProvider, error) {
	reader, err := otelprometheus.New(
		otelprometheus.WithRegisterer(registry),
		otelprometheus.WithoutScopeInfo(),
		// Names stay the same whatever a scraper negotiates: http_server_request_duration_seconds.
		otelprometheus.WithTranslationStrategy(otlptranslator.UnderscoreEscapingWithSuffixes),
		otelprometheus.WithAggregationSelector(func(kind sdkmetric.InstrumentKind) sdkmetric.Aggregation {
			if kind == sdkmetric.InstrumentKindHistogram {
				return sdkmetric.AggregationExplicitBucketHistogram{Boundaries: secondsBuckets}
			}
			return sdkmetric.DefaultAggregationSelector(kind)
		}),
	)
	if err != nil {
		return nil, err
	}
	// Instrumentation libraries label by the Host header, among others: what a client may choose at will.
	serverLabels := sdkmetric.NewView(sdkmetric.Instrument{Name: "http.server.*"}, sdkmetric.Stream{
		AttributeFilter: attribute.NewAllowKeysFilter(methodKey, statusKey, routeKey),
	})
	return sdkmetric.NewMeterProvider(
		sdkmetric.WithReader(reader),
		sdkmetric.WithResource(who),
		sdkmetric.WithView(serverLabels),
		sdkmetric.WithCardinalityLimit(CardinalityLimit),
		sdkmetric.WithExemplarFilter(exemplar.AlwaysOffFilter), // the text format cannot carry them
	), nil
}

func newTracers(cfg Config, who *resource.Resource) *sdktrace.TracerProvider {
	sampler := cfg.Sampler
	if sampler == nil {
		sampler = sdktrace.ParentBased(sdktrace.AlwaysSample())
	}
	options := []sdktrace.TracerProviderOption{sdktrace.WithResource(who), sdktrace.WithSampler(sampler)}
	if cfg.SpanProcessor != nil {
		options = append(options, sdktrace.WithSpanProcessor(cfg.SpanProcessor))
	}
	return sdktrace.NewTracerProvider(options...)
}

// Meter returns where a package creates its instruments; name is the package's. Two packages must not create
// instruments of one name: they would be one metric.
func (t *Telemetry) Meter(name string) metric.Meter {
	if t == nil || t.meters == nil {
		return noopmetric.NewMeterProvider().Meter(name)
	}
	return t.meters.Meter(name)
}

// Tracer returns where a package starts its spans; name is the package's.
func (t *Telemetry) Tracer(name string) trace.Tracer {
	if t == nil || t.tracers == nil {
		return nooptrace.NewTracerProvider().Tracer(name)
	}
	return t.tracers.Tracer(name)
}

// Handler serves all metrics as Prometheus text. A metric that cannot be collected is left out and counted in
// promhttp_metric_handler_errors_total; the others are served.
func (t *Telemetry) Handler() http.Handler {
	if t == nil || t.registry == nil {
		return promhttp.HandlerFor(prometheus.NewRegistry(), promhttp.HandlerOpts{})
	}
	return promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{
		Registry:       t.registry,
		ErrorHandling:  promhttp.ContinueOnError, // the alternative puts the error's text into the answer
		CoalesceGather: true,
	})
}

// Shutdown hands what is still held to the span processor, within ctx, and stops measuring. A second call does
// nothing.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	if t == nil || t.meters == nil {
		return nil
	}
	err := t.tracers.Shutdown(ctx)
	if e := t.meters.Shutdown(ctx); !errors.Is(e, sdkmetric.ErrReaderShutdown) {
		err = errors.Join(err, e)
	}
	if err != nil {
		return fmt.Errorf("shut down telemetry: %w", err)
	}
	return nil
}
