package strictjson_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/strictjson"
)

func TestEncode(t *testing.T) {
	t.Parallel()
	east := time.FixedZone("", 2*60*60)
	cases := []struct {
		in   any
		want string
	}{
		{[]int(nil), `[]`},
		{map[string]int(nil), `{}`},
		{map[string]int{"b": 1, "a": 2}, `{"a":2,"b":1}`},
		{time.Date(2026, 1, 1, 2, 30, 0, 0, east), `"2026-01-01T00:30:00Z"`},
		{struct {
			On *time.Time `json:"on"`
		}{}, `{"on":null}`},
		{uuid.MustParse("019076A1-5E0C-7C3E-8D4F-6A7B8C9D0E1F"), `"019076a1-5e0c-7c3e-8d4f-6a7b8c9d0e1f"`},
		{`back\u0000slash`, `"back\\u0000slash"`},
		{struct {
			Cron strictjson.Nullable[string] `json:"cron,omitzero"`
		}{}, `{}`},
		{struct {
			Cron strictjson.Nullable[string] `json:"cron,omitzero"`
		}{strictjson.Null[string]()}, `{"cron":null}`},
		{[]strictjson.Nullable[int]{strictjson.Value(1), {}}, `[1,null]`},
	}
	for _, c := range cases {
		got, err := strictjson.Encode(c.in)
		if err != nil || string(got) != c.want {
			t.Errorf("Encode(%#v) = %s, %v; want %s", c.in, got, err, c.want)
		}
	}
}

func TestEncodeRefusals(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"\x00", "a\x00b", `\` + "\x00", "u0000\x00"} {
		if _, err := strictjson.Encode(map[string]any{"s": s}); fault.KindOf(err) != fault.Invalid {
			t.Errorf("NUL in %q: %v", s, err)
		}
	}
	for _, v := range []any{
		"\xff", math.NaN(), time.Second, make(chan int),
		time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		if got, err := strictjson.Encode(v); err == nil || fault.As(err) != nil {
			t.Errorf("Encode(%T) = %s, %v; want an unclassified error", v, got, err)
		}
	}
}

func TestEncodeAnswerSurvivesOddRows(t *testing.T) {
	t.Parallel()
	rows := []time.Time{
		time.Date(-4712, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(294276, 12, 31, 0, 0, 0, 0, time.UTC),
	}
	got, err := strictjson.EncodeAnswer(rows)
	want := `["0001-01-01T00:00:00Z","2026-01-01T00:00:00Z","9999-12-31T23:59:59Z"]`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestNullableStates(t *testing.T) {
	t.Parallel()
	type patch struct {
		Cron strictjson.Nullable[string] `json:"cron,omitzero"`
	}
	cases := []struct {
		in       string
		set, has bool
	}{
		{`{}`, false, false}, {`{"cron":null}`, true, false}, {`{"cron":""}`, true, true}, {`{"cron":"@daily"}`, true, true},
	}
	for _, c := range cases {
		var p patch
		if err := strictjson.Decode([]byte(c.in), &p); err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		if _, has := p.Cron.Get(); p.Cron.Set != c.set || has != c.has {
			t.Errorf("%s: %+v", c.in, p.Cron)
		}
		if back, _ := strictjson.Encode(p); string(back) != c.in {
			t.Errorf("%s became %s", c.in, back)
		}
	}
}
