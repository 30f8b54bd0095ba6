package strictjson

import (
	"errors"
	"reflect"
	"regexp"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"example.com/plenary/platform/fault"
)

// NullTaker marks a type that gives null a meaning of its own. Its UnmarshalJSON or UnmarshalJSONFrom sees it.
type NullTaker interface{ TakesNull() }

var (
	strictTypes = json.JoinUnmarshalers(
		json.UnmarshalFromFunc(func(d *jsontext.Decoder, v any) error { return refuseNull(d, v, false) }),
		ownTypes)
	strictTypesNullPointers = json.JoinUnmarshalers(
		json.UnmarshalFromFunc(func(d *jsontext.Decoder, v any) error { return refuseNull(d, v, true) }),
		ownTypes)
	ownTypes = json.JoinUnmarshalers(json.UnmarshalFromFunc(unmarshalUUID), json.UnmarshalFromFunc(unmarshalTime))
)

// refuseNull is asked before every value, whatever its type. For all but a misplaced null it stands aside.
func refuseNull(d *jsontext.Decoder, v any, nullPointers bool) error {
	if d.PeekKind() != jsontext.KindNull {
		return errors.ErrUnsupported
	}
	if _, ok := v.(NullTaker); ok {
		return errors.ErrUnsupported
	}
	switch v.(type) {
	case *any, *jsontext.Value:
		return errors.ErrUnsupported // free-form: null is as good as any other value
	}
	if nullPointers && reflect.TypeOf(v).Elem().Kind() == reflect.Pointer {
		return errors.ErrUnsupported
	}
	return fault.New(fault.Invalid, "null", "must not be null")
}

// ParseUUID reads the 36 characters of the canonical form, in either case. PostgreSQL and the uuid package each
// know further forms, not the same ones: an id must be the same id to everyone.
func ParseUUID(s string) (uuid.UUID, bool) {
	if len(s) != 36 {
		return uuid.Nil, false
	}
	id, err := uuid.Parse(s)
	return id, err == nil
}

func unmarshalUUID(d *jsontext.Decoder, id *uuid.UUID) error {
	s, err := readString(d, "must be a UUID")
	if err != nil {
		return err
	}
	parsed, ok := ParseUUID(s)
	if !ok {
		return fault.New(fault.Invalid, "invalid_id", "must be a UUID such as 019076a1-5e0c-7c3e-8d4f-6a7b8c9d0e1f")
	}
	*id = parsed
	return nil
}

// time.Parse alone takes one digit for an hour, a comma before the fraction, and any offset.
var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// ParseTime reads an RFC 3339 time and returns it in UTC. A year outside 1 to 9999 could be stored, but not be
// written in this form again.
func ParseTime(s string) (time.Time, bool) {
	if !rfc3339.MatchString(s) {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339, s)
	t = t.UTC()
	return t, err == nil && writable(t)
}

func writable(t time.Time) bool { return t.Year() >= 1 && t.Year() <= 9999 }

func unmarshalTime(d *jsontext.Decoder, t *time.Time) error {
	s, err := readString(d, "must be a time such as 2026-01-31T09:30:00Z")
	if err != nil {
		return err
	}
	parsed, ok := ParseTime(s)
	if !ok {
		return fault.New(fault.Invalid, "invalid_value",
			"must be a time such as 2026-01-31T09:30:00Z, in the years 1 to 9999")
	}
	*t = parsed
	return nil
}

func readString(d *jsontext.Decoder, otherwise string) (string, error) {
	if d.PeekKind() != jsontext.KindString {
		if err := d.SkipValue(); err != nil {
			return "", err
		}
		return "", fault.New(fault.Invalid, "wrong_type", otherwise)
	}
	token, err := d.ReadToken()
	if err != nil {
		return "", err
	}
	return token.String(), nil
}
