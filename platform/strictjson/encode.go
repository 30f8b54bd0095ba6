package strictjson

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"example.com/plenary/platform/fault"
)

// Encode writes v as Decode reads it: times in UTC, nil slices and maps as [] and {}, the keys of maps sorted.
//
// It fails with an Invalid fault ("invalid_text") if a string contains NUL, which PostgreSQL cannot store, and
// with an error without a kind if v cannot be written: invalid UTF-8, a year outside 1 to 9999, a cycle, a type
// without a JSON form (time.Duration among them: store seconds).
func Encode(v any) ([]byte, error) {
	return encode(v, exactTimes)
}

// EncodeAnswer is Encode for what is only shown. A time outside the years 1 to 9999, which only SQL can have put
// there, is written as the nearest that can be: one odd row must not make a whole list unreadable.
func EncodeAnswer(v any) ([]byte, error) {
	return encode(v, nearestTimes)
}

var (
	exactTimes   = json.MarshalToFunc(func(e *jsontext.Encoder, t time.Time) error { return writeTime(e, t) })
	nearestTimes = json.MarshalToFunc(func(e *jsontext.Encoder, t time.Time) error { return writeTime(e, nearest(t)) })

	errUnwritableTime = errors.New("time is outside the years 1 to 9999")
)

func encode(v any, times *json.Marshalers) ([]byte, error) {
	data, err := json.Marshal(v, json.Deterministic(true), json.WithMarshalers(times))
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	if containsNUL(data) {
		return nil, fault.New(fault.Invalid, "invalid_text", "a text contains NUL")
	}
	return data, nil
}

func writeTime(e *jsontext.Encoder, t time.Time) error {
	t = t.UTC()
	if !writable(t) {
		return errUnwritableTime
	}
	return e.WriteToken(jsontext.String(t.Format(time.RFC3339Nano)))
}

func nearest(t time.Time) time.Time {
	switch t = t.UTC(); {
	case t.Year() < 1:
		return time.Time{}
	case t.Year() > 9999:
		return time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	default:
		return t
	}
}

// containsNUL looks for the escape that the encoder writes for NUL; an even number of backslashes before the
// "u0000" means that a backslash was escaped, not a NUL.
func containsNUL(data []byte) bool {
	for rest := data; ; {
		i := bytes.Index(rest, []byte(`u0000`))
		if i < 0 {
			return false
		}
		backslashes := i - len(bytes.TrimRight(rest[:i], `\`))
		if backslashes%2 == 1 {
			return true
		}
		rest = rest[i+len(`u0000`):]
	}
}
