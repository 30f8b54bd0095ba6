package httpx_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"example.com/plenary/platform/httpx"
)

const (
	someID = "019076a1-5e0c-7c3e-8d4f-6a7b8c9d0e1f"
	secret = "hunter2"
)

var asAlice = []string{"Authorization", "Bearer alice"}

func TestBodies(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	good := `{"name":"a","quantity":1}`
	big := `{"name":"` + strings.Repeat("a", httpx.MaxBody) + `","quantity":1}`
	fits := `{"name":"` + strings.Repeat("a", httpx.MaxBody-len(`{"name":"","quantity":1}`)) + `","quantity":1}`
	cases := []struct {
		name, body string
		header     []string
		status     int
		complaint  string
	}{
		{"good", good, nil, 201, ""},
		{"charset", good, []string{"Content-Type", "application/json; charset=UTF-8"}, 201, ""},
		{"identity", good, []string{"Content-Encoding", "identity"}, 201, ""},
		{"exactly 1 MiB", fits, nil, 201, ""},
		{"empty", "", nil, 400, "- required"},
		{"blank", " ", nil, 400, "- syntax"},
		{"no type", good, []string{"Content-Type", ""}, 415, "unsupported_media_type"},
		{"form", good, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "unsupported_media_type"},
		{"text", good, []string{"Content-Type", "text/plain"}, 415, "unsupported_media_type"},
		{"like json", good, []string{"Content-Type", "application/jsonx"}, 415, "unsupported_media_type"},
		{"malformed type", good, []string{"Content-Type", "application/json;;"}, 415, "unsupported_media_type"},
		{"latin", good, []string{"Content-Type", "application/json; charset=latin1"}, 415, "unsupported_media_type"},
		{"gzip", "\x1f\x8b", []string{"Content-Encoding", "gzip"}, 415, "unsupported_encoding"},
		{"type before size", big, []string{"Content-Type", "text/plain"}, 415, "unsupported_media_type"},
		{"too large", big, nil, 413, "body_too_large"},
		{"two values", good + good, nil, 400, "- syntax"},
		{"trailing", good + "x", nil, 400, "- syntax"},
		{"duplicate", `{"quantity":1,"quantity":9,"name":"a"}`, nil, 400, "quantity duplicate_field"},
		{"another case", `{"quantity":1,"QUANTITY":9,"name":"a"}`, nil, 400, "- unknown_field"},
		{"unknown", `{"name":"a","quantity":1,"hunter2":true}`, nil, 400, "- unknown_field"},
		{"null", `null`, nil, 400, "- null"},
		{"array", `[]`, nil, 400, "- wrong_type"},
		{"member null", `{"name":null,"quantity":1}`, nil, 400, "name null"},
		{"member missing", `{"name":"a"}`, nil, 400, "quantity required"},
		{"fraction", `{"name":"a","quantity":1.0}`, nil, 400, "quantity wrong_type"},
		{"huge", `{"name":"a","quantity":1e400}`, nil, 400, "quantity wrong_type"},
		{"nul", `{"name":"hunter2\u0000","quantity":1}`, nil, 400, "name invalid_text"},
		{"surrogate", `{"name":"\ud800","quantity":1}`, nil, 400, "name invalid_text"},
		{"deep", strings.Repeat("[", 10_000), nil, 400, "- too_deep"},
	}
	for _, c := range cases {
		w := s.ask("POST", "/api/v1/items", c.body, append(c.header, asAlice...)...)
		check(t, c.name, w, c.status, c.complaint)
	}
}

func check(t *testing.T, name string, w *httptest.ResponseRecorder, status int, complaint string) {
	t.Helper()
	if w.Code != status {
		t.Errorf("%s: status %d, want %d: %.200s", name, w.Code, status, w.Body)
		return
	}
	if strings.Contains(w.Body.String(), secret) {
		t.Errorf("%s: the answer repeats what was sent: %s", name, w.Body)
	}
	if complaint != "" {
		if got := firstField(problem(t, w)); got != complaint {
			t.Errorf("%s: complaint %q, want %q", name, got, complaint)
		}
	}
}

