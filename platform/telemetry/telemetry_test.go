package telemetry_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/telemetry"
)

func Example() {
	ctx := context.Background()
	tel, err := telemetry.Start(ctx, telemetry.Config{Service: "shop", Version: "v1.2.0", Replica: "web-1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = tel.Shutdown(ctx) }()

	mux := http.NewServeMux()
	mux.HandleFunc("GET /orders/{id}", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	shop := tel.Middleware(nil)(mux)
	shop.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/orders/42", nil))

	scrape := httptest.NewRecorder()
	tel.Handler().ServeHTTP(scrape, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for line := range strings.Lines(scrape.Body.String()) {
		if strings.HasPrefix(line, "http_server_request_duration_seconds_count") {
			fmt.Print(line)
		}
	}
	// Output: http_server_request_duration_seconds_count{http_request_method="GET",http_response_status_code="404",http_route="/orders/{id}"} 1
}

func ExampleNewLogger() {
	logger := telemetry.NewLogger(withoutTime{os.Stdout}, slog.LevelInfo, "text")
	ctx := identity.WithCorrelationID(context.Background(), "order-42")
	logger.InfoContext(ctx, "payment declined", "attempt", 2)
	// Output: level=INFO msg="payment declined" correlation_id=order-42 attempt=2
}

// withoutTime drops the first word of each line, "time=…", so that an example can state its output.
type withoutTime struct{ io.Writer }

func (w withoutTime) Write(line []byte) (int, error) {
	_, rest, _ := strings.Cut(string(line), " ")
	_, err := io.WriteString(w.Writer, rest)
	return len(line), err
}

func start(t *testing.T, processors ...sdktrace.SpanProcessor) *telemetry.Telemetry {
	t.Helper()
	cfg := telemetry.Config{Service: "test", Version: "v1", Replica: "one"}
	if len(processors) > 0 {
		cfg.SpanProcessor = processors[0]
	}
	tel, err := telemetry.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tel.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return tel
}

func scrape(t *testing.T, tel *telemetry.Telemetry) string {
	t.Helper()
	w := httptest.NewRecorder()
	tel.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("/metrics = %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func linesOf(text, prefix string) (n int) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, prefix) {
			n++
		}
	}
	return n
}

func TestWhatClientsSendDoesNotGrowMetrics(t *testing.T) {
	t.Parallel()
	tel := start(t)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /orders/{id}", func(http.ResponseWriter, *http.Request) {})
	handler := tel.Middleware(nil)(mux)
	// What an instrumentation library would add: labels that clients choose.
	size, err := tel.Meter("library").Int64Counter("http.server.request.body.size")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5000 {
		method, path := http.MethodGet, fmt.Sprintf("/orders/%d", i)
		switch i % 3 {
		case 1:
			method = fmt.Sprintf("VERB%d", i)
		case 2:
			path = fmt.Sprintf("/nowhere/%d", i)
		}
		r := httptest.NewRequest(method, path, nil)
		r.Host = fmt.Sprintf("host-%d.example", i)
		handler.ServeHTTP(httptest.NewRecorder(), r)
		size.Add(t.Context(), 1, metric.WithAttributes(attribute.String("server.address", r.Host)))
	}

	text := scrape(t, tel)
	if n := linesOf(text, "http_server_request_duration_seconds_count"); n != 3 {
		t.Errorf("%d series for requests, want 3: matched, not found, method not allowed", n)
	}
	if n := linesOf(text, "http_server_request_body_size"); n != 1 {
		t.Errorf("%d series by host, want 1", n)
	}
	if n := strings.Count(text, "\n"); n > 400 {
		t.Errorf("/metrics has %d lines", n)
	}
	for _, want := range []string{
		`http_request_method="GET",http_response_status_code="200",http_route="/orders/{id}"} 1667`,
		`http_request_method="_OTHER",http_response_status_code="405",http_route="unmatched"} 1667`,
		`http_request_method="GET",http_response_status_code="404",http_route="unmatched"} 1666`,
		`target_info{service_instance_id="one",service_name="test",service_version="v1"} 1`,
		"go_goroutines ", "process_start_time_seconds ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	if strings.Contains(text, "otel_scope") {
		t.Error("every series repeats its instrumentation scope")
	}
}

func TestCarelessLabelIsCutOff(t *testing.T) {
	t.Parallel()
	tel := start(t)
	counter, err := tel.Meter("careless").Int64Counter("careless")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 * telemetry.CardinalityLimit {
		counter.Add(t.Context(), 1, metric.WithAttributes(attribute.Int("user", i)))
	}
	text := scrape(t, tel)
	if n := linesOf(text, "careless_total{"); n != telemetry.CardinalityLimit {
		t.Errorf("%d series, want %d", n, telemetry.CardinalityLimit)
	}
	if !strings.Contains(text, `careless_total{otel_metric_overflow="true"}`) {
		t.Error("what did not fit is not counted")
	}
}

func TestHistogramsDefaultToSeconds(t *testing.T) {
	t.Parallel()
	tel := start(t)
	plain, err := tel.Meter("test").Float64Histogram("plain", metric.WithUnit("s"))
	if err != nil {
		t.Fatal(err)
	}
	own, err := tel.Meter("test").Int64Histogram("own", metric.WithExplicitBucketBoundaries(7))
	if err != nil {
		t.Fatal(err)
	}
	plain.Record(t.Context(), 0.03)
	own.Record(t.Context(), 3)
	text := scrape(t, tel)
	for _, want := range []string{`plain_seconds_bucket{le="0.05"} 1`, `plain_seconds_bucket{le="0.025"} 0`, `own_bucket{le="7"} 1`} {
		if !strings.Contains(text, want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
}

func TestTwoLiveSideBySide(t *testing.T) {
	t.Parallel()
	one, two := start(t), start(t)
	one.RecordRequest("/only/one", http.MethodGet, http.StatusOK, 0)
	if !strings.Contains(scrape(t, one), "/only/one") || strings.Contains(scrape(t, two), "/only/one") {
		t.Error("they share state")
	}
}

func TestDiscardNilAndZeroAreSafe(t *testing.T) {
	t.Parallel()
	for name, tel := range map[string]*telemetry.Telemetry{"discard": telemetry.Discard(), "nil": nil, "zero": {}} {
		counter, err := tel.Meter("x").Int64Counter("x")
		if err != nil {
			t.Fatal(err)
		}
		counter.Add(t.Context(), 1)
		_, span := tel.Tracer("x").Start(t.Context(), "x")
		span.End()
		tel.RecordRequest("/x", http.MethodGet, http.StatusOK, 0)
		w := httptest.NewRecorder()
		tel.Middleware(nil)(http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		if w.Code != http.StatusNotFound || scrape(t, tel) != "" {
			t.Errorf("%s: status %d, or metrics", name, w.Code)
		}
		if err := tel.Shutdown(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestServiceNeedsAName(t *testing.T) {
	t.Parallel()
	if _, err := telemetry.Start(t.Context(), telemetry.Config{}); err == nil {
		t.Error("started without a name")
	}
}

func TestShutdownFlushesSpansOnce(t *testing.T) {
	t.Parallel()
	exporter := &flushed{}
	tel, err := telemetry.Start(t.Context(), telemetry.Config{
		Service: "test", SpanProcessor: sdktrace.NewBatchSpanProcessor(exporter),
	})
	if err != nil {
		t.Fatal(err)
	}
	_, span := tel.Tracer("test").Start(t.Context(), "last words")
	span.End()
	for range 2 {
		if err := tel.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(exporter.names) != 1 || exporter.names[0] != "last words" {
		t.Errorf("exported %v", exporter.names)
	}
}

// flushed keeps names past Shutdown, which tracetest.InMemoryExporter does not.
type flushed struct {
	tracetest.NoopExporter
	mu    sync.Mutex
	names []string
}

func (f *flushed) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, span := range spans {
		f.names = append(f.names, span.Name())
	}
	return nil
}
