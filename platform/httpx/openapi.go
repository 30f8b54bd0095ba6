package httpx

import (
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Document is an OpenAPI 3.1 document, as much of it as routes need.
type Document struct {
	OpenAPI    string                           `json:"openapi"`
	Info       Info                             `json:"info"`
	Servers    []Server                         `json:"servers"`
	Paths      map[string]map[string]*Operation `json:"paths"`
	Components Components                       `json:"components"`

	schemas *schemas
	limited bool // any route may answer 429
}

// Info names the API.
type Info struct {
	Title       string `json:"title"`
	Version     string `json:"version"`
	Description string `json:"description"`
}

// Server is where the paths begin.
type Server struct {
	URL string `json:"url"`
}

// Components is what operations refer to.
type Components struct {
	Schemas         map[string]*Schema        `json:"schemas"`
	SecuritySchemes map[string]SecurityScheme `json:"securitySchemes"`
}

// SecurityScheme is a way to say who asks.
type SecurityScheme struct {
	Type        string `json:"type"`
	Scheme      string `json:"scheme,omitzero"`
	In          string `json:"in,omitzero"`
	Name        string `json:"name,omitzero"`
	Description string `json:"description,omitzero"`
}

// Operation is one route. A security scheme lists the permission that the caller needs.
type Operation struct {
	ID          string                    `json:"operationId"`
	Summary     string                    `json:"summary,omitzero"`
	Description string                    `json:"description,omitzero"`
	Tags        []string                  `json:"tags,omitempty"`
	Security    []map[string][]string     `json:"security,omitempty"`
	Parameters  []Parameter               `json:"parameters,omitempty"`
	RequestBody *RequestBody              `json:"requestBody,omitzero"`
	Responses   map[string]*ResponseEntry `json:"responses"`
}

// Parameter is a value outside the body.
type Parameter struct {
	Name        string  `json:"name"`
	In          string  `json:"in"`
	Required    bool    `json:"required,omitzero"`
	Description string  `json:"description,omitzero"`
	Schema      *Schema `json:"schema"`
}

// RequestBody is what is sent.
type RequestBody struct {
	Required bool                 `json:"required,omitzero"`
	Content  map[string]MediaType `json:"content"`
}

// ResponseEntry is one status and what comes with it.
type ResponseEntry struct {
	Description string               `json:"description"`
	Headers     map[string]Header    `json:"headers,omitempty"`
	Content     map[string]MediaType `json:"content,omitempty"`
}

// Header is a header of an answer.
type Header struct {
	Description string  `json:"description,omitzero"`
	Schema      *Schema `json:"schema"`
}

// MediaType is a body in one form.
type MediaType struct {
	Schema *Schema `json:"schema"`
}

const conventions = "Bodies are application/json, one object of at most 1 MiB without unknown or duplicate members. " +
	"Errors are application/problem+json; branch on their code. X-Correlation-Id is taken and always returned. " +
	"Query parameters that a route does not know are refused."

func newDocument(config Config) *Document {
	s := newSchemas()
	return &Document{
		OpenAPI: "3.1.0",
		Info:    Info{Title: config.Title, Version: config.Version, Description: conventions},
		Servers: []Server{{URL: config.Prefix}},
		Paths:   map[string]map[string]*Operation{},
		Components: Components{
			Schemas: s.ByName,
			SecuritySchemes: map[string]SecurityScheme{
				"session": {Type: "apiKey", In: "cookie", Name: SessionCookie, Description: "Set by signing in"},
				"bearer":  {Type: "http", Scheme: "bearer", Description: "The token that signing in returns"},
			},
		},
		schemas: s,
		limited: config.Limit != nil,
	}
}

// add describes a route at its path below the prefix. out is nil for a raw answer.
func (doc *Document) add(route Route, path string, b *binding, out reflect.Type) {
	op := &Operation{
		ID: route.ID, Summary: route.Summary, Description: route.Description, Tags: route.Tags,
		Responses: map[string]*ResponseEntry{},
	}
	if op.Tags == nil {
		op.Tags = []string{strings.Split(path, "/")[1]}
	}
	if takesKey(route) {
		op.Parameters = append(op.Parameters, Parameter{
			Name: keyHeader, In: "header", Schema: &Schema{Type: "string", MinLength: new(int64(1)), MaxLength: new(int64(maxKey))},
			Description: "Makes the request happen once, however often it is sent within 24 hours",
		})
	}
	if route.NonIdempotent != "" {
		op.Description = strings.TrimSpace(op.Description + "\n\nTakes no Idempotency-Key: " + route.NonIdempotent + ".")
	}
	if needsCaller(route) {
		permissions := []string{}
		if route.Permission != "" {
			permissions = append(permissions, string(route.Permission))
		}
		op.Security = []map[string][]string{{"session": permissions}, {"bearer": permissions}}
	}
	for _, p := range b.params {
		schema := doc.schemas.ofField(p.field, sent)
		schema.Description = ""
		op.Parameters = append(op.Parameters, Parameter{
			Name: p.name, In: p.in, Required: p.required, Description: p.field.Tag.Get("doc"), Schema: schema,
		})
	}
	if b.body != nil && b.body != noBody {
		op.RequestBody = &RequestBody{Required: !b.body.optional(), Content: doc.json(doc.schemas.of(b.body.typ, sent))}
	}
	op.Responses[strconv.Itoa(route.Status)] = doc.success(route, out)
	for _, status := range doc.errorsOf(route, b) {
		op.Responses[strconv.Itoa(status)] = &ResponseEntry{
			Description: http.StatusText(status),
			Content:     map[string]MediaType{"application/problem+json": {doc.schemas.of(reflect.TypeFor[Problem](), answered)}},
		}
	}
	if doc.Paths[path] == nil {
		doc.Paths[path] = map[string]*Operation{}
	}
	doc.Paths[path][strings.ToLower(route.Method)] = op
}

func (doc *Document) json(s *Schema) map[string]MediaType {
	return map[string]MediaType{"application/json": {s}}
}

// success describes the one status that is no error.
func (doc *Document) success(route Route, out reflect.Type) *ResponseEntry {
	entry := &ResponseEntry{Description: http.StatusText(route.Status)}
	switch {
	case route.Produces != "":
		entry.Content = map[string]MediaType{route.Produces: {&Schema{Type: "string"}}}
	case out != nil && !isEmpty(out):
		entry.Content = doc.json(doc.schemas.of(out, answered))
	}
	if route.Status == http.StatusCreated || route.Status == http.StatusAccepted {
		entry.Headers = map[string]Header{"Location": {Schema: &Schema{Type: "string", Format: "uri-reference"}}}
	}
	return entry
}

func needsCaller(route Route) bool { return route.SignedIn || route.Permission != "" }

// errorsOf returns a route's error statuses: those that it declares and those that follow from what it is.
func (doc *Document) errorsOf(route Route, b *binding) []int {
	all := append([]int{
		http.StatusBadRequest,   // an unknown query parameter
		http.StatusUnauthorized, // a bearer token that is not valid
		http.StatusInternalServerError, http.StatusServiceUnavailable,
	}, route.Errors...)
	add := func(when bool, statuses ...int) {
		if when {
			all = append(all, statuses...)
		}
	}
	add(route.Permission != "" || route.Method != http.MethodGet, http.StatusForbidden) // or by another site
	add(doc.limited, http.StatusTooManyRequests)
	add(b.body != nil, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	for _, p := range b.params {
		ifMatch := p.in == "header" && p.name == "If-Match"
		add(ifMatch, http.StatusPreconditionFailed)
		add(ifMatch && p.required, http.StatusPreconditionRequired)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
