package telemetry_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"example.com/plenary/platform/telemetry"
)

const (
	callersTrace = "0af7651916cd43dd8448eb211c80319c"
	callersSpan  = "b7ad6b7169203331"
)

func TestSpanIsNamedByRouteAndContinuesTheCallersTrace(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewSpanRecorder()
	tel := start(t, spans)
	mux := http.NewServeMux()
	mux.HandleFunc("POST example.com/orders/{id}/payments", func(w http.ResponseWriter, r *http.Request) {
		if got := trace.SpanContextFromContext(r.Context()).TraceID().String(); got != callersTrace {
			t.Errorf("the handler runs in trace %s", got)
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	r := httptest.NewRequest(http.MethodPost, "http://example.com/orders/42/payments?token=x", nil)
	r.Header.Set("traceparent", "00-"+callersTrace+"-"+callersSpan+"-01")
	tel.Middleware(nil)(mux).ServeHTTP(httptest.NewRecorder(), r)

	ended := spans.Ended()
	if len(ended) != 1 {
		t.Fatalf("%d spans", len(ended))
	}
	span := ended[0]
	if span.Name() != "POST /orders/{id}/payments" || span.SpanKind() != trace.SpanKindServer {
		t.Errorf("span %q, %v", span.Name(), span.SpanKind())
	}
	if span.Parent().SpanID().String() != callersSpan || !span.Parent().IsRemote() {
		t.Errorf("parent %v", span.Parent())
	}
	if span.Status().Code != codes.Error {
		t.Errorf("status %v for a 503", span.Status())
	}
	for _, attr := range span.Attributes() {
		if strings.Contains(attr.Value.String(), "42") || strings.Contains(attr.Value.String(), "token") {
			t.Errorf("the span says %s=%v", attr.Key, attr.Value.String())
		}
	}
}

func TestRouterTellsItsRouteAfterTheHandler(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewSpanRecorder()
	tel := start(t, spans)
	var route string // a router that fills in what it matched, as chi does
	router := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { route = "/rooms/{code}" })
	tel.Middleware(func(*http.Request) string { return route })(router).
		ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("BREW", "/rooms/abc", nil))
	if got := spans.Ended()[0].Name(); got != "_OTHER /rooms/{code}" {
		t.Errorf("span %q", got)
	}
}

func TestRecordedStatus(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		handler http.HandlerFunc
		want    string // "": not recorded
	}{
		"silent":         {func(http.ResponseWriter, *http.Request) {}, "200"},
		"body first":     {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "x"); w.WriteHeader(500) }, "200"},
		"early hints":    {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(103); w.WriteHeader(404) }, "404"},
		"first counts":   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(409); w.WriteHeader(200) }, "409"},
		"panic":          {func(http.ResponseWriter, *http.Request) { panic(errors.New("boom")) }, "500"},
		"panic, late":    {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200); panic(errors.New("boom")) }, "500"},
		"other protocol": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusSwitchingProtocols) }, ""},
	}
	for name, c := range cases {
		tel := start(t)
		handler := tel.Middleware(func(*http.Request) string { return "/x" })(c.handler)
		func() {
			defer func() {
				if panicked, wanted := recover() != nil, strings.HasPrefix(name, "panic"); panicked != wanted {
					t.Errorf("%s: panicked = %v", name, panicked)
				}
			}()
			handler.ServeHTTP(&tolerant{httptest.NewRecorder()}, httptest.NewRequest(http.MethodGet, "/x", nil))
		}()
		text := scrape(t, tel)
		if c.want == "" && linesOf(text, "http_server_request_duration_seconds_count") > 0 {
			t.Errorf("%s: recorded", name)
		}
		if c.want != "" && !strings.Contains(text, `http_response_status_code="`+c.want+`"`) {
			t.Errorf("%s: not recorded as %s", name, c.want)
		}
	}
}

// tolerant takes WriteHeader twice, as a real connection does.
type tolerant struct{ *httptest.ResponseRecorder }

func TestStreamsCanStillBeFlushed(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	telemetry.Discard().Middleware(nil)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
	})).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if !w.Flushed {
		t.Error("not flushed")
	}
}