// A length that is not announced must not get round the limit, nor a body past the types.
func TestBodyWithoutContentLength(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	server := httptest.NewServer(s)
	defer server.Close()
	for body, want := range map[string]int{
		`{"name":"a","quantity":1}`:                                   201,
		`{"name":"` + strings.Repeat("a", 11<<20) + `","quantity":1}`: 413,
		``: 400,
	} {
		r, _ := http.NewRequest("POST", server.URL+"/api/v1/items", struct{ *strings.Reader }{strings.NewReader(body)})
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer alice")
		r.ContentLength = -1
		answer, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode != want {
			t.Errorf("%d bytes: %d, want %d", len(body), answer.StatusCode, want)
		}
		_ = answer.Body.Close()
	}
}

// What is announced as too large is refused unread.
func TestAnnouncedLengthIsEnough(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	r := httptest.NewRequest("POST", "/api/v1/items", iotest.ErrReader(errors.New("it was read")))
	r.ContentLength = httpx.MaxBody + 1
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer alice")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	check(t, "announced", w, 413, "body_too_large")

	r.ContentLength = 10
	w = httptest.NewRecorder()
	s.ServeHTTP(w, r)
	check(t, "broken off", w, 400, "- syntax")
}

func TestRouteWithoutBody(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for body, want := range map[string]int{"": 200, "{}": 200, `{"x":1}`: 400, "null": 400, "[]": 400} {
		if w := s.ask("POST", "/api/v1/items/a/cancellation", body); w.Code != want {
			t.Errorf("%q: %d, want %d", body, w.Code, want)
		}
	}
	if w := s.ask("GET", "/api/v1/items/"+someID, "not even JSON", "Content-Type", "text/plain"); w.Code != 200 {
		t.Errorf("GET looked at its body: %d", w.Code)
	}
}

func TestOptionalBody(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for body, want := range map[string]int{"": 204, `{"name":"a","quantity":1}`: 204, `{}`: 400} {
		if w := s.ask("PUT", "/api/v1/items/"+someID, body, append(asAlice, "If-Match", `"3"`)...); w.Code != want {
			t.Errorf("%q: %d, want %d: %s", body, w.Code, want, w.Body)
		}
	}
}

func TestIDs(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for id, want := range map[string]int{
		someID: 200, strings.ToUpper(someID): 200, "00000000-0000-0000-0000-000000000000": 200,
		"27": 400, "undefined": 400, "%7B" + someID + "%7D": 400, strings.ReplaceAll(someID, "-", ""): 400,
		"urn:uuid:" + someID: 400, someID[1:]: 400, someID + "0": 400, "%00": 400, "%ff": 400, "%2e%2e%2f": 400,
		"hunter2": 400, someID[:35] + "%2f": 400, someID[:35] + "%00": 400, "'--": 400, "": 404, "a/b": 404,
	} {
		w := s.ask("GET", "/api/v1/items/"+id, "")
		complaint := ""
		switch want {
		case 200:
			if !strings.Contains(w.Body.String(), strings.ToLower(id)) {
				t.Errorf("%s is not canonical in %s", id, w.Body)
			}
		case 400:
			if p := problem(t, w); p.Code != "invalid_id" && p.Code != "invalid_input" || p.Errors[0].Field != "id" {
				t.Errorf("%s: %+v", id, p)
			}
		}
		check(t, id, w, want, complaint)
	}
}

