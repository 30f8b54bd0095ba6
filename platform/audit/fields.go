package audit

import (
	"encoding"
	stdjson "encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
)

// field is a struct field that is a property, or a member of one.
type field struct {
	name  string
	index []int // as reflect.Value.FieldByIndex takes it: through embedded structs
	pii   bool
}

// of returns the field's value, or none if it lies in an embedded struct that is not there.
func (f field) of(v reflect.Value) reflect.Value {
	value, err := v.FieldByIndexErr(f.index)
	if err != nil {
		return reflect.Value{}
	}
	return value
}

var fieldsByType sync.Map // reflect.Type → []field; written once a type, by whoever comes first

// fieldsOf lists the fields of a struct in their order. As in JSON, those of an embedded struct count as its own,
// and the outer one of two equal names hides the inner. What cannot be told apart is refused, and so is a struct
// that keeps all it has to itself: changes to it would go unseen.
func fieldsOf(t reflect.Type) ([]field, error) {
	if known, ok := fieldsByType.Load(t); ok {
		return known.([]field), nil
	}
	byName := map[string]field{}
	hidden, err := collect(t, nil, false, map[reflect.Type]bool{}, byName)
	if err != nil {
		return nil, err
	}
	if len(byName) == 0 && hidden {
		return nil, unsupported(t, "has no exported fields")
	}
	fields := make([]field, 0, len(byName))
	for _, f := range byName {
		fields = append(fields, f)
	}
	slices.SortFunc(fields, func(a, b field) int { return slices.Compare(a.index, b.index) })
	fieldsByType.Store(t, fields)
	return fields, nil
}

func collect(t reflect.Type, at []int, pii bool, above map[reflect.Type]bool, byName map[string]field) (hidden bool, err error) {
	if above[t] {
		return false, nil
	}
	above[t] = true
	defer delete(above, t)
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Tag.Get("audit") == "-" || f.Tag.Get("json") == "-" {
			continue
		}
		next := field{name: name, index: append(slices.Clone(at), f.Index...), pii: pii || f.Tag.Get("pii") == "true"}
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if f.Anonymous && name == "" && inner.Kind() == reflect.Struct && !ownForm(inner) {
			innerHidden, err := collect(inner, next.index, next.pii, above, byName)
			if err != nil {
				return false, err
			}
			hidden = hidden || innerHidden
			continue
		}
		if !f.IsExported() {
			hidden = true
			continue
		}
		if name == "" {
			next.name = f.Name
		}
		switch other, taken := byName[next.name]; {
		case taken && len(other.index) == len(next.index):
			return false, unsupported(t, "has two fields of one name")
		case !taken || len(next.index) < len(other.index):
			byName[next.name] = next
		}
	}
	return hidden, nil
}

var forms = []reflect.Type{
	reflect.TypeFor[json.MarshalerTo](), reflect.TypeFor[stdjson.Marshaler](),
	reflect.TypeFor[encoding.TextAppender](), reflect.TypeFor[encoding.TextMarshaler](),
}

// ownForm reports whether the type writes itself as JSON or text: time.Time, uuid.UUID and the like.
func ownForm(t reflect.Type) bool {
	return slices.ContainsFunc(forms, func(form reflect.Type) bool { return reflect.PointerTo(t).Implements(form) })
}

// personal reports whether a type holds a field tagged pii, at any depth.
func personal(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return personal(t.Elem(), seen)
	case reflect.Map:
		return personal(t.Key(), seen) || personal(t.Elem(), seen)
	case reflect.Struct:
		for f := range t.Fields() {
			if f.Tag.Get("pii") == "true" || personal(f.Type, seen) {
				return true
			}
		}
	}
	return false
}
