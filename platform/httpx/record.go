package httpx

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"example.com/plenary/platform/identity"
)

// entry collects what the one log line of a request says. The goroutine that serves the request owns it.
type entry struct {
	writer     middleware.WrapResponseWriter
	principal  identity.Principal
	err        error
	stack      string
	clientGone bool
}

// begun reports whether a status has gone out.
func (e *entry) begun() bool { return e.writer != nil && e.writer.Status() != 0 }

type entryKey struct{}

// entryOf returns the request's entry; outside the access log layer, one that nobody reads.
func entryOf(ctx context.Context) *entry {
	if e, ok := ctx.Value(entryKey{}).(*entry); ok {
		return e
	}
	return &entry{}
}

// record writes one line a request, and one only: a failure is an attribute of it.
func (a *API) record(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		e := &entry{writer: middleware.NewWrapResponseWriter(w, r.ProtoMajor)}
		r = r.WithContext(context.WithValue(r.Context(), entryKey{}, e))
		defer func() { a.report(r, e, time.Since(begin)) }() // also when the connection is broken off
		next.ServeHTTP(e.writer, r)
	})
}

// report writes the line: an error level for what is our fault, debug for who did not wait, info for the rest.
func (a *API) report(r *http.Request, e *entry, took time.Duration) {
	status := cmp.Or(e.writer.Status(), http.StatusOK)
	method, route := boundedMethod(r.Method), routeOf(r)
	if a.config.Observe != nil {
		a.config.Observe(method, route, status, took)
	}

	level := slog.LevelInfo
	attrs := []slog.Attr{
		slog.String("method", method), slog.String("route", route), slog.Int("status", status),
		slog.Float64("duration_ms", float64(took.Microseconds())/1000), slog.Int("bytes", e.writer.BytesWritten()),
	}
	switch {
	case e.err == nil:
	case e.clientGone:
		level = slog.LevelDebug
	case status >= http.StatusInternalServerError || e.stack != "":
		level = slog.LevelError
		attrs = append(attrs, slog.Any("error", e.err))
	default: // refused: the text may quote what was sent, the code never does
		problem, _ := problemOf(r.Context(), e.err)
		attrs = append(attrs, slog.String("code", problem.Code))
	}
	if e.stack != "" {
		attrs = append(attrs, slog.String("stack", e.stack))
	}
	// Correlation id, trace and user are in the context, from where the logger takes them for every line.
	a.config.Log.LogAttrs(identity.WithPrincipal(r.Context(), e.principal), level, "request", attrs...)
}

// recoverPanic makes a panic the 500 that any other unexpected error is. http.ErrAbortHandler is no failure but a
// way to hang up, and passes.
func recoverPanic(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if v == http.ErrAbortHandler {
				panic(v)
			}
			entryOf(r.Context()).stack = string(debug.Stack())
			WriteProblem(w, r, fmt.Errorf("panic: %v", v)) // %v: whatever was thrown, its kind does not count
		}()
		next.ServeHTTP(w, r)
	})
}

// routeOf returns the pattern that was matched: bounded in number, and without anything that was sent.
func routeOf(r *http.Request) string {
	if rc := chi.RouteContext(r.Context()); rc != nil {
		if pattern := rc.RoutePattern(); pattern != "" {
			return pattern
		}
	}
	return "unmatched"
}

// boundedMethod keeps invented methods out of labels.
func boundedMethod(method string) string {
	if slices.Contains(methods, method) {
		return method
	}
	return "OTHER"
}
