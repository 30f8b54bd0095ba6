package strictjson

import (
	"bytes"
	"reflect"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"example.com/plenary/platform/fault"
)

// maxComplaints is after how many complaints no further objects are looked into: an answer must not grow with the
// request.
const maxComplaints = 50

// Join appends the path of a part to that of the whole: "lines[0]" and "quantity", "lines" and "[0]".
func Join(path, part string) string {
	if path == "" || part == "" || part[0] == '[' {
		return path + part
	}
	return path + "." + part
}

// pathIn writes a JSON pointer as the path that callers know. It goes only as far as the type knows the names:
// beyond (an unknown member, a key of a map) a name is something that was sent.
func pathIn(t reflect.Type, pointer jsontext.Pointer) string {
	path := ""
	for token := range pointer.Tokens() {
		t = deref(t)
		if HasOwnForm(t) {
			return path
		}
		switch t.Kind() {
		case reflect.Struct:
			member, known := find(Members(t), token)
			if !known {
				return path
			}
			path, t = Join(path, member.Name), member.Field.Type
		case reflect.Slice, reflect.Array:
			if _, err := strconv.ParseUint(token, 10, 32); err != nil {
				return path // an object was sent where an array belongs
			}
			path, t = Join(path, "["+token+"]"), t.Elem()
		default:
			return path
		}
	}
	return path
}

// missingMembers walks a text that Decode has accepted along its type.
func missingMembers(data []byte, t reflect.Type) error {
	var v fault.Violations
	d := jsontext.NewDecoder(bytes.NewReader(data))
	if err := walk(d, t, "", &v); err != nil {
		return err
	}
	return v.Err()
}

func walk(d *jsontext.Decoder, t reflect.Type, path string, v *fault.Violations) error {
	t = deref(t)
	kind := d.PeekKind()
	walkable := kind == jsontext.KindBeginObject && (t.Kind() == reflect.Struct || t.Kind() == reflect.Map) ||
		kind == jsontext.KindBeginArray && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array)
	if !walkable || HasOwnForm(t) || len(*v) >= maxComplaints {
		return d.SkipValue()
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	seen := map[string]bool{}
	for i := 0; d.PeekKind() != jsontext.KindEndObject && d.PeekKind() != jsontext.KindEndArray; i++ {
		element, place := reflect.Type(nil), path
		switch t.Kind() {
		case reflect.Struct:
			name, err := d.ReadToken()
			if err != nil {
				return err
			}
			member, known := find(Members(t), name.String())
			if !known { // caught by an embedded map
				if err := d.SkipValue(); err != nil {
					return err
				}
				continue
			}
			seen[member.Name], element, place = true, member.Field.Type, Join(path, member.Name)
		case reflect.Map:
			if err := d.SkipValue(); err != nil { // the key: it was sent, so it is in no path
				return err
			}
			element = t.Elem()
		default:
			element, place = t.Elem(), Join(path, "["+strconv.Itoa(i)+"]")
		}
		if err := walk(d, element, place, v); err != nil {
			return err
		}
	}
	if t.Kind() == reflect.Struct {
		for _, m := range Members(t) {
			v.Check(seen[m.Name] || m.Optional, Join(path, m.Name), "required", "is missing")
		}
	}
	_, err := d.ReadToken()
	return err
}
