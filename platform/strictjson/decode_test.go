package strictjson_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/strictjson"
)

// order has one member of every sort that bodies and payloads are made of.
type order struct {
	Lines  []line                       `json:"lines"`
	Note   string                       `json:"note"`
	Gift   *string                      `json:"gift"`
	Paid   bool                         `json:"paid"`
	Rate   float64                      `json:"rate"`
	On     time.Time                    `json:"on"`
	ID     uuid.UUID                    `json:"id"`
	Tags   map[string]int               `json:"tags"`
	Blob   []byte                       `json:"blob"`
	Free   any                          `json:"free"`
	Raw    jsontext.Value               `json:"raw"`
	Cron   strictjson.Nullable[string]  `json:"cron,omitzero"`
	Window strictjson.Nullable[[]int32] `json:"window,omitzero"`
	Method method                       `json:"method,omitzero"`
	Hidden string                       `json:"-"`
	Contact
}

type line struct {
	Quantity int32  `json:"quantity"`
	Small    uint8  `json:"small"`
	Price    *price `json:"price"`
}

type price struct {
	Amount int64 `json:"amount"`
}

// Contact is embedded: its members are the order's.
type Contact struct {
	Email string `json:"email"`
}

// method speaks for itself: one of its refusals is a fault, the other an ordinary error that quotes the input.
type method string

func (m *method) UnmarshalText(text []byte) error {
	switch s := string(text); {
	case strings.HasPrefix(s, "tok_"):
		*m = method(s)
		return nil
	case s == "":
		return fault.Wrap(errors.New("cause "+s), fault.Invalid, "sales.unknown_method", "is not a payment method")
	default:
		return fmt.Errorf("no method %q", s)
	}
}

const secret = "hunter2"

