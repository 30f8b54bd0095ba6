package telemetry

import (
	"context"
	"io"
	"log/slog"

	"go.opentelemetry.io/otel/trace"

	"example.com/plenary/platform/identity"
)

// NewLogger returns a logger that writes to w, one record a line, from level on. format "json" is for
// programs; any other is text. A record that is logged with a context (InfoContext and the like) bears what the
// context knows of correlation_id, trace_id, span_id and user_id.
func NewLogger(w io.Writer, level slog.Leveler, format string) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	var out slog.Handler = slog.NewTextHandler(w, options)
	if format == "json" {
		out = slog.NewJSONHandler(w, options)
	}
	return slog.New(&contextHandler{Handler: out, root: out})
}

// contextHandler adds what the context knows. Those attributes stay outside every group, where a search looks
// for them. A handler with an open group puts all into it; so the ids are put into root, which was left without
// one, and the steps since are repeated on top.
type contextHandler struct {
	slog.Handler                                   // with all steps
	root         slog.Handler                      // as it was before the first group
	steps        []func(slog.Handler) slog.Handler // since then, the first group included
}

func (h *contextHandler) Handle(ctx context.Context, record slog.Record) error {
	known := contextAttrs(ctx)
	if len(known) == 0 {
		return h.Handler.Handle(ctx, record)
	}
	out := h.root.WithAttrs(known)
	for _, step := range h.steps {
		out = step(out)
	}
	return out.Handle(ctx, record)
}

func (h *contextHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.with(len(h.steps) > 0, func(out slog.Handler) slog.Handler { return out.WithAttrs(attrs) })
}

func (h *contextHandler) WithGroup(name string) slog.Handler {
	return h.with(true, func(out slog.Handler) slog.Handler { return out.WithGroup(name) })
}

func (h *contextHandler) with(inGroup bool, step func(slog.Handler) slog.Handler) slog.Handler {
	out := step(h.Handler)
	if !inGroup {
		return &contextHandler{Handler: out, root: out}
	}
	steps := append(h.steps[:len(h.steps):len(h.steps)], step)
	return &contextHandler{Handler: out, root: h.root, steps: steps}
}

func contextAttrs(ctx context.Context) []slog.Attr {
	var known []slog.Attr
	if id := identity.CorrelationID(ctx); id != "" {
		known = append(known, slog.String("correlation_id", id))
	}
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		known = append(known,
			slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String()))
	}
	if p := identity.PrincipalOf(ctx); !p.Anonymous() {
		known = append(known, slog.String("user_id", p.ID))
	}
	return known
}
