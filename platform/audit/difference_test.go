package audit_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/platform/audit"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/strictjson"
)

type address struct {
	Street string `json:"street" pii:"true"`
	City   string `json:"city"`
}

type stamped struct {
	ChangedOn time.Time `json:"changedOn"`
}

type custom struct {
	Secret string `pii:"true"`
}

func (c custom) MarshalJSON() ([]byte, error) { return json.Marshal("custom " + c.Secret) }

type thing struct {
	*stamped
	Text   string                       `json:"text"`
	Number int64                        `json:"number"`
	Ratio  float64                      `json:"ratio"`
	Yes    bool                         `json:"yes"`
	Maybe  *int                         `json:"maybe"`
	ID     uuid.UUID                    `json:"id"`
	On     time.Time                    `json:"on"`
	Tags   []string                     `json:"tags"`
	Raw    []byte                       `json:"raw"`
	Inner  struct{ A, B int }           `json:"inner"`
	Map    map[uuid.UUID]int            `json:"map"`
	Any    any                          `json:"any"`
	Kept   strictjson.Nullable[address] `json:"kept"`

	Email     string              `json:"email" pii:"true"`
	Addresses []address           `json:"addresses"`
	Homes     map[string]*address `json:"homes"`
	Custom    custom              `json:"custom"`
	Unnamed   int
	Cache     string `json:"cache" audit:"-"`
	Hash      string `json:"-"`
	private   int
}

func TestDifference(t *testing.T) {
	t.Parallel()
	one := 1
	id := uuid.MustParse("019076a1-5e0c-7c3e-8d4f-6a7b8c9d0e1f")
	on := time.Date(2026, 1, 31, 10, 30, 0, 0, time.FixedZone("", 3600))
	for name, c := range map[string]struct {
		change func(*thing)
		want   string // property: old → new, or nothing
	}{
		"nothing":             {func(*thing) {}, ``},
		"left out":            {func(x *thing) { x.Cache, x.Hash, x.private = "x", "x", 1 }, ``},
		"text":                {func(x *thing) { x.Text = `"quoted" <b>` }, `text: "" → "\"quoted\" <b>"`},
		"a large number":      {func(x *thing) { x.Number = math.MaxInt64 }, `number: 0 → 9223372036854775807`},
		"a fraction":          {func(x *thing) { x.Ratio = 0.1 }, `ratio: 0 → 0.1`},
		"a truth":             {func(x *thing) { x.Yes = true }, `yes: false → true`},
		"something":           {func(x *thing) { x.Maybe = &one }, `maybe: null → 1`},
		"an id":               {func(x *thing) { x.ID = id }, `id: "00000000-0000-0000-0000-000000000000" → "019076a1-5e0c-7c3e-8d4f-6a7b8c9d0e1f"`},
		"a time":              {func(x *thing) { x.On = on }, `on: "0001-01-01T00:00:00Z" → "2026-01-31T09:30:00Z"`},
		"the same instant":    {func(x *thing) { x.On = time.Time{}.In(time.FixedZone("", 3600)) }, ``},
		"nil and empty":       {func(x *thing) { x.Tags, x.Map = []string{}, map[uuid.UUID]int{} }, ``},
		"a list":              {func(x *thing) { x.Tags = []string{"b", "a"} }, `tags: [] → ["b","a"]`},
		"bytes":               {func(x *thing) { x.Raw = []byte{0, 255} }, `raw: "" → "AP8="`},
		"a nested struct":     {func(x *thing) { x.Inner.B = 2 }, `inner: {"A":0,"B":0} → {"A":0,"B":2}`},
		"a map":               {func(x *thing) { x.Map = map[uuid.UUID]int{id: 1} }, `map: {} → {"019076a1-5e0c-7c3e-8d4f-6a7b8c9d0e1f":1}`},
		"any value":           {func(x *thing) { x.Any = []any{1, "x", nil} }, `any: null → [1,"x",null]`},
		"no name":             {func(x *thing) { x.Unnamed = 1 }, `Unnamed: 0 → 1`},
		"embedded":            {func(x *thing) { x.stamped = &stamped{on} }, `changedOn: null → "2026-01-31T09:30:00Z"`},
		"personal":            {func(x *thing) { x.Email = "a@b.example" }, `email: "[REDACTED]" → "[REDACTED]"`},
		"personal in a list":  {func(x *thing) { x.Addresses = []address{{"Elm", "Rome"}} }, `addresses: [] → [{"city":"Rome","street":"[REDACTED]"}]`},
		"personal in a map":   {func(x *thing) { x.Homes = map[string]*address{"a": {"Elm", "Rome"}} }, `homes: {} → {"a":{"city":"Rome","street":"[REDACTED]"}}`},
		"personal in any":     {func(x *thing) { x.Any = address{"Elm", "Rome"} }, `any: null → {"city":"Rome","street":"[REDACTED]"}`},
		"personal in its own": {func(x *thing) { x.Custom.Secret = "Elm" }, `custom: "[REDACTED]" → "[REDACTED]"`},
		"personal, nullable":  {func(x *thing) { x.Kept = strictjson.Value(address{"Elm", "Rome"}) }, `kept: "[REDACTED]" → "[REDACTED]"`},
		"two": {
			func(x *thing) { x.Number, x.Text = 1, "x" },
			`text: "" → "x"; number: 0 → 1`,
		},
	} {
		var before, after thing
		c.change(&after)
		changes, err := audit.Difference(&before, &after)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, change := range changes {
			got = append(got, change.Property+": "+string(change.Old)+" → "+string(change.New))
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, strings.Join(got, "; "), c.want)
		}
	}
}