func TestQueries(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	cases := []struct {
		query, complaint string // "": accepted
	}{
		{"", ""},
		{"limit=1&status=open&from=2026-01-31T09:30:00Z&flag=false&small=-128&q=100%25_", ""},
		{"status=&limit=&cursor=&from=&owner=", ""},
		{"limit=200", ""},
		{"owner=" + someID, ""},
		{"limit=-1", "limit out_of_range"},
		{"limit=0", "limit out_of_range"},
		{"limit=201", "limit out_of_range"},
		{"limit=1e9", "limit wrong_type"},
		{"limit=1.0", "limit wrong_type"},
		{"limit=%2b5", "limit wrong_type"},
		{"limit=0x10", "limit wrong_type"},
		{"limit=1_0", "limit wrong_type"},
		{"limit=--5", "limit wrong_type"},
		{"limit=-", "limit wrong_type"},
		{"limit=hunter2", "limit wrong_type"},
		{"limit=99999999999999999999", "limit out_of_range"},
		{"small=128", "small out_of_range"},
		{"limit=1&limit=2", "limit duplicate"},
		{"status=hunter2", "status unknown_value"},
		{"status=Open", "status unknown_value"},
		{"Status=open", "- unknown_parameter"},
		{"hunter2=1", "- unknown_parameter"},
		{"sort=;drop", "- invalid_query"},
		{"q=%zz", "- invalid_query"},
		{"q=%00", "- invalid_text"},
		{"q=%ff", "- invalid_text"},
		{"q=hunter2%ed%a0%80", "- invalid_text"},
		{"%00=1", "- invalid_text"},
		{"q=aaaaaa", "q too_long"},
		{"q=äöüß€", ""},
		{"flag=yes", "flag wrong_type"},
		{"flag=1", "flag wrong_type"},
		{"from=2026-13-40", "from invalid_value"},
		{"from=2026-01-01", "from invalid_value"},
		{"from=10000-01-01T00:00:00Z", "from invalid_value"},
		{"from=0000-01-01T00:00:00Z", "from invalid_value"},
		{"from=infinity", "from invalid_value"},
		{"owner={" + someID + "}", "owner invalid_id"},
	}
	for _, c := range cases {
		status := http.StatusOK
		if c.complaint != "" {
			status = http.StatusBadRequest
		}
		check(t, c.query, s.ask("GET", "/api/v1/items?"+c.query, ""), status, c.complaint)
	}
	if p := problem(t, s.ask("GET", "/api/v1/items?limit=0&flag=1&owner=7", "")); len(p.Errors) != 3 {
		t.Errorf("not all complaints at once: %+v", p.Errors)
	}
}

func TestHeadersAndCookies(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	check(t, "long", s.ask("GET", "/api/v1/items", "", "X-Trace", "12345678901"), 400, "X-Trace too_long")
	check(t, "text", s.ask("GET", "/api/v1/items", "", "X-Trace", "\xff"), 400, "X-Trace invalid_text")
	check(t, "twice", s.ask("GET", "/api/v1/items", "", "X-Trace", "a", "X-Trace", "b"), 400, "X-Trace duplicate")
	if w := s.ask("GET", "/api/v1/items", "", "Cookie", "room=\xff"); w.Code != 200 || !strings.Contains(w.Body.String(), `"Room":""`) {
		t.Errorf("a cookie that is none: %d %s", w.Code, w.Body)
	}

	w := s.ask("GET", "/api/v1/items?limit=7", "", "X-Trace", "t", "Cookie", "room=r")
	if got := w.Body.String(); !strings.Contains(got, `"Trace":"t"`) || !strings.Contains(got, `"Room":"r"`) {
		t.Errorf("not bound: %s", got)
	}
	if got := s.ask("GET", "/api/v1/items", "").Body.String(); !strings.Contains(got, `"Limit":50`) {
		t.Errorf("no default: %s", got)
	}
}

// A parameter arrives as it was meant, however it was escaped.
func TestPathParameterIsUnescapedOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for sent, want := range map[string]string{"a%20b": "a b", "a%2Fb": "a/b", "100%25": "100%", "a%2Fb%2525": "a/b%25", "%C3%A4": "ä"} {
		w := s.ask("POST", "/api/v1/items/"+sent+"/cancellation", "")
		if !strings.Contains(w.Body.String(), strconv.Quote(want)) {
			t.Errorf("%s: %s", sent, w.Body)
		}
	}
}

func TestIfMatch(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for tag, want := range map[string]int{
		"": 428, `"3"`: 204, "*": 204, `"2"`: 412, `W/"3"`: 412, `"abc"`: 412, `"03"`: 412, `"+3"`: 412, `""`: 412,
		"3": 400, `"3`: 400, `"3", "2"`: 400, `hunter2`: 400, `W/`: 400,
	} {
		header := asAlice
		if tag != "" {
			header = append(header[:2:2], "If-Match", tag)
		}
		check(t, tag, s.ask("PUT", "/api/v1/items/"+someID, "", header...), want, "")
	}
}
