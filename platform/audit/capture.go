package audit

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/strictjson"
)

const (
	redacted = "[REDACTED]"
	maxDepth = 64 // of nested values; deeper is taken for a cycle
)

// property is one field of an entity at the time of capture.
type property struct {
	name  string
	plain []byte // in full, to tell whether it changed; goes nowhere
	pii   bool
	value reflect.Value
}

// shown is what may be stored.
func (p property) shown() (json.RawMessage, error) {
	if p.pii {
		return strictjson.Encode(redacted)
	}
	return encode(p.value, true)
}

// capture lists the properties of a struct, in the order of its fields.
func capture(entity any) ([]property, error) {
	v := reflect.ValueOf(entity)
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct || ownForm(v.Type()) {
		return nil, fault.Newf(fault.Internal, "audit_unsupported", "%T is not a struct of plain data", entity)
	}
	fields, err := fieldsOf(v.Type())
	if err != nil {
		return nil, err
	}
	properties := make([]property, len(fields))
	for i, f := range fields {
		p := property{name: f.name, pii: f.pii, value: f.of(v)}
		if p.plain, err = encode(p.value, false); err != nil {
			return nil, err
		}
		properties[i] = p
	}
	return properties, nil
}

func encode(v reflect.Value, redact bool) (json.RawMessage, error) {
	plain, err := walk(v, redact, 0)
	if err != nil {
		return nil, err
	}
	data, err := strictjson.Encode(plain)
	if err != nil && fault.As(err) == nil {
		return nil, fault.Wrap(err, fault.Internal, "audit_unsupported", "a value has no JSON form")
	}
	return data, err
}

// walk turns a value into what JSON knows. One walk serves both purposes, so that what is compared and what is
// stored have the same form but for the redacted parts.
func walk(v reflect.Value, redact bool, depth int) (any, error) {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if depth++; v.IsNil() {
			return nil, nil
		}
		if depth > maxDepth {
			break
		}
		v = v.Elem()
	}
	switch {
	case !v.IsValid():
		return nil, nil
	case depth > maxDepth:
		return nil, unsupported(v.Type(), "is nested too deeply")
	case ownForm(v.Type()):
		return walkOwnForm(v, redact)
	}
	switch v.Kind() {
	case reflect.Bool:
		return v.Bool(), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if v.Type() == reflect.TypeFor[time.Duration]() { // a bare number would not tell its unit
			return nil, unsupported(v.Type(), "has no JSON form; keep seconds")
		}
		return v.Int(), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return v.Uint(), nil
	case reflect.Float32:
		return float32(v.Float()), nil
	case reflect.Float64:
		return v.Float(), nil
	case reflect.String:
		return v.String(), checkText(v.String())
	case reflect.Slice, reflect.Array:
		return walkList(v, redact, depth+1)
	case reflect.Map:
		return walkMap(v, redact, depth+1)
	case reflect.Struct:
		return walkStruct(v, redact, depth+1)
	default:
		return nil, unsupported(v.Type(), "has no JSON form")
	}
}

// walkOwnForm leaves a value to its own methods. They know nothing of tags, so a type with anything personal
// inside is redacted as a whole.
func walkOwnForm(v reflect.Value, redact bool) (any, error) {
	if redact && personal(v.Type(), map[reflect.Type]bool{}) {
		return redacted, nil
	}
	addressable := reflect.New(v.Type()) // the methods may be the pointer's
	addressable.Elem().Set(v)
	data, err := strictjson.Encode(addressable.Interface())
	if err != nil && fault.As(err) == nil {
		return nil, fault.Wrap(err, fault.Internal, "audit_unsupported", v.Type().String()+" could not be written as JSON")
	}
	return json.RawMessage(data), err
}

func walkList(v reflect.Value, redact bool, depth int) (any, error) {
	if v.Type().Elem().Kind() == reflect.Uint8 && !ownForm(v.Type().Elem()) {
		data := make([]byte, v.Len()) // in base64, as strictjson has it
		reflect.Copy(reflect.ValueOf(data), v)
		return data, nil
	}
	list := make([]any, v.Len())
	for i := range list {
		var err error
		if list[i], err = walk(v.Index(i), redact, depth); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func walkMap(v reflect.Value, redact bool, depth int) (any, error) {
	members := make(map[string]any, v.Len())
	for entries := v.MapRange(); entries.Next(); {
		key, err := mapKey(entries.Key())
		if err != nil {
			return nil, err
		}
		if _, twice := members[key]; twice {
			return nil, unsupported(v.Type(), "has two keys of one form")
		}
		if members[key], err = walk(entries.Value(), redact, depth); err != nil {
			return nil, err
		}
	}
	return members, nil
}

func mapKey(v reflect.Value) (string, error) {
	if text, ok := v.Interface().(encoding.TextMarshaler); ok && !(v.Kind() == reflect.Pointer && v.IsNil()) {
		data, err := text.MarshalText()
		if err != nil {
			return "", fault.Wrap(err, fault.Internal, "audit_unsupported", v.Type().String()+" could not be written as a key")
		}
		return string(data), checkText(string(data))
	}
	switch {
	case v.Kind() == reflect.String:
		return v.String(), checkText(v.String())
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10), nil
	case v.CanUint():
		return strconv.FormatUint(v.Uint(), 10), nil
	default:
		return "", unsupported(v.Type(), "cannot be a key in JSON")
	}
}

func walkStruct(v reflect.Value, redact bool, depth int) (any, error) {
	fields, err := fieldsOf(v.Type())
	if err != nil {
		return nil, err
	}
	members := make(map[string]any, len(fields))
	for _, f := range fields {
		if f.pii && redact {
			members[f.name] = redacted
			continue
		}
		if members[f.name], err = walk(f.of(v), redact, depth); err != nil {
			return nil, err
		}
	}
	return members, nil
}

// checkText refuses what PostgreSQL cannot store. The change fails with it: kept without, the trail would have a
// hole.
func checkText(s string) error {
	if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
		return fault.New(fault.Invalid, "invalid_text", "a text has a character that cannot be stored")
	}
	return nil
}

func unsupported(t reflect.Type, why string) error {
	return fault.Newf(fault.Internal, "audit_unsupported", "%s %s", t, why)
}
