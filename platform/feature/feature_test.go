package feature_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/feature"
)

func Example() {
	ctx := context.Background()
	var flags feature.Flags
	flags.Register("sales.orders", "ordering tickets")
	flags.Register("engagement.polls", "live polls")

	fmt.Println(flags.Configure("engagement.polls=off"))
	fmt.Println(flags.Enabled(ctx, "sales.orders"), flags.Enabled(ctx, "engagement.polls"))
	fmt.Println(flags.Configure("engagement.pols=off"))
	// Output:
	// <nil>
	// true false
	// feature "engagement.pols" is unknown; there are: engagement.polls, sales.orders
}

func flags() *feature.Flags {
	var f feature.Flags
	f.Register("b", "the second")
	f.Register("a", "the first")
	return &f
}

func TestFeatureIsOnUnlessSwitchedOff(t *testing.T) {
	t.Parallel()
	f := flags()
	if err := f.Configure(" a=off , b=on,"); err != nil {
		t.Fatal(err)
	}
	want := []feature.Feature{{Name: "a", Description: "the first"}, {Name: "b", Description: "the second", On: true}}
	if diff := cmp.Diff(want, f.List()); diff != "" {
		t.Error(diff)
	}
	if err := f.Set("a", true); err != nil || !f.Enabled(t.Context(), "a") {
		t.Errorf("not switched back: %v", err)
	}
	if err := f.Configure(""); err != nil || !f.Enabled(t.Context(), "a") {
		t.Errorf("no settings changed something: %v", err)
	}
}

func TestUnknownFeatureIsShut(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]*feature.Flags{"some": flags(), "zero": new(feature.Flags)} {
		if f.Enabled(t.Context(), "c") || f.Known("c") {
			t.Errorf("%s: an unknown feature is enabled or known", name)
		}
		if err := f.Set("c", true); !fault.Is(err, "unknown_feature") || fault.KindOf(err) != fault.NotFound {
			t.Errorf("%s: Set: %v", name, err)
		}
	}
	if !flags().Known("a") {
		t.Error("a registered feature is not known")
	}
}

func TestRequireHidesWhatIsOff(t *testing.T) {
	t.Parallel()
	f := flags()
	if err := f.Require(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	if err := f.Set("a", false); err != nil {
		t.Fatal(err)
	}
	off, unknown := f.Require(t.Context(), "a"), f.Require(t.Context(), "c")
	for _, err := range []error{off, unknown} {
		if fault.KindOf(err) != fault.NotFound || !fault.Is(err, "feature_disabled") {
			t.Errorf("got %v", err)
		}
	}
	if off.Error() != unknown.Error() {
		t.Errorf("%q tells which features exist, %q does not", off, unknown)
	}
}

func TestBadSettingsAreAllNamedAndNoneIsApplied(t *testing.T) {
	t.Parallel()
	f := flags()
	err := f.Configure("a=off,c=on,b=maybe,b,a=on,=on")
	if err == nil {
		t.Fatal("accepted")
	}
	want := []string{
		`feature "c" is unknown; there are: a, b`,
		`feature "b" must be on or off, as in b=off`,
		`feature "b" must be on or off, as in b=off`,
		`feature "a" is set twice`,
		`feature "" is unknown; there are: a, b`,
	}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Error(diff)
	}
	if !f.Enabled(t.Context(), "a") {
		t.Error("half of the settings were applied")
	}
}

func TestMistakesInTheWiringPanic(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "", "x=y", "x,y", "x y"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q was registered", name)
				}
			}()
			flags().Register(name, "")
		}()
	}
}

func TestSwitchWhileOthersRead(t *testing.T) {
	t.Parallel()
	f := flags()
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for range 1000 {
				_, _ = f.Enabled(t.Context(), "a"), f.List()
			}
		})
	}
	for i := range 1000 {
		if err := f.Set("a", i%2 == 0); err != nil {
			t.Error(err)
		}
		if err := f.Configure("b=off"); err != nil {
			t.Error(err)
		}
	}
	readers.Wait()
}
