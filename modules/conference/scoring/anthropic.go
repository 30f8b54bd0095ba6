package scoring

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"go.opentelemetry.io/otel/metric"

	"example.com/plenary/platform/telemetry"
)

// AnthropicConfig says which model to ask, and at what cost at most. Everything but APIKey has a default.
type AnthropicConfig struct {
	APIKey      telemetry.Secret
	BaseURL     string        // default: the public service
	Model       string        // default claude-sonnet-5-5
	MaxTokens   int64         // of one answer, a model's silent thinking included; default 2048, at most 8192
	Timeout     time.Duration // of one call, from its start to the last byte of the answer; default 60 s
	Concurrency int           // calls at the same time in this process; default 4
	Meter       metric.Meter
	Logger      *slog.Logger     // gets one line a call at level debug; failures are returned, and logged by who gets them
	Now         func() time.Time // by which calls are measured; default time.Now
	HTTPClient  *http.Client     // default: a client of its own. Redirects are not followed: they would carry the text elsewhere
}

type model struct {
	name       string
	maxTokens  int64
	timeout    time.Duration
	client     anthropic.MessageService
	slots      chan struct{}
	now        func() time.Time
	instrument instruments
	logger     *slog.Logger
}

// NewAnthropic returns a scorer that asks a model of Anthropic. It takes nothing from the environment and sends
// nothing before the first Score. It fails, without a kind, if the configuration cannot be right.
func NewAnthropic(cfg AnthropicConfig) (Scorer, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("scoring model: %w", err)
	}
	httpClient := *cfg.HTTPClient
	httpClient.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	options := []option.RequestOption{
		option.WithoutEnvironmentDefaults(), // a variable must not redirect texts or add headers behind our back
		option.WithoutOpenTelemetry(),       // its spans go to the global provider; ours is not global
		option.WithAPIKey(string(cfg.APIKey)),
		option.WithHTTPClient(&httpClient),
		option.WithMaxRetries(0), // one call is at most one paid request; the queue tries again
	}
	if cfg.BaseURL != "" {
		options = append(options, option.WithBaseURL(cfg.BaseURL))
	}
	return &model{
		name: cfg.Model, maxTokens: cfg.MaxTokens, timeout: cfg.Timeout,
		client:     anthropic.NewClient(options...).Messages,
		slots:      make(chan struct{}, cfg.Concurrency),
		instrument: newInstruments(cfg.Meter),
		logger:     cfg.Logger,
		now:        cfg.Now,
	}, nil
}

func (cfg AnthropicConfig) withDefaults() AnthropicConfig {
	if cfg.Model == "" {
		cfg.Model = string(anthropic.ModelClaudeSonnet5_5)
	}
	if cfg.MaxTokens == 0 {
		cfg.MaxTokens = 2048
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = time.Minute
	}
	if cfg.Concurrency == 0 {
		cfg.Concurrency = 4
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.HTTPClient == nil {
		cfg.HTTPClient = &http.Client{}
	}
	return cfg
}

// check complains without repeating the key, or an address that may contain one.
func (cfg AnthropicConfig) check() error {
	unprintable := func(r rune) bool { return r <= ' ' || r > '~' }
	if key := string(cfg.APIKey); key == "" || strings.ContainsFunc(key, unprintable) {
		return errors.New("the API key is missing, or has characters that no key has")
	}
	if cfg.BaseURL != "" {
		u, err := url.Parse(cfg.BaseURL)
		if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || u.User != nil {
			return errors.New("the base URL is not an http or https address without a password")
		}
	}
	if cfg.MaxTokens < 1 || cfg.MaxTokens > 8192 || cfg.Timeout < 0 || cfg.Timeout > time.Hour || cfg.Concurrency < 1 {
		return errors.New("the limits must be 1 to 8192 tokens, at most an hour, and at least one call at a time")
	}
	return nil
}

func (m *model) Model() string { return m.name }

func (m *model) Prompt() PromptInfo { return prompt }

// Score waits for its turn, asks once, and reads the answer.
func (m *model) Score(ctx context.Context, p Proposal) (Score, error) {
	text, err := envelope(p)
	if err != nil {
		return Score{}, err
	}
	if err := m.acquire(ctx); err != nil {
		return Score{}, fmt.Errorf("score session %s: %w", p.SessionID, err)
	}
	defer func() { <-m.slots }()

	started := m.now()
	message, x, err := m.ask(ctx, text)
	var a answer
	if err == nil {
		a, err = parse(message)
	}
	s := Score{Model: m.name, Prompt: prompt}
	if message != nil { // also a useless answer is paid for
		u := message.Usage
		s.InputTokens = u.InputTokens + u.CacheCreationInputTokens + u.CacheReadInputTokens
		s.OutputTokens = u.OutputTokens
	}
	outcome, took := outcomeOf(err), m.now().Sub(started)
	m.instrument.record(ctx, outcome, s.InputTokens, s.OutputTokens, took)
	m.logger.DebugContext(ctx, "a model was asked to score a session", slog.String("session", p.SessionID.String()),
		slog.String("outcome", outcome), slog.String("model", m.name), slog.Int("prompt", prompt.Version), slog.String("request", x.id),
		slog.Int64("tokensIn", s.InputTokens), slog.Int64("tokensOut", s.OutputTokens), slog.Duration("took", took))
	if err != nil {
		return Score{}, fmt.Errorf("score session %s: %w", p.SessionID, err)
	}
	s.Criteria, s.Penalty, s.Reasoning = a.Criteria, a.Penalty, a.Reasoning
	return s, nil
}

func (m *model) acquire(ctx context.Context) error {
	if err := ctx.Err(); err != nil { // select picks at random when both are ready
		return err
	}
	select {
	case m.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ask sends the one request of a call. What it returns as an error has a kind, unless the caller's ctx has ended.
func (m *model) ask(ctx context.Context, text string) (*anthropic.Message, *exchange, error) {
	limited, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	x := &exchange{}
	message, err := m.client.New(limited, anthropic.MessageNewParams{
		Model:        m.name,
		MaxTokens:    m.maxTokens,
		System:       []anthropic.TextBlockParam{{Text: promptText}},
		Messages:     []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(text))},
		OutputConfig: anthropic.OutputConfigParam{Format: anthropic.JSONOutputFormatParam{Schema: answerSchema()}},
	}, option.WithMiddleware(x.observe))
	switch {
	case err == nil && x.status == http.StatusOK && message != nil: // nil: the body is null
		return message, x, nil
	case ctx.Err() != nil:
		return nil, x, ctx.Err()
	case limited.Err() != nil:
		return nil, x, timedOut()
	default:
		return nil, x, x.failure(err)
	}
}
