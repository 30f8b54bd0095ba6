package httpx_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/httpx"
)

// behind returns an API that trusts some proxies, and notes what it sees.
func behind(t testing.TB, seen *located, proxies ...string) http.Handler {
	t.Helper()
	trusted, err := httpx.ParseProxies(proxies)
	if err != nil {
		t.Fatal(err)
	}
	s := newShop(t, func(c *httpx.Config) { c.TrustedProxies = trusted })
	s.API.Router().Get("/seen", func(w http.ResponseWriter, r *http.Request) {
		*seen = located{httpx.ClientAddress(r.Context()), httpx.ClientNetwork(r.Context()), r.TLS != nil}
	})
	return s
}

type located struct {
	addr    netip.Addr
	network netip.Prefix
	tls     bool
}

func TestClientAddress(t *testing.T) {
	t.Parallel()
	proxies := []string{"10.0.0.0/8", "192.0.2.7", "fd00::/8"}
	for _, c := range []struct {
		name, peer string
		forwarded  []string // one entry a line of the header
		addr       string   // "" is the zero address
	}{
		{"direct", "203.0.113.5:4711", nil, "203.0.113.5"},
		{"direct, IPv6", "[2001:db8::1]:4711", nil, "2001:db8::1"},
		{"IPv4 in IPv6", "[::ffff:203.0.113.5]:4711", nil, "203.0.113.5"},
		{"zone", "[fe80::1%eth0]:4711", nil, "fe80::1"},
		{"Unix socket", "@", []string{"203.0.113.5"}, ""},
		{"nothing", "", []string{"203.0.113.5"}, ""},
		{"spoofed", "203.0.113.5:1", []string{"198.51.100.1"}, "203.0.113.5"},
		{"spoofed as a proxy", "203.0.113.5:1", []string{"10.0.0.1"}, "203.0.113.5"},
		{"next to a proxy", "192.0.2.8:1", []string{"198.51.100.1"}, "192.0.2.8"},

		{"one proxy", "10.0.0.1:1", []string{"203.0.113.5"}, "203.0.113.5"},
		{"proxy alone", "10.0.0.1:1", nil, "10.0.0.1"},
		{"proxy in IPv6 form", "[::ffff:10.0.0.1]:1", []string{"203.0.113.5"}, "203.0.113.5"},
		{"IPv6 proxy", "[fd00::1]:1", []string{"2001:db8::1"}, "2001:db8::1"},
		{"two proxies", "10.0.0.1:1", []string{"203.0.113.5, 192.0.2.7"}, "203.0.113.5"},
		{"two lines", "10.0.0.1:1", []string{"203.0.113.5", "10.0.0.2"}, "203.0.113.5"},
		{"client lies to the proxy", "10.0.0.1:1", []string{"198.51.100.1, 203.0.113.5"}, "203.0.113.5"},
		{"client claims to be a proxy", "10.0.0.1:1", []string{"198.51.100.1, 10.0.0.9, 203.0.113.5"}, "203.0.113.5"},
		{"client lies on a line of its own", "10.0.0.1:1", []string{"198.51.100.1", "203.0.113.5"}, "203.0.113.5"},
		{"proxies only", "10.0.0.1:1", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		{"with a port", "10.0.0.1:1", []string{"203.0.113.5:4711"}, "203.0.113.5"},
		{"IPv6 with a port", "10.0.0.1:1", []string{"[2001:db8::1]:4711"}, "2001:db8::1"},
		{"IPv6 in brackets", "10.0.0.1:1", []string{"[2001:db8::1]"}, "2001:db8::1"},
		{"IPv6, another spelling", "10.0.0.1:1", []string{"2001:0DB8:0:0::1"}, "2001:db8::1"},
		{"IPv4 in IPv6, forwarded", "10.0.0.1:1", []string{"::ffff:203.0.113.5"}, "203.0.113.5"},
		{"blanks", "10.0.0.1:1", []string{" \t203.0.113.5\t "}, "203.0.113.5"},

		{"empty header", "10.0.0.1:1", []string{""}, "10.0.0.1"},
		{"empty entry", "10.0.0.1:1", []string{"203.0.113.5,"}, "10.0.0.1"},
		{"unknown", "10.0.0.1:1", []string{"unknown"}, "10.0.0.1"},
		{"words", "10.0.0.1:1", []string{"203.0.113.5, _hidden, 10.0.0.2"}, "10.0.0.2"},
		{"nonsense before the client", "10.0.0.1:1", []string{"'; DROP, 203.0.113.5"}, "203.0.113.5"},
		{"leading zeros", "10.0.0.1:1", []string{"203.0.113.005"}, "10.0.0.1"},
		{"a number", "10.0.0.1:1", []string{"3405803781"}, "10.0.0.1"},
		{"too many parts", "10.0.0.1:1", []string{"1.2.3.4.5"}, "10.0.0.1"},
		{"a network", "10.0.0.1:1", []string{"203.0.113.0/24"}, "10.0.0.1"},
		{"open bracket", "10.0.0.1:1", []string{"[2001:db8::1"}, "10.0.0.1"},
		{"NUL", "10.0.0.1:1", []string{"203.0.113.5\x00"}, "10.0.0.1"},
		{"a very long way", "10.0.0.1:1", []string{"203.0.113.5" + strings.Repeat(", 10.0.0.2", 1000)}, "10.0.0.2"},
	} {
		var got located
		h := behind(t, &got, proxies...)
		r := httptest.NewRequest("GET", "/seen", nil)
		r.RemoteAddr = c.peer
		r.Header["X-Forwarded-For"] = c.forwarded
		r.Header.Set("X-Real-IP", "198.51.100.99")
		r.Header.Set("True-Client-IP", "198.51.100.99")
		r.Header.Set("Forwarded", "for=198.51.100.99")
		h.ServeHTTP(httptest.NewRecorder(), r)
		if want, _ := netip.ParseAddr(c.addr); got.addr != want {
			t.Errorf("%s: %v, want %v", c.name, got.addr, want)
		}
	}
}

func TestNetworkThatLimitsGoBy(t *testing.T) {
	t.Parallel()
	for peer, want := range map[string]string{
		"203.0.113.5:1":             "203.0.113.5/32",
		"[2001:db8:1:2:3:4:5:6]:1":  "2001:db8:1:2::/64",
		"[2001:db8:1:2:ffff::]:9":   "2001:db8:1:2::/64",
		"[::ffff:203.0.113.5]:4711": "203.0.113.5/32",
		"[fe80::1%eth0]:1":          "fe80::/64",
		"@":                         "invalid Prefix",
	} {
		var got located
		r := httptest.NewRequest("GET", "/seen", nil)
		r.RemoteAddr = peer
		behind(t, &got).ServeHTTP(httptest.NewRecorder(), r)
		if got.network.String() != want {
			t.Errorf("%s: %v, want %s", peer, got.network, want)
		}
	}
}

// Whether the client's connection is encrypted decides about its cookies, and only a trusted proxy can say so.
func TestForwardedProtocol(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		peer  string
		proto []string
		tls   bool
	}{
		{"10.0.0.1:1", []string{"https"}, true},
		{"10.0.0.1:1", []string{"HTTPS"}, true},
		{"10.0.0.1:1", []string{"http", "https"}, true},
		{"10.0.0.1:1", []string{"http, https "}, true},
		{"10.0.0.1:1", []string{"https, http"}, false}, // the client wrote the first, the proxy the second
		{"10.0.0.1:1", []string{"http"}, false},
		{"10.0.0.1:1", []string{"httpsx"}, false},
		{"10.0.0.1:1", nil, false},
		{"203.0.113.5:1", []string{"https"}, false},
	} {
		var got located
		r := httptest.NewRequest("GET", "/seen", nil)
		r.RemoteAddr = c.peer
		r.Header["X-Forwarded-Proto"] = c.proto
		w := httptest.NewRecorder()
		behind(t, &got, "10.0.0.0/8").ServeHTTP(w, r)
		if got.tls != c.tls {
			t.Errorf("%s %q: TLS %v", c.peer, c.proto, got.tls)
		}
		if hsts := w.Header().Get("Strict-Transport-Security"); (hsts != "") != c.tls {
			t.Errorf("%s %q: Strict-Transport-Security %q", c.peer, c.proto, hsts)
		}
	}
}

func TestProxiesAreNamedExactly(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "proxy", "10.0.0.0/33", "10.0.0.1/8", "0.0.0.0/0", "::/0", "10.0.0.0-10.0.0.9"} {
		if _, err := httpx.ParseProxies([]string{text}); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q: %v", text, err)
		}
	}
	got, err := httpx.ParseProxies([]string{"10.0.0.0/8", " ::1 ", "::ffff:192.0.2.7"})
	if err != nil || len(got) != 3 || got[1].String() != "::1/128" || got[2].String() != "192.0.2.7/32" {
		t.Errorf("%v, %v", got, err)
	}
}
