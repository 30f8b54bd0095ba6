package strictjson

import (
	"errors"
	"reflect"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"example.com/plenary/platform/fault"
)

// MaxDepth is how deeply objects and arrays may nest.
const MaxDepth = 64

type settings struct {
	nullPointers   bool
	requireMembers bool
}

// Option loosens or tightens Decode.
type Option func(*settings)

// NullPointers lets null stand for a nil pointer. It is for reading back what Encode wrote, never for a
// stranger's text: there a pointer means that the member may be absent.
func NullPointers() Option { return func(s *settings) { s.nullPointers = true } }

// RequireMembers refuses an object that lacks a member, unless the member is optional: see [Member].
func RequireMembers() Option { return func(s *settings) { s.requireMembers = true } }

// Decode reads the one JSON value in data into the zero value that into points to. What may be sent is what the
// type can hold: pass a struct to accept nothing but an object with its members.
//
// It fails with an Invalid fault of code "invalid_input"; its fields bear one of the codes "syntax",
// "invalid_text", "too_deep", "duplicate_field", "unknown_field", "null", "wrong_type", "out_of_range",
// "invalid_value", "required", or the code of the fault that a type's own unmarshaler returned. What into then
// holds is not specified.
func Decode(data []byte, into any, options ...Option) error {
	var s settings
	for _, option := range options {
		option(&s)
	}
	t := reflect.TypeOf(into).Elem()
	if err := checkText(data, t); err != nil {
		return err
	}
	unmarshalers := strictTypes
	if s.nullPointers {
		unmarshalers = strictTypesNullPointers
	}
	err := json.Unmarshal(data, into, json.RejectUnknownMembers(true), json.WithUnmarshalers(unmarshalers))
	if err != nil {
		return meaning(err, t)
	}
	if s.requireMembers {
		return missingMembers(data, t)
	}
	return nil
}

// meaning turns the library's error into a fault. The library's text quotes the input: it stays behind.
func meaning(err error, t reflect.Type) error {
	semantic, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return complain("", "syntax", "is not valid JSON")
	}
	path := pathIn(t, semantic.JSONPointer)
	if own := fault.As(semantic.Err); own != nil {
		return ownComplaints(path, own)
	}
	switch {
	case errors.Is(semantic.Err, json.ErrUnknownName):
		return complain(path, "unknown_field", "has a field that is not known here")
	case errors.Is(semantic.Err, strconv.ErrRange):
		return complain(path, "out_of_range", "is outside the range of its type")
	case semantic.Err == nil, errors.Is(semantic.Err, strconv.ErrSyntax) && semantic.JSONKind == jsontext.KindNumber:
		return complain(path, "wrong_type", "must be "+describe(semantic.GoType))
	default:
		return complain(path, "invalid_value", "is not valid")
	}
}

// ownComplaints places what a type said about itself at the path where it stands. A fault's code and message
// are made for callers; its cause is not, and is dropped.
func ownComplaints(path string, own *fault.Error) error {
	if len(own.Fields) == 0 {
		return complain(path, own.Code, own.Message)
	}
	var v fault.Violations
	for _, f := range own.Fields {
		v.Add(Join(path, f.Path), f.Code, f.Message)
	}
	return v.Err()
}

func complain(path, code, message string) error {
	return fault.Violations{{Path: path, Code: code, Message: message}}.Err()
}

// describe says what a Go type is to someone who writes JSON.
func describe(t reflect.Type) string {
	if t == nil {
		return "a value of another type"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.String:
		return "a string"
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return "a string"
		}
		return "an array"
	case reflect.Struct, reflect.Map:
		if HasOwnForm(t) {
			return "a string"
		}
		return "an object"
	default:
		return "a value of another type"
	}
}