func TestRefusals(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return `{"free":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}` }
	cases := []struct{ in, path, code string }{
		// One value, and nothing but it.
		{``, "", "syntax"},
		{` `, "", "syntax"},
		{`{`, "", "syntax"},
		{`{"note":"a"`, "", "syntax"},
		{`{"note":"a"}x`, "", "syntax"},
		{`{"note":"a"} {"note":"b"}`, "", "syntax"},
		{`{"note":"a"},`, "", "syntax"},
		{`{"note":"a",}`, "", "syntax"},
		{`{"note" "a"}`, "", "syntax"},
		{`{note:"a"}`, "", "syntax"},
		{`{'note':'a'}`, "", "syntax"},
		{`{"lines":[{},]}`, "", "syntax"},
		{`{"lines":[{}}`, "", "syntax"},
		{"\ufeff{}", "", "syntax"},
		{`{"rate":NaN}`, "", "syntax"},
		{`{"rate":.5}`, "", "syntax"},
		{`{"rate":+1}`, "", "syntax"},
		{`{"lines":[{"quantity":01}]}`, "", "syntax"},
		{`{"lines":[{"quantity":0x1}]}`, "", "syntax"},
		{`{"note":"a` + "\n" + `b"}`, "", "syntax"},
		{`{"note":"a` + "\x00" + `b"}`, "", "syntax"},
		{`{"note":"\x41"}`, "", "syntax"},
		{`{"note":"\u12"}`, "", "syntax"},
		{`{} // done`, "", "syntax"},
		// Another value than the type has.
		{`[]`, "", "wrong_type"},
		{`"hunter2"`, "", "wrong_type"},
		{`1`, "", "wrong_type"},
		{`null`, "", "null"},
		// Text that cannot be stored.
		{`{"note":"` + "\xff" + `"}`, "note", "invalid_text"},
		{`{"note":"` + "\xc0\x80" + `"}`, "note", "invalid_text"},
		{`{"note":"` + "\xed\xa0\x80" + `"}`, "note", "invalid_text"},
		{`{"note":"a\u0000b"}`, "note", "invalid_text"},
		{`{"note":"\ud800"}`, "note", "invalid_text"},
		{`{"note":"\udc00\ud800"}`, "note", "invalid_text"},
		{`{"note":"\ud83d\ud83d"}`, "note", "invalid_text"},
		{`{"note":"\ud800A"}`, "note", "invalid_text"},
		{`{"free":{"x":["a\u0000"]}}`, "free", "invalid_text"},
		{`{"free":{"hunter2\u0000":1}}`, "free", "invalid_text"},
		{`{"tags":{"` + "\xff" + `":1}}`, "tags", "invalid_text"},
		{`{"hunter2\ud800":1}`, "", "invalid_text"},
		{`{"raw":"\u0000"}`, "raw", "invalid_text"},
		// Depth.
		{deep(strictjson.MaxDepth), "", "too_deep"},
		{deep(10_000), "", "too_deep"},
		{strings.Repeat("[", 100_000), "", "too_deep"},
		{strings.Repeat(`{"a":`, 100_000), "", "too_deep"},
		// Names.
		{`{"note":"a","note":"b"}`, "note", "duplicate_field"},
		{`{"note":"a","n\u006fte":"b"}`, "note", "duplicate_field"},
		{`{"lines":[{"quantity":1,"quantity":2}]}`, "lines[0].quantity", "duplicate_field"},
		{`{"free":{"hunter2":1,"hunter2":2}}`, "free", "duplicate_field"},
		{`{"hunter2":1,"hunter2":2}`, "", "duplicate_field"},
		{`{"Note":"a"}`, "", "unknown_field"},
		{`{"note":"a","NOTE":"b"}`, "", "unknown_field"},
		{`{"hunter2":true}`, "", "unknown_field"},
		{`{"lines":[{"quantity":1},{"hunter2":1}]}`, "lines[1]", "unknown_field"},
		{`{"Hidden":"a"}`, "", "unknown_field"},
		{`{"internal":"a"}`, "", "unknown_field"},
		{`{"Contact":{"email":"a"}}`, "", "unknown_field"},
		{`{"":1}`, "", "unknown_field"},
		// Null.
		{`{"lines":null}`, "lines", "null"},
		{`{"lines":[null]}`, "lines[0]", "null"},
		{`{"lines":[{"quantity":null}]}`, "lines[0].quantity", "null"},
		{`{"lines":[{"price":null}]}`, "lines[0].price", "null"},
		{`{"note":null}`, "note", "null"},
		{`{"gift":null}`, "gift", "null"},
		{`{"paid":null}`, "paid", "null"},
		{`{"on":null}`, "on", "null"},
		{`{"id":null}`, "id", "null"},
		{`{"blob":null}`, "blob", "null"},
		{`{"method":null}`, "method", "null"},
		{`{"email":null}`, "email", "null"},
		{`{"tags":{"hunter2":null}}`, "tags", "null"},
		{`{"window":[null]}`, "window", "null"},
		// Types.
		{`{"lines":{}}`, "lines", "wrong_type"},
		{`{"lines":{"quantity":1}}`, "lines", "wrong_type"},
		{`{"lines":["hunter2"]}`, "lines[0]", "wrong_type"},
		{`{"lines":[{"quantity":"1"}]}`, "lines[0].quantity", "wrong_type"},
		{`{"lines":[{"quantity":1.0}]}`, "lines[0].quantity", "wrong_type"},
		{`{"lines":[{"quantity":1.5}]}`, "lines[0].quantity", "wrong_type"},
		{`{"lines":[{"quantity":1e2}]}`, "lines[0].quantity", "wrong_type"},
		{`{"lines":[{"quantity":1e400}]}`, "lines[0].quantity", "wrong_type"},
		{`{"lines":[{"quantity":true}]}`, "lines[0].quantity", "wrong_type"},
		{`{"note":1}`, "note", "wrong_type"},
		{`{"note":["hunter2"]}`, "note", "wrong_type"},
		{`{"paid":"true"}`, "paid", "wrong_type"},
		{`{"paid":1}`, "paid", "wrong_type"},
		{`{"on":1790000000}`, "on", "wrong_type"},
		{`{"id":7}`, "id", "wrong_type"},
		{`{"id":{"hunter2":1}}`, "id", "wrong_type"},
		{`{"cron":5}`, "cron", "wrong_type"},
		{`{"window":["hunter2"]}`, "window", "wrong_type"},
		// Ranges.
		{`{"lines":[{"quantity":2147483648}]}`, "lines[0].quantity", "out_of_range"},
		{`{"lines":[{"quantity":-2147483649}]}`, "lines[0].quantity", "out_of_range"},
		{`{"lines":[{"quantity":99999999999999999999999}]}`, "lines[0].quantity", "out_of_range"},
		{`{"lines":[{"small":256}]}`, "lines[0].small", "out_of_range"},
		{`{"lines":[{"price":{"amount":9223372036854775808}}]}`, "lines[0].price.amount", "out_of_range"},
		{`{"rate":1e400}`, "rate", "out_of_range"},
		// Forms.
		{`{"on":"hunter2"}`, "on", "invalid_value"},
		{`{"on":"2026-13-40T00:00:00Z"}`, "on", "invalid_value"},
		{`{"on":"2026-01-01"}`, "on", "invalid_value"},
		{`{"on":"2026-01-01T1:00:00Z"}`, "on", "invalid_value"},
		{`{"on":"2026-01-01T01:00:00,5Z"}`, "on", "invalid_value"},
		{`{"on":"2026-01-01T01:00:00+24:00"}`, "on", "invalid_value"},
		{`{"on":"2026-02-29T01:00:00Z"}`, "on", "invalid_value"},
		{`{"on":"0000-01-01T00:00:00Z"}`, "on", "invalid_value"},
		{`{"on":"-0001-01-01T00:00:00Z"}`, "on", "invalid_value"},
		{`{"on":"10000-01-01T00:00:00Z"}`, "on", "invalid_value"},
		{`{"on":"0001-01-01T00:00:00+14:00"}`, "on", "invalid_value"},
		{`{"on":"9999-12-31T23:59:59-01:00"}`, "on", "invalid_value"},
		{`{"id":"27"}`, "id", "invalid_id"},
		{`{"id":""}`, "id", "invalid_id"},
		{`{"id":"urn:uuid:019076a1-5e0c-7c3e-8d4f-6a7b8c9d0e1f"}`, "id", "invalid_id"},
		{`{"id":"{019076a1-5e0c-7c3e-8d4f-6a7b8c9d0e1f}"}`, "id", "invalid_id"},
		{`{"id":"019076a15e0c7c3e8d4f6a7b8c9d0e1f"}`, "id", "invalid_id"},
		{`{"id":"019076a1-5e0c-7c3e-8d4f-6a7b8c9d0e1"}`, "id", "invalid_id"},
		{`{"id":"019076a1-5e0c-7c3e-8d4f-6a7b8c9d0e1g"}`, "id", "invalid_id"},
		{`{"blob":"hunter2!"}`, "blob", "invalid_value"},
		{`{"method":"hunter2"}`, "method", "invalid_value"},
		{`{"method":""}`, "method", "sales.unknown_method"},
	}
	for _, c := range cases {
		name := c.in[:min(len(c.in), 50)]
		var into order
		err := strictjson.Decode([]byte(c.in), &into)
		e := fault.As(err)
		if e == nil || e.Kind != fault.Invalid || e.Code != "invalid_input" || len(e.Fields) != 1 {
			t.Errorf("%s: error = %#v, want one Invalid complaint", name, err)
			continue
		}
		if got := e.Fields[0]; got.Path != c.path || got.Code != c.code {
			t.Errorf("%s: %s at %q, want %s at %q", name, got.Code, got.Path, c.code, c.path)
		}
		if all := fmt.Sprintf("%+v %v", e.Fields, err); strings.Contains(all, secret) {
			t.Errorf("%s: the answer repeats what was sent: %s", name, all)
		}
	}
}