// What changed inside is visible even where nothing of it may be shown.
func TestChangeOfNestedPersonalDataIsVisible(t *testing.T) {
	t.Parallel()
	before := thing{Addresses: []address{{"Elm", "Rome"}}}
	after := thing{Addresses: []address{{"Oak", "Rome"}}}
	changes, err := audit.Difference(before, after)
	if err != nil || len(changes) != 1 || string(changes[0].Old) != string(changes[0].New) ||
		strings.Contains(string(changes[0].New), "Oak") {
		t.Errorf("%s, %v", changes, err)
	}
}

func TestUnsupportedTypesAreRefused(t *testing.T) {
	t.Parallel()
	type cycle struct{ Next *cycle }
	round := &cycle{}
	round.Next = round
	type left struct{ Same int }
	type right struct{ Same int }
	for name, entity := range map[string]any{
		"a channel":         struct{ C chan int }{},
		"a function":        struct{ F func() }{func() {}},
		"a complex number":  struct{ C complex128 }{},
		"a duration":        struct{ D time.Duration }{},
		"not a number":      struct{ F float64 }{math.NaN()},
		"all unexported":    struct{ a int }{1},
		"inside unexported": struct{ Inner struct{ a int } }{},
		"a key":             struct{ M map[float64]int }{map[float64]int{1: 1}},
		"a cycle":           round,
		"one name twice": struct {
			left
			right
		}{},
		"in personal data": struct {
			C chan int `pii:"true"`
		}{},
	} {
		_, err := audit.Difference(entity, entity)
		if !fault.Is(err, "audit_unsupported") || fault.KindOf(err) != fault.Internal {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := audit.Difference(item{}, &item{}); !fault.Is(err, "audit_unsupported") {
		t.Errorf("a struct was compared with a pointer: %v", err)
	}
	for name, entity := range map[string]any{
		"NUL":             struct{ S []string }{[]string{"a\x00"}},
		"not UTF-8":       struct{ S map[string]int }{map[string]int{"\xff": 1}},
		"NUL in its own":  struct{ R json.RawMessage }{json.RawMessage(`"\u0000"`)},
		"NUL in personal": address{Street: "a\x00"},
	} {
		if _, err := audit.Difference(entity, entity); !fault.Is(err, "invalid_text") || fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}
