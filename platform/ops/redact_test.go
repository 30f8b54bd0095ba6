package ops_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"example.com/plenary/platform/ops"
)

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal([]byte(a), &x); err != nil {
		t.Fatalf("%v in %s", err, a)
	}
	if err := json.Unmarshal([]byte(b), &y); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	return reflect.DeepEqual(x, y)
}

func TestRedact(t *testing.T) {
	t.Parallel()
	const id = "019076a1-5e0c-7c3e-8d4f-6a7b8c9d0e1f"
	for payload, want := range map[string]string{
		`{"orderId":"` + id + `","cents":12900,"paid":true,"note":null}`: `{"orderId":"` + id + `","cents":12900,"paid":true,"note":null}`,
		`{"email":"a@b.example","tags":["x",1,{"y":"z"}]}`:               `{"email":"[redacted]","tags":["[redacted]",1,{"y":"[redacted]"}]}`,
		`{"amount":1e400}`:      `{"amount":1e400}`,
		`"text"`:                `"[redacted]"`,
		`""`:                    `"[redacted]"`,
		`[]`:                    `[]`,
		`{}`:                    `{}`,
		`not JSON`:              `"[redacted]"`,
		``:                      `"[redacted]"`,
		`{"` + id + `":"x"}`:    `{"` + id + `":"[redacted]"}`,
		`{"a@b.example":1}`:     `{"[redacted] 1":1}`,
		`{"a b":"x","c d":"y"}`: `{"[redacted] 1":"[redacted]","[redacted] 2":"[redacted]"}`,
		// Forms of a UUID that may as well be a token.
		`"019076a15e0c7c3e8d4f6a7b8c9d0e1f"`: `"[redacted]"`,
		`"{` + id + `}"`:                     `"[redacted]"`,
		`"urn:uuid:` + id + `"`:              `"[redacted]"`,
	} {
		got := string(ops.Redact([]byte(payload)))
		if got != want && (payload == `{"amount":1e400}` || !sameJSON(t, got, want)) {
			t.Errorf("%s: %s, want %s", payload, got, want)
		}
	}
}
