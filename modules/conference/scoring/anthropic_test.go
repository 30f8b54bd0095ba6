package scoring

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/plenary/platform/fault"
)

func TestModelScores(t *testing.T) {
	t.Parallel()
	s := newService(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, recorded(t, "success")) })
	r := newRig(t, s)
	got, err := r.Score(t.Context(), proposal())
	if err != nil {
		t.Fatal(err)
	}
	want := Score{
		Criteria: Criteria{Relevance: 8, Depth: 7, Practicality: 9, Originality: 6, Clarity: 7, Feasibility: 8},
		Penalty:  0.5, Reasoning: "A concrete migration with numbers; the outline is thin.",
		Model: "claude-sonnet-5-5", Prompt: r.Prompt(), InputTokens: 832, OutputTokens: 131,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	calls, tokens, durations := r.counted("scoring.calls"), r.counted("scoring.tokens"), r.counted("scoring.duration")
	if calls["scored"] != 1 || tokens["input"] != 832 || tokens["output"] != 131 || durations["scored"] != 1 {
		t.Errorf("calls %v, tokens %v, durations %v", calls, tokens, durations)
	}
}

func TestWhatTheModelIsSent(t *testing.T) {
	t.Parallel()
	s := newService(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, recorded(t, "success")) })
	if _, err := newRig(t, s).Score(t.Context(), proposal()); err != nil {
		t.Fatal(err)
	}
	line, body, _ := strings.Cut(s.bodies[0], "\n")
	if line != "POST /v1/messages" || s.heads[0].Get("Authorization") != "Bearer "+testKey {
		t.Errorf("%s, key %q", line, s.heads[0].Get("Authorization"))
	}
	var sent struct {
		Model     string
		MaxTokens int `json:"max_tokens"`
		System    []struct{ Text string }
		Messages  []struct {
			Role    string
			Content []struct{ Text string }
		}
		Stream       bool
		OutputConfig struct {
			Format struct {
				Type   string
				Schema struct {
					Required             []string
					AdditionalProperties *bool
				}
			}
		} `json:"output_config"`
	}
	if err := json.Unmarshal([]byte(body), &sent); err != nil {
		t.Fatal(err)
	}
	schema := sent.OutputConfig.Format.Schema
	if sent.MaxTokens != 2048 || sent.Stream || sent.OutputConfig.Format.Type != "json_schema" || len(schema.Required) != 8 ||
		schema.AdditionalProperties == nil || *schema.AdditionalProperties {
		t.Errorf("%+v", sent)
	}
	if len(sent.System) != 1 || sent.System[0].Text != promptText || len(sent.Messages) != 1 || sent.Messages[0].Role != "user" {
		t.Errorf("%+v", sent)
	}
	open(t, sent.Messages[0].Content[0].Text) // the proposal, and nothing but the proposal
	if strings.Contains(body, "Lovelace") || strings.Contains(body, "example.com") || strings.Contains(body, proposal().SessionID.String()) {
		t.Errorf("more than needed: %s", body)
	}
}

func TestHowCallsFail(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		status     int
		body       string
		retryAfter string
		code       string
		kind       fault.Kind
		after      time.Duration
		tokens     int64
	}{
		"overload":          {status: 529, body: recorded(t, "overloaded"), retryAfter: "7", code: "unavailable", kind: fault.Unavailable, after: 7 * time.Second},
		"error":             {status: 500, body: "oops", code: "unavailable", kind: fault.Unavailable},
		"error in odd JSON": {status: 503, body: "[1]", code: "unavailable", kind: fault.Unavailable},
		"rate limit":        {status: 429, body: recorded(t, "rate_limited"), retryAfter: "30", code: "rate_limited", kind: fault.RateLimited, after: 30 * time.Second},
		"for ever":          {status: 429, body: recorded(t, "rate_limited"), retryAfter: "1e300", code: "rate_limited", kind: fault.RateLimited, after: time.Hour},
		"nonsense":          {status: 429, body: recorded(t, "rate_limited"), retryAfter: "soon", code: "rate_limited", kind: fault.RateLimited},
		"refusal":           {status: 200, body: recorded(t, "refusal"), code: "refused", kind: fault.Invalid, tokens: 812},
		"truncated":         {status: 200, body: recorded(t, "truncated"), code: "unparseable", kind: fault.Unavailable, tokens: 812},
		"half a body":       {status: 200, body: recorded(t, "success")[:300], code: "unparseable", kind: fault.Unavailable},
		"a page":            {status: 200, body: "<html>", code: "unparseable", kind: fault.Unavailable},
		"null":              {status: 200, body: "null", code: "unparseable", kind: fault.Unavailable},
		"no message":        {status: 200, body: "{}", code: "unparseable", kind: fault.Unavailable},
		"too much":          {status: 200, body: strings.Repeat(" ", maxBody+1), code: "unparseable", kind: fault.Unavailable},
		"bad key":           {status: 401, body: recorded(t, "unauthorized"), code: "misconfigured", kind: fault.Internal},
		"not allowed":       {status: 403, body: "{}", code: "misconfigured", kind: fault.Internal},
		"no such model":     {status: 404, body: "{}", code: "misconfigured", kind: fault.Internal},
		"bad request":       {status: 400, body: "{}", code: "misconfigured", kind: fault.Internal},
		"redirect":          {status: 307, body: "{}", code: "misconfigured", kind: fault.Internal},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", c.retryAfter)
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})
			r := newRig(t, s)
			_, err := r.Score(t.Context(), proposal())
			f := fault.As(err)
			if f == nil || f.Code != "scoring."+c.code || f.Kind != c.kind || f.RetryAfter != c.after {
				t.Fatalf("%v: %+v", err, f)
			}
			if s.requests() != 1 {
				t.Errorf("%d requests", s.requests())
			}
			if calls := r.counted("scoring.calls"); calls[c.code] != 1 || r.counted("scoring.tokens")["input"] != c.tokens {
				t.Errorf("calls %v, tokens %v", calls, r.counted("scoring.tokens"))
			}
			r.checkSilent(t, err)
		})
	}
}

