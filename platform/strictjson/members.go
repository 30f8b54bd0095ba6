package strictjson

import (
	"encoding"
	stdjson "encoding/json"
	"reflect"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
)

// Member is a struct field as JSON sees it.
type Member struct {
	Name  string
	Field reflect.StructField
	// Omittable: an answer may lack it (omitzero, omitempty).
	Omittable bool
	// Optional: a request may lack it. That is what may be omitted, and every pointer and NullTaker.
	Optional bool
}

var membersByType sync.Map // reflect.Type → []Member; written once a type, by whoever comes first

// Members lists the members of a struct type in the order of its fields, those of embedded structs included.
// Whoever describes a type, as the OpenAPI document does, describes with it what Decode does.
func Members(t reflect.Type) []Member {
	if known, ok := membersByType.Load(t); ok {
		return known.([]Member)
	}
	members := collect(t, map[reflect.Type]bool{})
	membersByType.Store(t, members)
	return members
}

func collect(t reflect.Type, above map[reflect.Type]bool) []Member {
	if above[t] {
		return nil
	}
	above[t] = true
	defer delete(above, t)

	var members, embedded []Member
	for f := range t.Fields() {
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		if inner := deref(f.Type); f.Anonymous && name == "" && inner.Kind() == reflect.Struct && !HasOwnForm(inner) {
			embedded = append(embedded, collect(inner, above)...)
			continue
		}
		if !f.IsExported() || tag == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		omittable := strings.Contains(options, "omitzero") || strings.Contains(options, "omitempty")
		members = append(members, Member{
			Name: name, Field: f, Omittable: omittable,
			Optional: omittable || f.Type.Kind() == reflect.Pointer || takesNull(f.Type),
		})
	}
	for _, m := range embedded { // a name of the outer struct hides that of an embedded one
		if _, hidden := find(members, m.Name); !hidden {
			members = append(members, m)
		}
	}
	return members
}

func find(members []Member, name string) (Member, bool) {
	for _, m := range members {
		if m.Name == name {
			return m, true
		}
	}
	return Member{}, false
}

func deref(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

var ownForms = []reflect.Type{
	reflect.TypeFor[json.UnmarshalerFrom](), reflect.TypeFor[stdjson.Unmarshaler](),
	reflect.TypeFor[encoding.TextUnmarshaler](),
}

// HasOwnForm reports whether the type reads itself from JSON or text, so that its fields say nothing about its form.
func HasOwnForm(t reflect.Type) bool {
	for _, form := range ownForms {
		if reflect.PointerTo(t).Implements(form) {
			return true
		}
	}
	return false
}

func takesNull(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[NullTaker]())
}
