package httpx_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
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
