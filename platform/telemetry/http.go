package telemetry

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// The only labels that a metric named http.server.* may have.
const (
	methodKey = attribute.Key("http.request.method")
	statusKey = attribute.Key("http.response.status_code")
	routeKey  = attribute.Key("http.route")
)

const (
	otherMethod    = "_OTHER"
	unmatchedRoute = "unmatched"
)

var traceContext propagation.TraceContext

// RecordRequest counts an answered request and how long it took. route is the pattern that matched
// ("/orders/{id}"), never the path; "" is counted as "unmatched". A method that HTTP does not define is counted
// as "_OTHER": clients may send any.
func (t *Telemetry) RecordRequest(route, method string, status int, d time.Duration) {
	if t == nil || t.requests == nil {
		return
	}
	t.requests.Record(context.Background(), d.Seconds(), metric.WithAttributes(
		methodKey.String(known(method)),
		statusKey.Int(status),
		routeKey.String(cmp.Or(route, unmatchedRoute)),
	))
}

// Middleware records every request that passes and runs it in a server span named by method and route, a child
// of the caller's where the request bears a W3C traceparent.
//
// route tells the pattern that matched; it is asked once the handler has returned, with the request that the
// handler was given, since a router knows only then. With chi it is
//
//	func(r *http.Request) string { return chi.RouteContext(r.Context()).RoutePattern() }
//
// and the middleware goes inside the router (router.Use), where there is a route to ask for. nil takes
// r.Pattern, which http.ServeMux sets. Probes need neither span nor record: mount them outside.
//
// A connection that was switched to another protocol (101) is traced but not recorded: its length is no
// answer's duration. A panic passes through and counts as 500.
func (t *Telemetry) Middleware(route func(*http.Request) string) func(http.Handler) http.Handler {
	if route == nil {
		route = patternOf
	}
	tracer := t.Tracer("http")
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			began, method := time.Now(), known(r.Method)
			ctx := traceContext.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
			ctx, span := tracer.Start(ctx, method, trace.WithSpanKind(trace.SpanKindServer))
			r = r.WithContext(ctx)
			answer := &statusWriter{ResponseWriter: w}
			returned := false
			defer func() {
				status := cmp.Or(answer.status, http.StatusOK)
				if !returned {
					status = http.StatusInternalServerError
				}
				pattern := route(r)
				if status != http.StatusSwitchingProtocols {
					t.RecordRequest(pattern, method, status, time.Since(began))
				}
				describe(span, method, pattern, status)
				span.End()
			}()
			next.ServeHTTP(answer, r)
			returned = true
		})
	}
}

func describe(span trace.Span, method, route string, status int) {
	span.SetAttributes(methodKey.String(method), statusKey.Int(status))
	if route != "" {
		span.SetName(method + " " + route)
		span.SetAttributes(routeKey.String(route))
	}
	if status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, "")
	}
}

func known(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return method
	default:
		return otherMethod
	}
}

// patternOf returns the pattern that http.ServeMux has matched, without the method and host that it may name.
func patternOf(r *http.Request) string {
	if slash := strings.Index(r.Pattern, "/"); slash > 0 {
		return r.Pattern[slash:]
	}
	return r.Pattern
}

// statusWriter remembers the status that was sent. Unwrap lets http.ResponseController flush and hijack.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *statusWriter) WriteHeader(status int) {
	final := status >= http.StatusOK || status == http.StatusSwitchingProtocols // others only announce one
	if w.status == 0 && final {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(p []byte) (int, error) {
	w.status = cmp.Or(w.status, http.StatusOK)
	return w.ResponseWriter.Write(p)
}