// checkSilent looks for the key and for words of the proposal and of the answer where they do not belong.
func (r *rig) checkSilent(t *testing.T, err error) {
	t.Helper()
	out := fmt.Sprintf("%v\n%+v\n%#v\n%s", err, err, fault.As(err), r.log)
	for _, secret := range []string{testKey, "ledger", "Lovelace", "bearer", "declined.", "migration"} {
		if strings.Contains(out, secret) {
			t.Errorf("%q is in the open:\n%s", secret, out)
		}
	}
}

func TestAnswersThatAreNotWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	good := `{"reasoning":"migration","relevance":8,"depth":7,"practicality":9,"originality":6,"clarity":7,"feasibility":8,"penalty":0}`
	cases := map[string]string{
		"words":            "Here is my score: " + good,
		"fence":            "```json\n" + good + "\n```",
		"two values":       good + good,
		"a field too many": strings.Replace(good, "{", `{"overall":10,`, 1),
		"a field missing":  strings.Replace(good, `"depth":7,`, "", 1),
		"no penalty":       strings.Replace(good, `,"penalty":0`, "", 1),
		"twice":            strings.Replace(good, "{", `{"depth":1,`, 1),
		"too high":         strings.Replace(good, ":9", ":11", 1),
		"too low":          strings.Replace(good, ":9", ":0", 1),
		"fraction":         strings.Replace(good, ":9", ":9.5", 1),
		"text":             strings.Replace(good, ":9", `:"9"`, 1),
		"null":             strings.Replace(good, ":9", ":null", 1),
		"bonus":            strings.Replace(good, `"penalty":0`, `"penalty":-5`, 1),
		"huge penalty":     strings.Replace(good, `"penalty":0`, `"penalty":1e9`, 1),
		"no reasons":       strings.Replace(good, "migration", " ", 1),
		"NUL":              strings.Replace(good, "migration", `\u0000`, 1),
		"nothing":          "",
	}
	for name, text := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, newService(t, says(t, text)))
			_, err := r.Score(t.Context(), proposal())
			if !fault.Is(err, "scoring.unparseable") || !fault.Retryable(err) {
				t.Errorf("%v", err)
			}
			r.checkSilent(t, err)
		})
	}
	long := strings.Replace(good, "migration", strings.Repeat("ä\\u0007", 3*MaxReasoning), 1)
	got, err := newRig(t, newService(t, says(t, long))).Score(t.Context(), proposal())
	if err != nil || got.Reasoning != strings.Repeat("ä", MaxReasoning-1)+"…" {
		t.Errorf("%v, a reasoning of %d bytes", err, len(got.Reasoning))
	}
}

// says answers with a message whose text is text.
func says(t *testing.T, text string) http.HandlerFunc {
	t.Helper()
	var message map[string]any
	if err := json.Unmarshal([]byte(recorded(t, "success")), &message); err != nil {
		t.Fatal(err)
	}
	message["content"] = []any{map[string]any{"type": "text", "text": text}}
	return func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(message) }
}

func TestConfigurationIsChecked(t *testing.T) {
	t.Parallel()
	cases := map[string]AnthropicConfig{
		"no key":     {},
		"odd key":    {APIKey: testKey + "\n"},
		"address":    {APIKey: testKey, BaseURL: "api.example.com"},
		"password":   {APIKey: testKey, BaseURL: "https://u:" + testKey + "@example.com"},
		"tokens":     {APIKey: testKey, MaxTokens: 100_000},
		"timeout":    {APIKey: testKey, Timeout: -1},
		"no calling": {APIKey: testKey, Concurrency: -1},
	}
	for name, cfg := range cases {
		scorer, err := NewAnthropic(cfg)
		if err == nil || scorer != nil || strings.Contains(err.Error(), testKey) {
			t.Errorf("%s: %v, %v", name, scorer, err)
		}
	}
	var log strings.Builder
	cfg := AnthropicConfig{APIKey: testKey}
	slog.New(slog.NewJSONHandler(&log, nil)).Info("configured", slog.Any("scoring", cfg))
	scorer, err := NewAnthropic(cfg)
	if out := fmt.Sprintf("%+v %#v %+v %s", cfg, cfg, scorer, &log); err != nil || strings.Contains(out, testKey) {
		t.Errorf("%v: %s", err, out)
	}
}

func TestServiceThatIsNotThere(t *testing.T) {
	t.Parallel()
	s := newService(t, func(http.ResponseWriter, *http.Request) {})
	r := newRig(t, s)
	s.Close()
	if _, err := r.Score(t.Context(), proposal()); !fault.Is(err, "scoring.unavailable") {
		t.Errorf("%v", err)
	}
	dropping := newService(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, recorded(t, "success")[:100])
	})
	r = newRig(t, dropping)
	if _, err := r.Score(t.Context(), proposal()); !fault.Is(err, "scoring.unavailable") || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a connection that breaks: %v", err)
	}
}
