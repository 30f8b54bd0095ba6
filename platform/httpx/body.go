package httpx

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"reflect"
	"strings"

	"example.com/plenary/platform/strictjson"
)

// MaxBody is how many bytes a request's body may have.
const MaxBody = 1 << 20

// bodyField is the Body of an input type. A nil one means that the body is not looked at.
type bodyField struct {
	index []int
	typ   reflect.Type
}

// noBody is that of a route which takes none: nothing or {} may be sent.
var noBody = &bodyField{typ: reflect.TypeFor[*struct{}]()}

// newBodyField panics unless the body is one JSON object.
func newBodyField(t reflect.Type, index []int) *bodyField {
	inner := t
	if t.Kind() == reflect.Pointer {
		inner = t.Elem()
	}
	if inner.Kind() != reflect.Struct && inner.Kind() != reflect.Map {
		panic("httpx: a Body is an object, not " + t.String())
	}
	return &bodyField{index: index, typ: t}
}

// optional reports whether the body may be missing.
func (f *bodyField) optional() bool { return f.typ.Kind() == reflect.Pointer }

// raw reads the body's bytes. It refuses what can be refused without them first.
func (f *bodyField) raw(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if f == nil || r.ContentLength == 0 { // -1 is a length that was not announced
		return nil, nil
	}
	if err := checkMediaType(r.Header); err != nil {
		return nil, err
	}
	if r.ContentLength > MaxBody {
		return nil, errTooLarge
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	switch {
	case err == nil:
		return data, nil
	case tooLarge(err):
		return nil, errTooLarge
	case errors.Is(err, os.ErrDeadlineExceeded): // the server's ReadTimeout; it ends the request's context, too
		return nil, errTooSlow
	case errors.Is(r.Context().Err(), context.Canceled):
		return nil, err // the client has gone: no complaint will reach it
	default:
		return nil, invalid("", "syntax", "the body broke off")
	}
}

// decode reads raw into the Body of in.
func (f *bodyField) decode(raw []byte, in reflect.Value) error {
	if f == nil || len(raw) == 0 && f.optional() {
		return nil
	}
	if len(raw) == 0 {
		return invalid("", "required", "the body is missing")
	}
	target := reflect.New(f.typ)
	if f.optional() {
		target = reflect.New(f.typ.Elem())
	}
	if err := strictjson.Decode(raw, target.Interface(), strictjson.RequireMembers()); err != nil {
		return err
	}
	switch {
	case f == noBody:
	case f.optional():
		in.FieldByIndex(f.index).Set(target)
	default:
		in.FieldByIndex(f.index).Set(target.Elem())
	}
	return nil
}

var errTooLarge = &StatusError{
	Status: http.StatusRequestEntityTooLarge, Code: "body_too_large", Message: "the body has more than 1 MiB",
}

var errTooSlow = &StatusError{
	Status: http.StatusRequestTimeout, Code: "body_too_slow", Message: "the body did not arrive in time",
}

func tooLarge(err error) bool {
	_, ok := errors.AsType[*http.MaxBytesError](err)
	return ok
}

// checkMediaType refuses what is not JSON in UTF-8 as it stands. A compressed body would get round the size limit.
func checkMediaType(h http.Header) error {
	if encoding := h.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return &StatusError{
			Status: http.StatusUnsupportedMediaType, Code: "unsupported_encoding", Message: "send the body uncompressed",
			Header: http.Header{"Accept-Encoding": {"identity"}},
		}
	}
	mediaType, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	charset, given := params["charset"]
	if err != nil || mediaType != "application/json" || given && !strings.EqualFold(charset, "utf-8") {
		return &StatusError{
			Status: http.StatusUnsupportedMediaType, Code: "unsupported_media_type",
			Message: "send the body as application/json in UTF-8",
		}
	}
	return nil
}
