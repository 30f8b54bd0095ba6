package command

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"example.com/plenary/platform/cache"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/feature"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/postgres"
)

// Deps is what the steps work with. Every field may be left out: without Features every feature is on,
// without Permissions nobody is allowed anything that needs a permission.
type Deps struct {
	Features    *feature.Flags
	Permissions *identity.Permissions
	Logger      *slog.Logger
	Meter       metric.Meter
	Tracer      trace.Tracer
	Cache       *cache.Cache
	// Evict drops keys in this process and in the others. Default: in this process's Cache.
	Evict func(ctx context.Context, keys []string)
	// DefaultTimeout bounds runs whose policy has no timeout; 0 means 30 s.
	DefaultTimeout time.Duration
}

// Pipeline makes doors out of handlers. Registration happens while the program is wired, from one goroutine;
// the doors may be used by any number of goroutines.
type Pipeline struct {
	deps       Deps
	instrument instruments
	commands   []Step
	queries    []Step
	events     []Step

	mu         sync.Mutex
	registered map[string]Info
}

// Step is one stage of a pipeline. It does its part and calls next, or returns without calling it.
type Step struct {
	Name string
	run  func(ctx context.Context, r *run, next next) (any, error)
}

type next func(ctx context.Context) (any, error)

// run is one run of one handler on its way through the steps.
type run struct {
	info   Info
	input  any // the command, query or event
	source *postgres.Source
	cached cached // for queries
	// Exactly one is set: the handler of a transactional run, or of any other.
	inside  func(ctx context.Context, tx *postgres.Tx) (any, error)
	outside func(ctx context.Context) (any, error)
}

// New returns a pipeline. The three lists below are the pipelines; there is nothing else.
func New(deps Deps) *Pipeline {
	if deps.Logger == nil {
		deps.Logger = slog.New(slog.DiscardHandler)
	}
	if deps.Meter == nil {
		deps.Meter = metricnoop.Meter{}
	}
	if deps.Tracer == nil {
		deps.Tracer = tracenoop.Tracer{}
	}
	if deps.Permissions == nil {
		deps.Permissions = &identity.Permissions{}
	}
	if deps.Evict == nil {
		deps.Evict = func(ctx context.Context, keys []string) {
			if deps.Cache == nil {
				return
			}
			if err := deps.Cache.Evict(keys...); err != nil {
				deps.Logger.ErrorContext(ctx, "stale results could not be evicted", slog.Any("error", err))
			}
		}
	}
	if deps.DefaultTimeout == 0 {
		deps.DefaultTimeout = 30 * time.Second
	}
	p := &Pipeline{deps: deps, registered: map[string]Info{}, instrument: newInstruments(deps.Meter)}
	p.commands = []Step{
		{"feature gate", p.featureGate},
		{"permission", p.permission},
		{"logging", p.logging},
		{"cache invalidation", p.cacheInvalidation},
		{"validation", p.validation},
		{"timeout", p.timeout},
		{"transaction", p.transaction},
	}
	p.queries = []Step{
		{"feature gate", p.featureGate},
		{"permission", p.permission},
		{"logging", p.logging},
		{"caching", p.caching},
		{"timeout", p.timeout},
	}
	p.events = []Step{
		{"logging", p.logging},
		{"timeout", p.timeout},
		{"transaction", p.transaction},
	}
	return p
}

// Registered lists everything that has a door, by name.
func (p *Pipeline) Registered() []Info {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]Info, 0, len(p.registered))
	for _, info := range p.registered {
		all = append(all, info)
	}
	slices.SortFunc(all, func(a, b Info) int { return strings.Compare(a.Policy.Name, b.Policy.Name) })
	return all
}

// walk takes a run through steps and, past the last one, to its handler.
func (p *Pipeline) walk(ctx context.Context, steps []Step, r *run) (any, error) {
	if len(steps) == 0 {
		return r.outside(ctx)
	}
	return steps[0].run(ctx, r, func(ctx context.Context) (any, error) {
		return p.walk(ctx, steps[1:], r)
	})
}

// panicked is what a panic is to everybody else: an error. Its stack is for the log alone.
type panicked struct {
	value any
	stack []byte
}

func (e *panicked) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// safely turns a panic of fn into an Internal fault ("panic").
func safely(fn func() (any, error)) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			cause := &panicked{value: p, stack: debug.Stack()}
			result, err = nil, fault.Wrap(cause, fault.Internal, "panic", "the handler panicked")
		}
	}()
	return fn()
}
