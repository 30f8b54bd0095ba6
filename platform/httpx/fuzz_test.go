package httpx_test

import (
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/httpx"
)

// Whatever stands in the address, the answer is 200, 400 or 404, and repeats nothing of it where it refuses.
func FuzzAddress(f *testing.F) {
	s := newShop(f)
	for _, seed := range [][2]string{
		{someID, "limit=5&status=open"}, {"%00", "q=%ff"}, {"27", "limit=1e9"}, {"%2e%2e%2f", "sort=;drop"}, {"a%2Fb", "from=2026-13-40"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, id, query string) {
		for _, target := range []string{"/api/v1/items/" + secret + id, "/api/v1/items/" + id, "/api/v1/items?q=" + secret + query, "/api/v1/items?" + query} {
			u, err := url.Parse(target)
			if err != nil {
				continue
			}
			w := httptest.NewRecorder()
			s.ServeHTTP(w, &http.Request{Method: "GET", URL: u, Header: http.Header{}, Body: http.NoBody})
			if w.Code != 200 && w.Code != 400 && w.Code != 404 {
				t.Fatalf("%q: %d %s", target, w.Code, w.Body)
			}
			if w.Code == 400 && strings.Contains(w.Body.String(), secret) {
				t.Fatalf("%q is repeated in %s", target, w.Body)
			}
		}
	})
}

// A cursor that did not come from us is refused; one that is accepted says the same when it is given out again.
func FuzzCursor(f *testing.F) {
	type key struct {
		On string `json:"on"`
		N  int    `json:"n"`
	}
	given, err := httpx.NewPage(httpx.Paging{Limit: 1}, []int{1, 2}, func(n int) key { return key{"2026-01-31", n} })
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{*given.NextCursor, "", "e30", "bnVsbA", *given.NextCursor + "=", "%00", strings.Repeat("W", 1000)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, sent string) {
		at, err := httpx.After[key](httpx.Paging{Limit: 1, Cursor: sent})
		switch {
		case err != nil:
			if !fault.Is(err, "invalid_cursor") || strings.Contains(err.Error(), secret) {
				t.Errorf("%q: %v", sent, err)
			}
		case at == nil:
			if sent != "" {
				t.Errorf("%q is the beginning", sent)
			}
		default:
			page, err := httpx.NewPage(httpx.Paging{Limit: 1}, []key{*at, {}}, func(k key) key { return k })
			if err != nil {
				t.Fatalf("%q is accepted and cannot be given out: %v", sent, err)
			}
			if again, err := httpx.After[key](httpx.Paging{Limit: 1, Cursor: *page.NextCursor}); err != nil || *again != *at {
				t.Errorf("%q means %+v, and then %+v, %v", sent, *at, again, err)
			}
		}
	})
}

// Whatever stands in If-Match, it is malformed, or it matches at most one version, and only by its own tag.
func FuzzIfMatch(f *testing.F) {
	for _, seed := range []string{`"3"`, "*", `W/"3"`, `"03"`, `"-1"`, `"9223372036854775808"`, `""`, `"`, `"3", "4"`, "3"} {
		f.Add(seed, int64(3))
	}
	f.Fuzz(func(t *testing.T, sent string, version int64) {
		version &= math.MaxInt64 // none is negative
		var m httpx.IfMatch
		if err := m.UnmarshalText([]byte(sent)); err != nil {
			if !fault.Is(err, "invalid_etag") || len(sent) > 3 && strings.Contains(err.Error(), sent) {
				t.Errorf("%q: %v", sent, err)
			}
			return
		}
		if matches := m.Check(version) == nil; sent != "*" && matches != (sent == httpx.ETag(version)) {
			t.Errorf("%q matches version %d: %v", sent, version, matches)
		}
	})
}

// Whatever an untrusted client writes, it is where its connection comes from; behind a trusted proxy, the address is
// one that the header names or the proxy's, in its one form.
func FuzzForwarded(f *testing.F) {
	for _, seed := range []string{"203.0.113.5", "203.0.113.5, 10.0.0.2", "[2001:db8::1]:1", "::ffff:1.2.3.4", "fe80::1%eth0", "unknown", ",", "\xff"} {
		f.Add(seed, seed)
	}
	var got located
	h := behind(f, &got, "10.0.0.0/8")
	f.Fuzz(func(t *testing.T, one, two string) {
		for peer, trusted := range map[string]bool{"10.0.0.1:1": true, "192.0.2.1:1": false} {
			r := httptest.NewRequest("GET", "/seen", nil)
			r.RemoteAddr = peer
			r.Header["X-Forwarded-For"] = []string{one, two}
			h.ServeHTTP(httptest.NewRecorder(), r)
			if !got.addr.IsValid() || got.addr.Is4In6() || got.addr.Zone() != "" || !got.network.Contains(got.addr) {
				t.Errorf("%q %q from %s: %v in %v", one, two, peer, got.addr, got.network)
			}
			if !trusted && got.addr.String() != "192.0.2.1" {
				t.Errorf("%q %q moved an untrusted client to %v", one, two, got.addr)
			}
		}
	})
}

// No header makes more of its sender than nobody, breaks the answer, or comes back.
func FuzzHeaders(f *testing.F) {
	s := newShop(f)
	f.Add("order-42", "Bearer x", "plenary_session=x; room=1", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	f.Add("a\x00b", "bearer\t\xff", "=;=", "00-")
	f.Fuzz(func(t *testing.T, correlation, authorization, cookie, trace string) {
		r := httptest.NewRequest("GET", "/api/v1/items/"+someID, nil)
		for name, value := range map[string]string{
			"X-Correlation-Id": correlation, "Authorization": authorization, "Cookie": cookie, "Traceparent": trace,
		} {
			r.Header[name] = []string{value}
		}
		for _, known := range []string{"alice", "viewer", "voter", "away", "boom"} {
			if strings.Contains(authorization+cookie, known) {
				return
			}
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != 200 && w.Code != 401 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		if id := w.Header().Get("X-Correlation-Id"); id == "" || len(id) > 64 || strings.ContainsAny(id, " \r\n<>;") {
			t.Errorf("correlation id %q", id)
		}
		if w.Code == 200 && !strings.Contains(w.Body.String(), `"`+someID+` "`) {
			t.Errorf("it is somebody: %s", w.Body)
		}
	})
}
