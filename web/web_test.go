package web

import (
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"example.com/plenary/modules/sales"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/later/lease"
)

// newSite returns a site without anything behind it.
func newSite(t *testing.T) *Site {
	t.Helper()
	s, err := New(Deps{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestNobodyIsSentElsewhere(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"/":                         "/",
		"/orders?status=paid#top":   "/orders?status=paid#top",
		"/login?next=//evil":        "/login?next=//evil",
		"":                          "/",
		"orders":                    "/",
		"//evil.example":            "/",
		"/\\evil.example":           "/",
		"\\\\evil.example":          "/",
		"https://evil.example/":     "/",
		"http:/orders":              "/",
		"javascript:alert(1)":       "/",
		"/\tevil":                   "/",
		"/orders\r\nSet-Cookie: a":  "/",
		"///evil.example":           "/",
		"/%2f/evil":                 "/%2f/evil", // a path of ours, if a strange one
		" /orders":                  "/",
		"https:evil.example":        "/",
		"/orders/../../../evil.com": "/orders/../../../evil.com",
	} {
		if got := localPath(address); got != want {
			t.Errorf("localPath(%q) = %q, want %q", address, got, want)
		}
	}
}

func TestAFormGoesBackToItsPage(t *testing.T) {
	t.Parallel()
	for referer, want := range map[string]string{
		"":                                 "/",
		"http://plenary.test/orders?a=b":   "/orders?a=b",
		"https://plenary.test/orders":      "/orders", // TLS may end in front of us
		"http://evil.example/orders":       "/",
		"http://plenary.test.evil/orders":  "/",
		"http://plenary.test//evil.test/x": "/",
		"%":                                "/",
	} {
		r := httptest.NewRequest(http.MethodPost, "http://plenary.test/logout", nil)
		r.Header.Set("Referer", referer)
		if got := backOf(r); got != want {
			t.Errorf("back from %q to %q, want %q", referer, got, want)
		}
	}
}

func TestAddressesInAMailAreLinks(t *testing.T) {
	t.Parallel()
	got := linked("See http://a.test/x?y=1, or (https://b.test/). javascript:alert(1) <http://c.test/>")
	want := []textPart{
		{"See ", false},
		{"http://a.test/x?y=1", true},
		{", or (", false},
		{"https://b.test/", true},
		{"). javascript:alert(1) <", false},
		{"http://c.test/", true},
		{">", false},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestBasket(t *testing.T) {
	t.Parallel()
	low, high := uuid.MustParse("01936d10-0000-7000-8000-000000000101"), uuid.MustParse("01936d10-0000-7000-8000-000000000102")
	b := readBasket(url.Values{
		"quantity." + low.String():                      {"2", "9"},
		"quantity." + high.String():                     {"much"},
		"quantity.01936d10-0000-7000-8000-000000000103": {"0"},
		"quantity.01936d10-0000-7000-8000-000000000104": {""},
		"quantity.ticket":                               {"1"},
		"quantity.{" + "x" + "}":                        {"1"},
		"paymentMethod":                                 {"tok_visa"},
	})
	want := basket{{ProductID: high, Quantity: -1}, {ProductID: low, Quantity: 2}}
	if diff := cmp.Diff(want, b); diff != "" {
		t.Error(diff)
	}
	values, err := url.ParseQuery(b.query())
	if err != nil || len(values) != 2 || values.Get("quantity."+low.String()) != "2" {
		t.Errorf("query %q", b.query())
	}
}

// Whatever a state is called in the database, people get a word for it.
func TestEveryStateHasAWord(t *testing.T) {
	t.Parallel()
	for _, status := range []sales.Status{
		sales.PendingPayment, sales.PaymentInitiated, sales.PaymentFailed, sales.Paid, sales.Cancelled, sales.Expired,
	} {
		o := sales.Order{Status: status}
		if b := statusBadge(status); b.Word == string(status) || says(o) == "" || len(stepsOf(o)) < 2 {
			t.Errorf("%s: %v, %q", status, b, says(o))
		}
	}
	for _, state := range workStates {
		if b := stateBadge(state); b.Word == string(state) {
			t.Errorf("%s: %v", state, b)
		}
	}
	if len(workStates) != 6 || stateBadge(lease.State("new")).Tone != "calm" {
		t.Error("a state that is not known is shown as it is")
	}
	for _, outcome := range []string{"succeeded", "failed", "dead_lettered", "crashed", "released"} {
		if b := outcomeBadge(outcome); b.Word == outcome {
			t.Errorf("%s: %v", outcome, b)
		}
	}
}

func TestStaticFiles(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	api := httpx.NewAPI(httpx.Config{})
	s.Mount(api)
	fetch := func(address string) *http.Response {
		w := httptest.NewRecorder()
		api.ServeHTTP(w, httptest.NewRequest(http.MethodGet, address, nil))
		return w.Result()
	}
	for name := range s.static.files {
		address, err := s.static.url(name)
		if err != nil {
			t.Fatal(err)
		}
		for version, want := range map[string]string{s.static.version: "public, max-age=31536000, immutable", "0123456789ab": "no-cache"} {
			got := fetch(strings.Replace(address, s.static.version, version, 1))
			body, _ := io.ReadAll(got.Body)
			if got.StatusCode != http.StatusOK || got.Header.Get("Cache-Control") != want || len(body) == 0 ||
				got.Header.Get("Content-Type") == "" || got.Header.Get("Set-Cookie") != "" {
				t.Errorf("%s under %s: %d %v", name, version, got.StatusCode, got.Header)
			}
		}
	}
	for _, address := range []string{"/static/", "/static/x", "/static/x/", "/static/x/none.css", "/static/x/..%2fsite.go", "/static/x/y/z.css"} {
		if got := fetch(address); got.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", address, got.StatusCode)
		}
	}
	if _, err := s.static.url("none.css"); err == nil {
		t.Error("a template can name a file that is not there")
	}
}

// Another version of any file is another address of all.
func TestVersionIsOfTheContent(t *testing.T) {
	t.Parallel()
	a, b := newSite(t).static, newSite(t).static
	if a.version != b.version || len(a.version) != 12 {
		t.Errorf("%q, %q", a.version, b.version)
	}
}

func TestProblemsBecomePages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	refuse := func(err error) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { httpx.WriteProblem(w, r, err) })
	}
	away := &fault.Error{Kind: fault.Unavailable, Code: "database_unavailable", Message: "the database does not answer", RetryAfter: 3e9}
	for _, c := range []struct {
		name, method, path, accept string
		err                        error
		status                     int
		page                       bool
		says                       []string
	}{
		{"not found", "GET", "/nothing", "text/html", fault.New(fault.NotFound, "not_found", "there is nothing at this address"), 404, true, []string{"Nothing is here"}},
		{"forbidden", "GET", "/ops?a=b&c=d", "text/html,*/*;q=0.8", fault.New(fault.Forbidden, "permission_denied", "this needs the permission ops:read"), 403, true, []string{"This needs the permission ops:read.", "/login?next=%2fops%3fa%3db%26c%3dd"}},
		{"away", "GET", "/shop", "text/html", away, 503, true, []string{"Back in a moment", `data-retry="3"`, "retry.js"}},
		{"away for a form", "POST", "/checkout", "text/html", away, 503, true, []string{"Back in a moment", `data-retry="0"`}},
		{"ours", "GET", "/shop", "text/html", io.ErrUnexpectedEOF, 500, true, []string{"Our mistake"}},
		{"too much", "GET", "/shop", "text/html", &fault.Error{Kind: fault.RateLimited, Code: "rate_limited", Message: "slow down"}, 429, true, []string{"Too much at once"}},
		{"a field", "GET", "/orders", "text/html", fault.New(fault.Invalid, "invalid_cursor", "the cursor is not valid"), 400, true, []string{"The cursor is not valid."}},
		{"a program", "GET", "/shop", "*/*", away, 503, false, nil},
		{"a program at the API", "GET", "/api/v1/sales/orders", "application/json", away, 503, false, nil},
		{"a browser at the API", "GET", "/api/v1/sales/orders", "text/html", away, 503, false, nil},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(c.method, c.path, nil)
		r.Header.Set("Accept", c.accept)
		s.Wrap(refuse(c.err)).ServeHTTP(w, r)
		kind := "application/problem+json"
		if c.page {
			kind = "text/html; charset=utf-8"
		}
		body := w.Body.String()
		if w.Code != c.status || w.Header().Get("Content-Type") != kind || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v", c.name, w.Code, w.Header())
		}
		for _, want := range c.says {
			if !strings.Contains(body, want) {
				t.Errorf("%s does not say %q:\n%s", c.name, want, body)
			}
		}
		if strings.Contains(body, "EOF") {
			t.Errorf("%s tells the inside:\n%s", c.name, body)
		}
	}
}

