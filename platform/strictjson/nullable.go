package strictjson

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Nullable is a member that may be absent, null, or a value, each with a meaning of its own: in a PATCH "leave it",
// "back to the default" and "change it". Tag it omitzero, so that what is absent stays absent when it is written.
type Nullable[T any] struct {
	Set   bool // the member was there, as null or as a value
	Null  bool
	Value T // meaningful if Set and not Null
}

// Value returns a Nullable that was given as v.
func Value[T any](v T) Nullable[T] { return Nullable[T]{Set: true, Value: v} }

// Null returns a Nullable that was given as null.
func Null[T any]() Nullable[T] { return Nullable[T]{Set: true, Null: true} }

// Get returns the value, and whether there is one.
func (n Nullable[T]) Get() (T, bool) { return n.Value, n.Set && !n.Null }

// IsZero reports whether the member was absent.
func (n Nullable[T]) IsZero() bool { return !n.Set }

// TakesNull marks the type for Decode.
func (n Nullable[T]) TakesNull() {}

// Underlying returns the zero value of T, for whoever describes the type.
func (n Nullable[T]) Underlying() any {
	var zero T
	return zero
}

// MarshalJSONTo writes null for whatever is not a value.
func (n Nullable[T]) MarshalJSONTo(e *jsontext.Encoder) error {
	if v, ok := n.Get(); ok {
		return json.MarshalEncode(e, v)
	}
	return e.WriteToken(jsontext.Null)
}

// UnmarshalJSONFrom reads null or a value of T, under the rules of Decode.
func (n *Nullable[T]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*n = Nullable[T]{Set: true}
	if d.PeekKind() == jsontext.KindNull {
		n.Null = true
		return d.SkipValue()
	}
	return json.UnmarshalDecode(d, &n.Value)
}
