package httpx

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"

	"github.com/go-chi/chi/v5"

	"example.com/plenary/platform/identity"
)

// Route declares one route. The zero value of each optional field is the common case.
type Route struct {
	Method string
	Path   string // below the prefix, with parameters as in "/sales/orders/{id}"
	ID     string // unique and stable: the operationId, for generated clients

	Summary     string
	Description string
	Tags        []string // the first path segment if empty

	// Permission is what the caller must be allowed; "" asks for none. SignedIn demands a user, whatever they
	// may do; a principal of another kind (a voter) does not do.
	Permission identity.Permission
	SignedIn   bool

	Status   int    // of a success; 200, or 204 without a body, if zero
	Produces string // media type of a raw answer, for HandleRaw; "" for JSON
	Errors   []int  // that only this route knows (404, 409); those that follow from the rest are added

	// NonIdempotent is why a POST takes no Idempotency-Key.
	NonIdempotent string
	// LongLived exempts a connection that stays open (a WebSocket) from the request timeout.
	LongLived bool
}

// mistake reports what only the author of the declaration can mend.
func (r Route) mistake(format string, args ...any) {
	panic(fmt.Sprintf("httpx: %s %s: %s", r.Method, r.Path, fmt.Sprintf(format, args...)))
}

// Handle adds a route to the API, while the program is wired. It panics on a mistake in the declaration.
//
// In is a struct whose fields, those of embedded structs included, are tagged path:"…", query:"…", header:"…" or
// cookie:"…". They are strings, integers, bools, uuid.UUID, time.Time, IfMatch, other types with UnmarshalText, or
// pointers to these, nil if the parameter was not sent; of these only strings in cookies. The tags required,
// default, enum ("a,b"), minimum, maximum, minLength and maxLength are checked; doc, format and example are described.
// An empty value counts as not sent. A query parameter that the route does not know, or that comes twice, is
// refused: a misspelt filter must not answer with everything.
//
// A field named Body is the JSON body, read by strictjson; a pointer if it may be missing. Its tags are described,
// and members without omitempty or omitzero are demanded; ranges are for the handler to check. A route without Body
// takes an empty body or {}; GET and DELETE do not look at theirs.
//
// A 400 has the code "invalid_input" and one entry a complaint in errors, or the code "invalid_id" for a UUID in
// the path that is none. h runs with all that checked, and with the principal, the correlation id, the trace and
// a deadline in its context. Its error is answered as WriteProblem says.
func Handle[In, Out any](a *API, route Route, h func(ctx context.Context, in In) (Response[Out], error)) {
	b := bind(reflect.TypeFor[In](), route)
	out := reflect.TypeFor[Out]()
	if route.Status == 0 {
		route.Status = http.StatusOK
		if isEmpty(out) {
			route.Status = http.StatusNoContent
		}
	}
	a.add(route, b, out, func(w http.ResponseWriter, r *http.Request) error {
		var in In
		raw, err := b.read(w, r, reflect.ValueOf(&in).Elem())
		if err != nil {
			return err
		}
		once, err := onceOf(r, route, raw)
		if err != nil {
			return err
		}
		response, err := h(once.into(r.Context()), in)
		if err == nil {
			err = once.kept()
		}
		if err != nil {
			return err
		}
		return write(w, r, a.config, route, response)
	})
}

// HandleRaw adds a route whose handler writes the answer itself: a file, a WebSocket. In is as for Handle, without
// Body; a body is the handler's to read and to bound. The handler must not write after the connection was hijacked, and returns an error only before it has
// written anything; later ones break the connection off.
func HandleRaw[In any](a *API, route Route, h func(w http.ResponseWriter, r *http.Request, in In) error) {
	b := bind(reflect.TypeFor[In](), route)
	if b.body != nil && b.body != noBody {
		route.mistake("a raw route has no Body")
	}
	b.body = nil
	route.Status = cmp.Or(route.Status, http.StatusOK)
	a.add(route, b, nil, func(w http.ResponseWriter, r *http.Request) error {
		var in In
		if _, err := b.read(w, r, reflect.ValueOf(&in).Elem()); err != nil {
			return err
		}
		return h(w, r, in)
	})
}

// add checks the declaration, documents the route and hangs it in.
func (a *API) add(route Route, b *binding, out reflect.Type, serve func(http.ResponseWriter, *http.Request) error) {
	short := route.Path
	route.Path = a.config.Prefix + route.Path
	must := func(ok bool, otherwise string) {
		if !ok {
			route.mistake("%s", otherwise)
		}
	}
	must(slices.Contains(methods, route.Method) && route.Method != http.MethodHead, "is not a method for a route")
	must(route.ID != "", "has no ID")
	must(route.Permission == "" || a.config.Permissions != nil, "asks for a permission, but there are none")
	must(route.NonIdempotent == "" || route.Method == http.MethodPost, "NonIdempotent is for POST")
	for _, other := range a.routes {
		must(other.ID != route.ID, "the ID is taken")
		must(other.Method != route.Method || other.Path != route.Path, "is declared twice")
	}
	a.document.add(route, short, b, out) // before the route is known: a type without a JSON form panics here
	a.routes = append(a.routes, route)

	endpoint := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := a.authorize(r, route)
		if err == nil {
			err = serve(w, r)
		}
		if err != nil {
			WriteProblem(w, r, err)
		}
	})
	// Not through a.routed: what stays open must not get its timeout layer.
	h := chi.Chain(a.routedLayers(route.LongLived)...).Handler(endpoint)
	a.root.Method(route.Method, route.Path, h)
	if route.Method == http.MethodGet && !route.LongLived {
		a.root.Method(http.MethodHead, route.Path, h) // net/http leaves the body out
	}
}