func TestAcceptance(t *testing.T) {
	t.Parallel()
	gift, amount := "a", int64(9_223_372_036_854_775_807)
	id := uuid.MustParse("019076a1-5e0c-7c3e-8d4f-6a7b8c9d0e1f")
	cases := []struct {
		in   string
		want order
	}{
		{` {} ` + "\n", order{}},
		{`{"note":"\ud83d\ude00 \\u0000 é"}`, order{Note: "😀 \\u0000 é"}},
		{
			`{"lines":[{"quantity":-0,"small":255,"price":{"amount":9223372036854775807}}]}`,
			order{Lines: []line{{Small: 255, Price: &price{amount}}}},
		},
		{`{"gift":"a","email":"x@example.com"}`, order{Gift: &gift, Contact: Contact{"x@example.com"}}},
		{`{"id":"019076A1-5E0C-7C3E-8D4F-6A7B8C9D0E1F"}`, order{ID: id}},
		{`{"id":"00000000-0000-0000-0000-000000000000"}`, order{}},
		{`{"on":"2026-01-01T02:30:00.5+02:00"}`, order{On: time.Date(2026, 1, 1, 0, 30, 0, 5e8, time.UTC)}},
		{`{"free":[null,{"a":null}],"raw":null}`, order{Free: []any{nil, map[string]any{"a": nil}}, Raw: jsontext.Value("null")}},
		{`{"cron":null,"window":[1]}`, order{Cron: strictjson.Null[string](), Window: strictjson.Value([]int32{1})}},
		{`{"method":"tok_visa","tags":{"a":1}}`, order{Method: "tok_visa", Tags: map[string]int{"a": 1}}},
		{`{"rate":1e2}`, order{Rate: 100}},
		{
			`{"free":` + strings.Repeat("[", strictjson.MaxDepth-1) + strings.Repeat("]", strictjson.MaxDepth-1) + `}`,
			order{Free: nested(strictjson.MaxDepth - 1)},
		},
	}
	for _, c := range cases {
		var got order
		if err := strictjson.Decode([]byte(c.in), &got); err != nil {
			t.Errorf("%s: %+v", c.in, fault.As(err))
			continue
		}
		if !reflect.DeepEqual(c.want, got) { // cmp takes exponential time over nested interfaces
			t.Errorf("%s = %+v, want %+v", c.in, got, c.want)
		}
	}
}

