package httpx

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"

	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/strictjson"
)

// Authenticator knows whose token it is.
type Authenticator interface {
	// Authenticate returns the owner of a token: an Unauthenticated fault if it is unknown or has ended, another
	// error if that cannot be found out now.
	Authenticate(ctx context.Context, token string) (identity.Principal, error)
}

// Config is what an API is made of. The zero value works, with nobody signed in.
type Config struct {
	Title   string // of the document
	Version string
	Prefix  string // of every route; "/api/v1" if empty

	Authenticator Authenticator         // nil: every token is unknown
	Permissions   *identity.Permissions // needed as soon as a route names one

	Timeout        time.Duration  // for a request; 30 s if zero
	TrustedOrigins []string       // other origins that may change state by cookie, as "https://app.example.com"
	TrustedProxies []netip.Prefix // whose X-Forwarded-For and X-Forwarded-Proto are believed; see ParseProxies
	SecureCookies  bool           // TLS ends before us: cookies are Secure even on a plain connection
	ContentPolicy  string         // Content-Security-Policy; DefaultContentPolicy if empty

	// Log gets one line a request; slog.Default() if nil. The correlation id, the trace and the user are in the
	// context of the line: a logger of package telemetry writes them.
	Log *slog.Logger
	// Observe is told of every request that was answered; route is the pattern, or "unmatched". It must be fast
	// and safe for concurrent use.
	Observe func(method, route string, status int, d time.Duration)
	// Limit refuses requests, once it is known who asks, by answering them itself. nil: none is refused.
	Limit func(http.Handler) http.Handler
	// NotFound answers paths outside the API that nobody serves; nil: a problem document as everywhere.
	NotFound http.Handler
}

// API is a set of routes with its document. Routes are added while the program is wired; from then on it only
// serves, to any number of goroutines.
type API struct {
	config   Config
	root     chi.Router // layers for everything
	routed   chi.Router // and those for what somebody serves
	crossing *http.CrossOriginProtection
	routes   []Route
	document *Document
	rendered func() ([]byte, error) // the document as of the first request for it
}

// NewAPI returns an API without routes. It panics on a trusted origin that is none.
func NewAPI(config Config) *API {
	config.Prefix = cmp.Or(config.Prefix, "/api/v1")
	config.Timeout = cmp.Or(config.Timeout, 30*time.Second)
	config.ContentPolicy = cmp.Or(config.ContentPolicy, DefaultContentPolicy)
	config.Log = cmp.Or(config.Log, slog.Default())
	a := &API{config: config, root: chi.NewRouter(), crossing: http.NewCrossOriginProtection(), document: newDocument(config)}
	a.rendered = sync.OnceValues(a.Document)
	for _, origin := range config.TrustedOrigins {
		if err := a.crossing.AddTrustedOrigin(origin); err != nil {
			panic("httpx: " + err.Error())
		}
	}
	for _, l := range a.layers() {
		if !l.routed {
			a.root.Use(l.wrap)
		}
	}
	a.root.NotFound(a.notFound)
	a.root.MethodNotAllowed(a.methodNotAllowed)
	a.routed = a.root.With(a.routedLayers(false)...)
	a.root.Get(a.below("/openapi.json"), a.serveDocument)
	return a
}

// ServeHTTP serves the routes, the document (at /api/openapi.json) and what Router and Public were given.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.root.ServeHTTP(w, r) }

// Router takes pages and other handlers outside the API that want to know who asks. All layers apply to them.
func (a *API) Router() chi.Router { return a.routed }

// Public takes handlers for which it does not matter who asks, such as probes and static files: no session is
// looked up, and no request limit applies.
func (a *API) Public() chi.Router { return a.root }

// Routes lists the routes of the API in the order of their declaration, with their whole path.
func (a *API) Routes() []Route { return slices.Clone(a.routes) }

// Document returns the OpenAPI document as it is served.
func (a *API) Document() ([]byte, error) { return strictjson.Encode(a.document) }

// below returns a path beside the versions of the API: "/api/v1" is below "/api".
func (a *API) below(path string) string {
	return a.config.Prefix[:strings.LastIndexByte(a.config.Prefix, '/')] + path
}

func (a *API) serveDocument(w http.ResponseWriter, r *http.Request) {
	data, err := a.rendered()
	if err != nil {
		WriteProblem(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = w.Write(data)
}

// notFound leaves pages to who makes pages; whoever asks the API is told in its own language.
func (a *API) notFound(w http.ResponseWriter, r *http.Request) {
	if a.config.NotFound != nil && !strings.HasPrefix(r.URL.Path, a.below("/")) {
		a.config.NotFound.ServeHTTP(w, r)
		return
	}
	WriteProblem(w, r, &StatusError{Status: http.StatusNotFound, Code: "not_found", Message: "there is nothing at this address"})
}

// methods are all that a route or an Allow header can name.
var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
	http.MethodOptions,
}

// methodNotAllowed names the methods that would do, as 405 demands and chi's own handler alone would.
func (a *API) methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	path := cmp.Or(r.URL.RawPath, r.URL.Path)
	allowed := slices.DeleteFunc(slices.Clone(methods), func(m string) bool {
		return !a.root.Match(chi.NewRouteContext(), m, path)
	})
	if len(allowed) == 0 { // chi asks for no path before it refuses a method that it does not know
		a.notFound(w, r)
		return
	}
	WriteProblem(w, r, &StatusError{
		Status: http.StatusMethodNotAllowed, Code: "method_not_allowed", Message: "this address does not take this method",
		Header: http.Header{"Allow": {strings.Join(allowed, ", ")}},
	})
}
