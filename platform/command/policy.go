package command

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"go.opentelemetry.io/otel/metric"

	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/postgres"
)

// Policy is what a command's type says about every run of it.
type Policy struct {
	// Name is the stable name, "module.verb_noun". It is stored in rows and shown to operators; it is chosen,
	// never derived from the Go type, and never changed.
	Name string
	// Feature, if set, is the feature flag that must be on; else the command does not exist (NotFound).
	Feature string
	// Permission, if set, is what the principal must be allowed.
	Permission identity.Permission
	// Timeout bounds validation aside everything that the handler does. 0 is the pipeline's default.
	Timeout time.Duration
}

// Command is a value whose type has a policy. Policy is called on the zero value, so it must not look at
// fields; that also makes commands values, not pointers.
type Command interface{ Policy() Policy }

// Validator is a command that can tell on its own whether it makes sense. It returns Invalid faults, most
// conveniently through fault.Violations.
type Validator interface{ Validate() error }

// Evicter is a command after whose success cached reads are stale.
type Evicter interface{ Evicts() []string }

// Func is a door without a result.
type Func[C Command] func(ctx context.Context, cmd C) error

// ResultFunc is a door with a result.
type ResultFunc[C Command, R any] func(ctx context.Context, cmd C) (R, error)

var stableName = regexp.MustCompile(`^[a-z][a-z0-9]*(\.[a-z][a-z0-9_]*)+$`)

// Kind tells handlers apart.
type Kind string

// The kinds of handler.
const (
	Transactional Kind = "transactional" // the pipeline opens the transaction
	Outside       Kind = "outside"       // the handler opens short transactions of its own
	Query         Kind = "query"
	Event         Kind = "event"
)

// Info is what the pipeline knows about one registered handler.
type Info struct {
	Policy Policy
	Kind   Kind
	Source *postgres.Source // the module's

	completed metric.MeasurementOption // the labels of most runs, made once
}

// register refuses what would only show up in production: a bad name, or one name for two things.
func (p *Pipeline) register(info Info) {
	if !stableName.MatchString(info.Policy.Name) {
		panic(fmt.Sprintf("command: %q is not a stable name like sales.place_order", info.Policy.Name))
	}
	if name := info.Policy.Feature; name != "" && p.deps.Features != nil && !p.deps.Features.Known(name) {
		panic(fmt.Sprintf("command: %s names the feature %s, which nobody has registered", info.Policy.Name, name))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, taken := p.registered[info.Policy.Name]; taken {
		panic(fmt.Sprintf("command: %s is registered twice", info.Policy.Name))
	}
	p.registered[info.Policy.Name] = info
}

// Lookup returns what is registered under a stable name.
func (p *Pipeline) Lookup(name string) (Info, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	info, ok := p.registered[name]
	return info, ok
}
