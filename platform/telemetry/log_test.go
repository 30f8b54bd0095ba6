package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/slogtest"

	"github.com/google/go-cmp/cmp"

	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/telemetry"
)

func logged(t *testing.T, line []byte) map[string]any {
	t.Helper()
	var record map[string]any
	if err := json.Unmarshal(line, &record); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	delete(record, "time")
	return record
}

func TestLogOfARequestBearsItsIDs(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	logger := telemetry.NewLogger(&out, slog.LevelInfo, "json")
	handler := start(t).Middleware(nil)(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		ctx := identity.WithCorrelationID(r.Context(), "c-1")
		ctx = identity.WithPrincipal(ctx, identity.Principal{ID: "alice"})
		logger.InfoContext(ctx, "hello")
	}))
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("traceparent", "00-"+callersTrace+"-"+callersSpan+"-01")
	handler.ServeHTTP(httptest.NewRecorder(), r)

	record := logged(t, out.Bytes())
	if span, _ := record["span_id"].(string); len(span) != 16 || span == callersSpan {
		t.Errorf("span_id = %q, want one of this process", span)
	}
	delete(record, "span_id")
	want := map[string]any{
		"level": "INFO", "msg": "hello", "correlation_id": "c-1", "trace_id": callersTrace, "user_id": "alice",
	}
	if diff := cmp.Diff(want, record); diff != "" {
		t.Error(diff)
	}
}

func TestIDsStayOutsideGroups(t *testing.T) {
	t.Parallel()
	ctx := identity.WithCorrelationID(context.Background(), "c-1")
	var out bytes.Buffer
	logger := telemetry.NewLogger(&out, slog.LevelInfo, "json").
		With("a", 1).WithGroup("").WithGroup("g").With("b", 2).WithGroup("h").WithGroup("")

	logger.InfoContext(ctx, "x", "c", 3)
	want := map[string]any{
		"level": "INFO", "msg": "x", "a": 1.0, "correlation_id": "c-1",
		"g": map[string]any{"b": 2.0, "h": map[string]any{"c": 3.0}},
	}
	if diff := cmp.Diff(want, logged(t, out.Bytes())); diff != "" {
		t.Errorf("with ids: %s", diff)
	}

	out.Reset()
	logger.Info("x", "c", 3)
	delete(want, "correlation_id")
	if diff := cmp.Diff(want, logged(t, out.Bytes())); diff != "" {
		t.Errorf("without: %s", diff)
	}
}

func TestSiblingLoggersDoNotShareSteps(t *testing.T) {
	t.Parallel()
	ctx := identity.WithCorrelationID(context.Background(), "c-1")
	var out bytes.Buffer
	parent := telemetry.NewLogger(&out, slog.LevelInfo, "json").WithGroup("g").With("p", 0).With("q", 0)
	first, second := parent.With("first", 1), parent.With("second", 2)
	first.InfoContext(ctx, "x")
	_ = second
	group := logged(t, out.Bytes())["g"]
	if diff := cmp.Diff(map[string]any{"p": 0.0, "q": 0.0, "first": 1.0}, group); diff != "" {
		t.Error(diff)
	}
}

func TestHandlerKeepsTheContractOfSlog(t *testing.T) {
	t.Parallel()
	for name, ctx := range map[string]context.Context{
		"unknown context": context.Background(),
		"known context":   identity.WithCorrelationID(context.Background(), "c-1"),
	} {
		var out bytes.Buffer
		handler := inContext{telemetry.NewLogger(&out, slog.LevelInfo, "json").Handler(), ctx}
		err := slogtest.TestHandler(handler, func() (records []map[string]any) {
			for line := range bytes.Lines(out.Bytes()) {
				var record map[string]any
				if err := json.Unmarshal(line, &record); err != nil {
					t.Fatal(err)
				}
				records = append(records, record)
			}
			return records
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// inContext logs all records in one context.
type inContext struct {
	slog.Handler
	ctx context.Context
}

func (h inContext) Handle(_ context.Context, r slog.Record) error { return h.Handler.Handle(h.ctx, r) }

func (h inContext) WithAttrs(attrs []slog.Attr) slog.Handler {
	return inContext{h.Handler.WithAttrs(attrs), h.ctx}
}

func (h inContext) WithGroup(name string) slog.Handler {
	return inContext{h.Handler.WithGroup(name), h.ctx}
}

func TestLevelCanChangeWhileRunning(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	var level slog.LevelVar
	logger := telemetry.NewLogger(&out, &level, "text")
	logger.Debug("quiet")
	level.Set(slog.LevelDebug)
	logger.Debug("loud")
	if got := out.String(); strings.Contains(got, "quiet") || !strings.Contains(got, "loud") {
		t.Error(got)
	}
}

func TestSecretIsNeverShown(t *testing.T) {
	t.Parallel()
	const value = "hunter2"
	config := struct {
		Password telemetry.Secret
		Keys     []telemetry.Secret
	}{value, []telemetry.Secret{value}}

	var text strings.Builder
	for _, verb := range []string{"%s", "%v", "%+v", "%#v", "%q", "%x", "%d", "%10.3s", "%t"} {
		fmt.Fprintf(&text, verb+"\n", config.Password)
		fmt.Fprintf(&text, verb+"\n", config)
		fmt.Fprintf(&text, verb+"\n", &config)
	}
	encoded, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	text.Write(encoded)
	for _, format := range []string{"text", "json"} {
		telemetry.NewLogger(&text, slog.LevelInfo, format).
			Info("starting", "password", config.Password, "config", config, slog.Group("db", "password", config.Password))
	}
	text.WriteString(config.Password.String())
	if got := text.String(); strings.Contains(got, value) || strings.Contains(got, fmt.Sprintf("%x", value)) {
		t.Errorf("shown in:\n%s", got)
	}
	if kind := slog.AnyValue(config.Password).Resolve().Kind(); kind != slog.KindString {
		t.Errorf("a log handler is given a %v", kind)
	}
	if string(config.Password) != value {
		t.Error("the value is lost")
	}
}
