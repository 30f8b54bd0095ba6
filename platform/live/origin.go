package live

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"example.com/plenary/platform/fault"
)

// origins decides whose pages may open a connection. A browser sends its cookies along whatever page opens it, and
// no rule of the browser's keeps a foreign page from reading what comes: this check is the only one.
type origins struct {
	trusted map[string]bool
	secure  bool // the own origin is https even if the request came in plain
}

func newOrigins(trusted []string, secure bool) (origins, error) {
	o := origins{trusted: map[string]bool{}, secure: secure}
	for _, text := range trusted {
		origin, ok := parseOrigin(text)
		if !ok {
			return o, fmt.Errorf("live: %q is not an origin like https://app.example.com", text)
		}
		o.trusted[origin] = true
	}
	return o, nil
}

// check returns nil, or the Forbidden fault ("live.origin").
func (o origins) check(r *http.Request) error {
	sent := r.Header.Values("Origin")
	if len(sent) == 0 {
		if scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " "); strings.EqualFold(scheme, "Bearer") && strings.TrimSpace(token) != "" {
			return nil // a program; no page can send this header
		}
		return fault.New(fault.Forbidden, "live.origin", "without an Origin, a bearer token is needed")
	}
	origin, ok := parseOrigin(sent[0])
	if ok && len(sent) == 1 && (o.trusted[origin] || o.own(origin, r)) {
		return nil
	}
	return fault.New(fault.Forbidden, "live.origin", "pages of this origin may not connect here")
}

// own: https is right in any case, because where we see plain HTTP, a proxy may have ended TLS. The reverse is not: an
// http page of our name can have been written by anybody on the way.
func (o origins) own(origin string, r *http.Request) bool {
	if secure, ok := parseOrigin("https://" + r.Host); ok && origin == secure {
		return true
	}
	plain, ok := parseOrigin("http://" + r.Host)
	return ok && origin == plain && r.TLS == nil && !o.secure
}

// parseOrigin returns the one form of an origin: scheme, host in lower case, port unless it is the scheme's own.
func parseOrigin(text string) (string, bool) {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Hostname() == "" ||
		!strings.EqualFold(text, u.Scheme+"://"+u.Host) {
		return "", false
	}
	host, port := strings.ToLower(u.Host), u.Port()
	if port == "" || u.Scheme == "https" && port == "443" || u.Scheme == "http" && port == "80" {
		host = strings.TrimSuffix(strings.TrimSuffix(host, port), ":")
	}
	return u.Scheme + "://" + host, true
}