func nested(levels int) any {
	v := []any{}
	for range levels - 1 {
		v = []any{v}
	}
	return v
}

func TestNullPointersReadsWhatEncodeWrote(t *testing.T) {
	t.Parallel()
	data, err := strictjson.Encode(line{Quantity: 1})
	if err != nil {
		t.Fatal(err)
	}
	var strict, stored line
	if err := strictjson.Decode(data, &strict); fault.KindOf(err) != fault.Invalid {
		t.Errorf("a stranger's null: %v", err)
	}
	if err := strictjson.Decode(data, &stored, strictjson.NullPointers()); err != nil || stored != (line{Quantity: 1}) {
		t.Errorf("our own null: %+v, %v", stored, err)
	}
	if err := strictjson.Decode([]byte(`{"quantity":null}`), &stored, strictjson.NullPointers()); err == nil {
		t.Error("null passed for a number")
	}
}

func TestRequireMembersNamesAllThatIsMissing(t *testing.T) {
	t.Parallel()
	type body struct {
		Lines    []line                   `json:"lines"`
		ByName   map[string]line          `json:"byName,omitzero"`
		Reason   string                   `json:"reason,omitempty"`
		Seconds  *int                     `json:"seconds"`
		Interval strictjson.Nullable[int] `json:"interval"`
		Contact
	}
	var b body
	err := strictjson.Decode([]byte(`{"lines":[{"quantity":1,"small":1},{"price":{}}],"byName":{"hunter2":{"quantity":1}}}`),
		&b, strictjson.RequireMembers())
	e := fault.As(err)
	if e == nil {
		t.Fatalf("error = %v", err)
	}
	var missing []string
	for _, f := range e.Fields {
		missing = append(missing, f.Path+" "+f.Code)
	}
	want := []string{
		"lines[1].price.amount required", "lines[1].quantity required", "lines[1].small required",
		"byName.small required", "email required",
	}
	if diff := cmp.Diff(want, missing); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	full := `{"lines":[],"email":""}`
	if err := strictjson.Decode([]byte(full), &b, strictjson.RequireMembers()); err != nil {
		t.Errorf("what is optional is demanded: %v", fault.As(err).Fields)
	}
}

// An answer must not grow with the request: 1 MiB of empty objects would make 50 MiB of complaints.
func TestComplaintsAreBounded(t *testing.T) {
	t.Parallel()
	var into struct {
		Lines []line `json:"lines"`
	}
	in := `{"lines":[` + strings.Repeat("{},", 10_000) + `{}]}`
	err := strictjson.Decode([]byte(in), &into, strictjson.RequireMembers())
	if n := len(fault.As(err).Fields); n == 0 || n > 60 {
		t.Errorf("%d complaints", n)
	}
}

// What a type says about its own parts is placed where the type stands.
func TestPathOfATypesOwnComplaints(t *testing.T) {
	t.Parallel()
	var into struct {
		Span []span `json:"span"`
	}
	err := strictjson.Decode([]byte(`{"span":[{"a":1}]}`), &into)
	want := []fault.Field{{Path: "span[0].to", Code: "before_from", Message: "is before the start"}}
	if diff := cmp.Diff(want, fault.As(err).Fields); diff != "" {
		t.Error(diff)
	}
}

type span struct{}

func (*span) UnmarshalJSON([]byte) error {
	var v fault.Violations
	v.Add("to", "before_from", "is before the start")
	return v.Err()
}
