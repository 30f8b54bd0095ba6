package strictjson_test

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/strictjson"
)

// Whatever comes, Decode answers with an Invalid fault or with a value that survives being written and read again.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"lines":[{"quantity":1,"small":2,"price":{"amount":3}}],"note":"a","gift":"b","paid":true,"rate":1.5}`,
		`{"on":"2026-01-01T02:30:00.5+02:00","id":"019076a1-5e0c-7c3e-8d4f-6a7b8c9d0e1f","tags":{"a":1},"blob":"aGk="}`,
		`{"free":[null,{"a":1e3}],"raw":{"b":[true]},"cron":null,"window":[1,2],"method":"tok_visa","email":"x"}`,
		`{"note":"\ud83d\ude00"}`, `{"note":"\ud800"}`, `{"note":"a\u0000"}`, `[[[[`, `{"rate":1e400}`, `{"lines":[null]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var first order
		if err := strictjson.Decode(data, &first); err != nil {
			e := fault.As(err)
			if e == nil || e.Kind != fault.Invalid || len(e.Fields) == 0 || !utf8.ValidString(e.Fields[0].Path) {
				t.Fatalf("refused with %#v", err)
			}
			return
		}
		again, err := strictjson.Encode(first)
		if err != nil {
			t.Fatalf("accepted %q but cannot write it: %v", data, err)
		}
		var second order
		if err := strictjson.Decode(again, &second, strictjson.NullPointers()); err != nil {
			t.Fatalf("cannot read back %s: %v", again, fault.As(err).Fields)
		}
		if third, err := strictjson.Encode(second); err != nil || !bytes.Equal(again, third) {
			t.Fatalf("%s was read back as %s, %v", again, third, err)
		}
	})
}
