package strictjson

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// checkText checks what holds for JSON text whatever it means: that it is balanced, not too deep, with names
// that are unique and strings that can be stored anywhere. t only serves to name the place.
func checkText(data []byte, t reflect.Type) error {
	// Bad text is let through here, because the library does not say by type whether it met that or bad syntax;
	// badString looks at each string instead.
	d := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowInvalidUTF8(true))
	for {
		var err error
		switch d.PeekKind() {
		case jsontext.KindString:
			var raw jsontext.Value
			if raw, err = d.ReadValue(); err == nil && badString(raw) {
				return complain(pathIn(t, d.StackPointer()), "invalid_text", "contains text that is not valid UTF-8 or contains NUL")
			}
		default:
			_, err = d.ReadToken()
		}
		switch {
		case errors.Is(err, jsontext.ErrDuplicateName):
			syntactic, _ := errors.AsType[*jsontext.SyntacticError](err)
			return complain(pathIn(t, syntactic.JSONPointer), "duplicate_field", "contains the same name twice")
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return complain("", "syntax", "is empty or cut off")
		case err != nil:
			return complain("", "syntax", "is not valid JSON")
		case d.StackDepth() > MaxDepth:
			return complain("", "too_deep", "nests more than "+strconv.Itoa(MaxDepth)+" levels")
		case d.StackDepth() == 0:
			return nil // json.Unmarshal refuses whatever follows the value
		}
	}
}

// badString reports whether a quoted string, which is syntactically right, is invalid UTF-8, or escapes a NUL or
// half of a surrogate pair. An unescaped NUL is bad syntax already.
func badString(raw []byte) bool {
	if !utf8.Valid(raw) {
		return true
	}
	for len(raw) > 0 {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return false
		}
		raw = raw[i:]
		if raw[1] != 'u' {
			raw = raw[2:]
			continue
		}
		switch r := escaped(raw); {
		case r == 0:
			return true
		case utf16.IsSurrogate(r):
			if utf16.DecodeRune(r, escaped(raw[6:])) == utf8.RuneError {
				return true
			}
			raw = raw[12:]
		default:
			raw = raw[6:]
		}
	}
	return false
}

// escaped returns the code unit of the \uXXXX that raw begins with, or -1.
func escaped(raw []byte) rune {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(raw[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}
