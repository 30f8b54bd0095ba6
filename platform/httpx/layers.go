package httpx

import (
	"context"
	"maps"
	"net/http"
	"regexp"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/propagation"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/identity"
)

type layer struct {
	name   string
	routed bool // only for what somebody serves: an unknown path looks up no session
	wrap   func(http.Handler) http.Handler
}

// layers is what a request passes, outermost first.
func (a *API) layers() []layer {
	return []layer{
		{"location", false, a.locate},                  // first: cookies, headers and limits go by it
		{"correlation", false, correlate},              // every later line and answer bears the id
		{"trace", false, continueTrace},                // so that its lines bear it too
		{"security headers", false, a.securityHeaders}, // before anything can answer
		{"access log", false, a.record},                // sees what recovery answers
		{"recovery", false, recoverPanic},              // whatever breaks further in is a 500
		{"cross-origin", true, a.refuseForeignOrigins}, // before the cookie is worth anything
		{"authentication", true, a.authenticate},       // who asks
		{"limit", true, a.limit},                       // by who asks
		{timeoutLayer, true, a.timeout},                // innermost: only our own work is on the clock
	}
}

const timeoutLayer = "timeout"

func (a *API) routedLayers(longLived bool) []func(http.Handler) http.Handler {
	var wraps []func(http.Handler) http.Handler
	for _, l := range a.layers() {
		if l.routed && (l.name != timeoutLayer || !longLived) {
			wraps = append(wraps, l.wrap)
		}
	}
	return wraps
}

const correlationHeader = "X-Correlation-Id"

var validCorrelationID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

func correlate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(correlationHeader)
		if !validCorrelationID.MatchString(id) {
			id = uuid.Must(uuid.NewV7()).String()
		}
		w.Header().Set(correlationHeader, id)
		next.ServeHTTP(w, r.WithContext(identity.WithCorrelationID(r.Context(), id)))
	})
}

// continueTrace makes the caller's W3C trace ours. It starts no span: who wants spans wraps the API.
func continueTrace(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("traceparent") != "" {
			r = r.WithContext(propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header)))
		}
		next.ServeHTTP(w, r)
	})
}

// DefaultContentPolicy lets a page load from its own origin only, without any inline script or style.
const DefaultContentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"font-src 'self'; connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// SecurityHeaders gives the answers of a handler that is not served through the API the headers that the API's
// own have.
func (a *API) SecurityHeaders(next http.Handler) http.Handler {
	return a.locate(a.securityHeaders(next))
}

func (a *API) securityHeaders(next http.Handler) http.Handler {
	same := http.Header{ // copied into each answer, which is several times as fast as setting them
		"X-Content-Type-Options":     {"nosniff"},
		"X-Frame-Options":            {"DENY"},
		"Referrer-Policy":            {"same-origin"},
		"Permissions-Policy":         {"camera=(), geolocation=(), microphone=(), payment=(), usb=()"},
		"Cross-Origin-Opener-Policy": {"same-origin"},
		"Content-Security-Policy":    {a.config.ContentPolicy},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		maps.Copy(h, same)
		if r.TLS != nil || a.config.SecureCookies {
			h.Set("Strict-Transport-Security", "max-age=31536000") // of this host alone: its siblings are not ours
		}
		next.ServeHTTP(w, r)
	})
}

// refuseForeignOrigins keeps other sites from using a visitor's cookie. A request with a bearer token is let
// through: no site can make a browser send one, and where there is one the cookie counts for nothing.
func (a *API) refuseForeignOrigins(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, bearer := bearerToken(r); !bearer {
			if err := a.crossing.Check(r); err != nil {
				WriteProblem(w, r, fault.Wrap(err, fault.Forbidden, "cross_origin", "another site may not change anything here"))
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

func (a *API) limit(next http.Handler) http.Handler {
	if a.config.Limit == nil {
		return next
	}
	return a.config.Limit(next)
}

// timeout sets a deadline. It interrupts nobody by force: what respects its context ends in time.
func (a *API) timeout(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), a.config.Timeout)
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}
