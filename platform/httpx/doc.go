// Package httpx is the one door between HTTP and the rest.
//
// A route is declared once, with its types, and everything follows from that line: routing, who may call it, how
// the request is read, what is answered, and its entry in the OpenAPI document.
//
//	type getOrder struct {
//		ID uuid.UUID `path:"id"`
//	}
//
//	httpx.Handle(api, httpx.Route{
//		Method: "GET", Path: "/sales/orders/{id}", ID: "getOrder", Summary: "One order",
//		SignedIn: true, Errors: []int{404},
//	}, func(ctx context.Context, in getOrder) (httpx.Response[Order], error) { … })
//
// The input is a struct. Its fields are tagged path, query, header or cookie; a field named Body is the JSON body.
// See [Handle] for their types and rules.
//
// A request passes, in this order, the layers listed in layers.go, and then its route's own steps: permission (so
// that 401 and 403 come before any 400), body size and type, path and query, body content, handler, answer. The
// handler returns a value or an error; [WriteProblem] turns any error into a problem document by one table.
//
// Where a request comes from, [ClientAddress] knows; what proxies say about that counts if Config.TrustedProxies names
// them. Config.Limit refuses what is too much, by who asks and from where; package ratelimit counts for it.
//
// What nobody may see stays inside: an error without a fault kind is a bare 500, its text goes to the one log
// line of the request. What was sent is neither answered nor logged.
package httpx
