// Package feature switches parts of the program off, at start or while it runs.
//
// A module registers the features that it gates, the configuration names those that are off, and a gate asks:
//
//	flags.Register("sales.flaky_gateway", "payments that fail once before they succeed")
//	err := flags.Configure("sales.flaky_gateway=off")
//	…
//	if err := flags.Require(ctx, "sales.flaky_gateway"); err != nil {
//		return err // a caller sees "not found", as if the feature did not exist
//	}
//
// A feature is on unless it is switched off: what is deployed works, and a switch is for taking it back. Only
// registered names count, so a misspelt setting stops the program at start, and a misspelt gate stays shut from
// its first test on.
package feature

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"example.com/plenary/platform/fault"
)

// Flags knows the features of a program. They are registered while the program is wired, by one goroutine; from
// then on all other methods may be called by any number of them. The zero value knows none.
type Flags struct {
	byName map[string]*flag
}

type flag struct {
	description string
	off         atomic.Bool
}

// Feature is one feature as people see it.
type Feature struct {
	Name        string
	Description string
	On          bool
}

// Register makes a feature known, switched on. name is stable and chosen ("sales.flaky_gateway"); description
// tells an operator what goes away when it is off. It panics if the name is taken or could not be written in
// the configuration: both are mistakes in the wiring.
func (f *Flags) Register(name, description string) {
	if name == "" || strings.ContainsAny(name, ",= \t\r\n") {
		panic(fmt.Sprintf("feature: %q is no name for a feature", name))
	}
	if _, taken := f.byName[name]; taken {
		panic(fmt.Sprintf("feature: %q is registered twice", name))
	}
	if f.byName == nil {
		f.byName = map[string]*flag{}
	}
	f.byName[name] = &flag{description: description}
}

// Configure applies settings such as "sales.flaky_gateway=off, engagement.polls=on"; "" changes nothing. The
// error names every setting that is not understood, and then none is applied.
func (f *Flags) Configure(settings string) error {
	var problems []error
	values := map[string]bool{}
	for setting := range strings.SplitSeq(settings, ",") {
		setting = strings.TrimSpace(setting)
		if setting == "" {
			continue
		}
		name, value, _ := strings.Cut(setting, "=")
		_, twice := values[name]
		switch {
		case f.byName[name] == nil:
			problems = append(problems, f.unknown(name))
		case value != "on" && value != "off":
			problems = append(problems, fmt.Errorf("feature %q must be on or off, as in %s=off", name, name))
		case twice:
			problems = append(problems, fmt.Errorf("feature %q is set twice", name))
		default:
			values[name] = value == "on"
		}
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	for name, on := range values {
		f.byName[name].off.Store(!on)
	}
	return nil
}

// Set switches a feature; every check from now on sees it. An unknown name is a NotFound fault
// ("unknown_feature").
func (f *Flags) Set(name string, on bool) error {
	known := f.byName[name]
	if known == nil {
		return fault.Wrap(f.unknown(name), fault.NotFound, "unknown_feature", "there is no such feature")
	}
	known.off.Store(!on)
	return nil
}

// Enabled reports whether a feature is registered and not switched off.
func (f *Flags) Enabled(_ context.Context, name string) bool {
	known := f.byName[name]
	return known != nil && !known.off.Load()
}

// Require returns nil if the feature is enabled, and else a NotFound fault with code "feature_disabled", which
// does not tell a caller whether the feature exists.
func (f *Flags) Require(ctx context.Context, name string) error {
	if f.Enabled(ctx, name) {
		return nil
	}
	return fault.New(fault.NotFound, "feature_disabled", "there is nothing here")
}

// Known reports whether the name is registered. Whoever wires a gate asks, so that a misspelt one fails at
// start.
func (f *Flags) Known(name string) bool { return f.byName[name] != nil }

// List returns all features as they are now, sorted by name.
func (f *Flags) List() []Feature {
	list := make([]Feature, 0, len(f.byName))
	for _, name := range slices.Sorted(maps.Keys(f.byName)) {
		known := f.byName[name]
		list = append(list, Feature{Name: name, Description: known.description, On: !known.off.Load()})
	}
	return list
}

func (f *Flags) unknown(name string) error {
	return fmt.Errorf("feature %q is unknown; there are: %s", name,
		strings.Join(slices.Sorted(maps.Keys(f.byName)), ", "))
}
