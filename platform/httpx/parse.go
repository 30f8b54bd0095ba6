package httpx

import (
	"encoding"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/strictjson"
)

// complaint is what is wrong with one parameter. It repeats nothing of it.
type complaint struct{ code, message string }

// parser reads a parameter's text into a value of the type that it was made for.
type parser func(v reflect.Value, text string) *complaint

// parserFor returns nil for types that a parameter cannot have.
func parserFor(t reflect.Type) parser {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[uuid.UUID]():
		return parseUUID
	case t == reflect.TypeFor[time.Time]():
		return parseTime
	case reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return parseText
	}
	switch t.Kind() {
	case reflect.String:
		return func(v reflect.Value, text string) *complaint { v.SetString(text); return nil }
	case reflect.Bool:
		return parseBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return parseInt
	default:
		return nil
	}
}

func parseUUID(v reflect.Value, text string) *complaint {
	id, ok := strictjson.ParseUUID(text)
	if !ok {
		return &complaint{"invalid_id", "must be a UUID such as 019076a1-5e0c-7c3e-8d4f-6a7b8c9d0e1f"}
	}
	v.Set(reflect.ValueOf(id))
	return nil
}

func parseTime(v reflect.Value, text string) *complaint {
	t, ok := strictjson.ParseTime(text)
	if !ok {
		return &complaint{"invalid_value", "must be a time such as 2026-01-31T09:30:00Z, in the years 1 to 9999"}
	}
	v.Set(reflect.ValueOf(t))
	return nil
}

// parseBool takes no 1, t or TRUE: one meaning, one form.
func parseBool(v reflect.Value, text string) *complaint {
	if text != "true" && text != "false" {
		return &complaint{"wrong_type", "must be true or false"}
	}
	v.SetBool(text == "true")
	return nil
}

// parseInt tells a number that is too large from what is no number; the sign + would be a space in a query.
func parseInt(v reflect.Value, text string) *complaint {
	n, err := strconv.ParseInt(text, 10, v.Type().Bits())
	switch {
	case err == nil && !strings.HasPrefix(text, "+"):
		v.SetInt(n)
		return nil
	case err != nil && strings.Trim(text, "-0123456789") == "" && !strings.Contains(text[1:], "-") && text != "-":
		return &complaint{"out_of_range", "is too large a number"}
	default:
		return &complaint{"wrong_type", "must be a whole number"}
	}
}

// parseText lets a type read itself. Of its refusals only a fault was made to be shown.
func parseText(v reflect.Value, text string) *complaint {
	err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text))
	switch e := fault.As(err); {
	case err == nil:
		return nil
	case e != nil:
		return &complaint{e.Code, e.Message}
	default:
		return &complaint{"invalid_value", "is not valid"}
	}
}