// What is no problem passes untouched, and an answer that breaks off stays broken off.
func TestOtherAnswersPass(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	serve := func(h http.HandlerFunc) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/x", nil)
		r.Header.Set("Accept", "text/html")
		s.Wrap(h).ServeHTTP(w, r)
		return w
	}
	if w := serve(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "as it is") }); w.Code != 200 || w.Body.String() != "as it is" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := serve(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		_ = http.NewResponseController(w).Flush()
	}); w.Code != http.StatusTeapot || !w.Flushed {
		t.Errorf("%d", w.Code)
	}
	defer func() {
		if recover() == nil {
			t.Error("http.ErrAbortHandler was swallowed")
		}
	}()
	serve(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
}

// The content policy forbids all of this; a template with it would be broken for everybody.
var forbiddenInPages = regexp.MustCompile(`(?i)<style|\sstyle\s*=|\son[a-z]+\s*=|<script(?:\s+type="module")?>|javascript:|https?://|src="//|<iframe|<base`)

func TestTemplatesKeepTheContentPolicy(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d templates, %v", len(files), err)
	}
	for _, file := range files {
		text, err := fs.ReadFile(templateFiles, file)
		if err != nil {
			t.Fatal(err)
		}
		if found := forbiddenInPages.Find(text); found != nil {
			t.Errorf("%s has %q", file, found)
		}
	}
	for name, data := range newSite(t).static.files {
		text := strings.ReplaceAll(string(data), `xmlns="http://www.w3.org/2000/svg"`, "")
		if found := regexp.MustCompile(`https?://|@import|\.style\.|innerHTML|insertAdjacentHTML|\beval\(`).FindString(text); found != "" {
			t.Errorf("%s has %q", name, found)
		}
	}
}
