package httpx_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/strictjson"
)

// document returns an API's document as a client reads it.
func document(t *testing.T, s *shop) map[string]any {
	t.Helper()
	w := s.ask("GET", "/api/openapi.json", "")
	var doc map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil || w.Code != 200 {
		t.Fatalf("%d, %v", w.Code, err)
	}
	return doc
}

// at follows keys into nested maps; nil where there is nothing.
func at(v any, keys ...string) any {
	for _, k := range keys {
		m, _ := v.(map[string]any)
		v = m[k]
	}
	return v
}

type everything struct {
	ID       uuid.UUID                      `json:"id"`
	Parent   *uuid.UUID                     `json:"parent"`
	Price    money                          `json:"price"`
	Refund   *money                         `json:"refund"`
	Status   string                         `json:"status" enum:"open,closed" doc:"Where it stands"`
	Reason   *string                        `json:"reason" enum:"late,lost"`
	Lines    []line                         `json:"lines" minItems:"1" maxItems:"20" minimum:"1"`
	Names    []string                       `json:"names" maxLength:"100" minItems:"2"`
	On       time.Time                      `json:"on"`
	EndedOn  *time.Time                     `json:"endedOn,omitzero"`
	Counts   map[string]int32               `json:"counts"`
	Blob     []byte                         `json:"blob"`
	Free     any                            `json:"free"`
	Raw      jsontext.Value                 `json:"raw"`
	Rate     float64                        `json:"rate"`
	Size     uint16                         `json:"size" maximum:"9" default:"3" example:"4"`
	Paid     bool                           `json:"paid"`
	Tag      httpx.IfMatch                  `json:"tag"`
	Cron     strictjson.Nullable[string]    `json:"cron,omitzero"`
	Until    strictjson.Nullable[time.Time] `json:"until"`
	Children []everything                   `json:"children,omitzero"`
	Inline   struct {
		A int `json:"a"`
	} `json:"inline"`
	Code   code `json:"code"`
	Hidden int  `json:"-"`
	embedded
}

type embedded struct {
	Email string `json:"email" format:"email"`
}

type money struct {
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
}

type line struct {
	Seconds *int `json:"seconds"`
}

type code string

func (code) JSONSchema() *httpx.Schema { return &httpx.Schema{Type: "string", Pattern: "^[a-z]+$"} }

const ref = "#/components/schemas/"

func TestSchemas(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	httpx.Handle(s.API, httpx.Route{Method: "POST", Path: "/everything", ID: "everything", Status: 200},
		func(_ context.Context, in struct{ Body everything }) (httpx.Response[httpx.Page[everything]], error) {
			return httpx.OK(httpx.Page[everything]{Items: []everything{in.Body}}), nil
		})
	schemas := at(document(t, s), "components", "schemas")

	properties := func(d string, extra map[string]any) map[string]any {
		p := map[string]any{
			"id":       map[string]any{"type": "string", "format": "uuid"},
			"price":    map[string]any{"$ref": ref + "Money"},
			"status":   map[string]any{"type": "string", "enum": []any{"open", "closed"}, "description": "Where it stands"},
			"lines":    map[string]any{"type": "array", "items": map[string]any{"$ref": ref + "Line" + d, "minimum": 1.0}, "minItems": 1.0, "maxItems": 20.0},
			"names":    map[string]any{"type": "array", "items": map[string]any{"type": "string", "maxLength": 100.0}, "minItems": 2.0},
			"on":       map[string]any{"type": "string", "format": "date-time"},
			"counts":   map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "integer", "format": "int32"}},
			"blob":     map[string]any{"type": "string", "contentEncoding": "base64"},
			"free":     map[string]any{},
			"raw":      map[string]any{},
			"rate":     map[string]any{"type": "number", "format": "double"},
			"size":     map[string]any{"type": "integer", "minimum": 0.0, "maximum": 9.0, "default": 3.0, "examples": []any{4.0}},
			"paid":     map[string]any{"type": "boolean"},
			"tag":      map[string]any{"type": "string"},
			"cron":     map[string]any{"type": []any{"string", "null"}},
			"until":    map[string]any{"type": []any{"string", "null"}, "format": "date-time"},
			"children": map[string]any{"type": "array", "items": map[string]any{"$ref": ref + "Everything" + d}},
			"inline": map[string]any{
				"type": "object", "additionalProperties": false, "required": []any{"a"},
				"properties": map[string]any{"a": map[string]any{"type": "integer", "format": "int64"}},
			},
			"code":  map[string]any{"type": "string", "pattern": "^[a-z]+$"},
			"email": map[string]any{"type": "string", "format": "email"},
		}
		for k, v := range extra {
			p[k] = v
		}
		return p
	}
	null := map[string]any{"type": "null"}
	answered := properties("", map[string]any{
		"parent":  map[string]any{"type": []any{"string", "null"}, "format": "uuid"},
		"refund":  map[string]any{"anyOf": []any{map[string]any{"$ref": ref + "Money"}, null}},
		"reason":  map[string]any{"type": []any{"string", "null"}, "enum": []any{"late", "lost", nil}},
		"endedOn": map[string]any{"type": []any{"string", "null"}, "format": "date-time"},
	})
	sent := properties("Input", map[string]any{
		"parent":  map[string]any{"type": "string", "format": "uuid"},
		"refund":  map[string]any{"$ref": ref + "Money"},
		"reason":  map[string]any{"type": "string", "enum": []any{"late", "lost"}},
		"endedOn": map[string]any{"type": "string", "format": "date-time"},
	})
	if diff := cmp.Diff(any(answered), at(schemas, "Everything", "properties")); diff != "" {
		t.Errorf("answered (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(any(sent), at(schemas, "EverythingInput", "properties")); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
	always := []any{
		"id", "price", "status", "lines", "names", "on", "counts", "blob", "free", "raw", "rate", "size",
		"paid", "tag", "inline", "code", "email",
	}
	if diff := cmp.Diff(any(always), at(schemas, "EverythingInput", "required")); diff != "" {
		t.Errorf("required when sent (-want +got):\n%s", diff)
	}
	if required, _ := at(schemas, "Everything", "required").([]any); len(required) != len(always)+4 {
		t.Errorf("required when answered: %v", required)
	}
	if at(schemas, "EverythingPage", "properties", "nextCursor", "description") == nil {
		t.Errorf("no page: %v", at(schemas, "EverythingPage"))
	}
}

func TestOperations(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	doc := document(t, s)
	if at(doc, "openapi") != "3.1.0" || at(doc, "servers").([]any)[0].(map[string]any)["url"] != "/api/v1" {
		t.Errorf("%v", doc)
	}
	post := at(doc, "paths", "/items", "post")
	wantSecurity := []any{map[string]any{"session": []any{"sales:order"}}, map[string]any{"bearer": []any{"sales:order"}}}
	if diff := cmp.Diff(any(wantSecurity), at(post, "security")); diff != "" {
		t.Error(diff)
	}
	if at(post, "responses", "201", "headers", "Location") == nil || at(post, "requestBody", "required") != true {
		t.Errorf("%v", post)
	}
	for _, c := range []struct {
		path, method string
		statuses     string
	}{
		{"/items", "post", "201 400 401 403 413 415 500 503"},
		{"/items", "get", "200 400 401 500 503"},
		{"/items/{id}", "put", "204 400 401 403 412 413 415 428 500 503"},
		{"/items.csv", "get", "200 400 401 500 503"},
	} {
		responses, _ := at(doc, "paths", c.path, c.method, "responses").(map[string]any)
		for status := range strings.FieldsSeq(c.statuses) {
			if responses[status] == nil {
				t.Errorf("%s %s lacks %s", c.method, c.path, status)
			}
		}
		if n := len(strings.Fields(c.statuses)); len(responses) != n {
			t.Errorf("%s %s: %d statuses, want %d", c.method, c.path, len(responses), n)
		}
	}
	if at(doc, "paths", "/items.csv", "get", "responses", "200", "content", "text/csv") == nil {
		t.Error("the CSV is not described")
	}
	limit, _ := at(doc, "paths", "/items", "get", "parameters").([]any)
	want := map[string]any{
		"name": "limit", "in": "query", "description": "How many items at most",
		"schema": map[string]any{"type": "integer", "format": "int64", "minimum": 1.0, "maximum": 200.0, "default": 50.0},
	}
	if diff := cmp.Diff(any(want), limit[0]); diff != "" {
		t.Error(diff)
	}
}

// Whatever the document refers to is in it, and every parameter in a path is described.
func TestDocumentIsClosed(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	doc := document(t, s)
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if name, ok := v["$ref"].(string); ok && at(doc, "components", "schemas", strings.TrimPrefix(name, ref)) == nil {
				t.Errorf("%s is missing", name)
			}
			for _, inner := range v {
				walk(inner)
			}
		case []any:
			for _, inner := range v {
				walk(inner)
			}
		}
	}
	walk(doc)
	ids := map[string]bool{}
	for _, r := range s.Routes() {
		op := at(doc, "paths", strings.TrimPrefix(r.Path, "/api/v1"), strings.ToLower(r.Method))
		if at(op, "operationId") != r.ID || ids[r.ID] {
			t.Errorf("%s %s: %v", r.Method, r.Path, at(op, "operationId"))
		}
		ids[r.ID] = true
	}
}

// No status is answered that the document does not promise.
func TestAnsweredStatusesAreDocumented(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	doc := document(t, s)
	for _, r := range []struct {
		method, path, pattern, body string
		header                      []string
	}{
		{"GET", "/items", "/items", "", nil},
		{"GET", "/items?x=1", "/items", "", nil},
		{"GET", "/items", "/items", "", []string{"Authorization", "Bearer x"}},
		{"GET", "/items/7", "/items/{id}", "", nil},
		{"POST", "/items", "/items", "{}", nil},
		{"POST", "/items", "/items", "{}", asAlice},
		{"POST", "/items", "/items", "{}", append([]string{"Content-Type", "text/plain"}, asAlice...)},
		{"POST", "/items", "/items", "{}", []string{"Sec-Fetch-Site", "cross-site"}},
		{"PUT", "/items/" + someID, "/items/{id}", "", asAlice},
		{"PUT", "/items/" + someID, "/items/{id}", "", append([]string{"If-Match", `"9"`}, asAlice...)},
	} {
		w := s.ask(r.method, "/api/v1"+r.path, r.body, r.header...)
		if at(doc, "paths", r.pattern, strings.ToLower(r.method), "responses", strconv.Itoa(w.Code)) == nil {
			t.Errorf("%s %s answers %d, undocumented", r.method, r.path, w.Code)
		}
	}
}

// A mistake in a declaration stops the program at its start, not a request years later.
func TestDeclarationMistakesPanic(t *testing.T) {
	t.Parallel()
	type nothing = struct{}
	good := httpx.Route{Method: "GET", Path: "/x", ID: "x"}
	with := func(change func(*httpx.Route)) httpx.Route { r := good; change(&r); return r }
	cases := map[string]func(*httpx.API){
		"no id":     func(a *httpx.API) { declare[nothing](a, with(func(r *httpx.Route) { r.ID = "" })) },
		"no method": func(a *httpx.API) { declare[nothing](a, with(func(r *httpx.Route) { r.Method = "FETCH" })) },
		"twice": func(a *httpx.API) {
			declare[nothing](a, good)
			declare[nothing](a, with(func(r *httpx.Route) { r.ID = "y" }))
		},
		"id taken": func(a *httpx.API) {
			declare[nothing](a, good)
			declare[nothing](a, with(func(r *httpx.Route) { r.Path = "/y" }))
		},
		"reason on GET":     func(a *httpx.API) { declare[nothing](a, with(func(r *httpx.Route) { r.NonIdempotent = "so" })) },
		"permission of nil": func(a *httpx.API) { declare[nothing](a, with(func(r *httpx.Route) { r.Permission = "p" })) },
		"unbound":           func(a *httpx.API) { declare[nothing](a, with(func(r *httpx.Route) { r.Path = "/{id}" })) },
		"not in path":       func(a *httpx.API) { declare[getItem](a, good) },
		"untagged":          func(a *httpx.API) { declare[struct{ X int }](a, good) },
		"body on GET":       func(a *httpx.API) { declare[postItem](a, good) },
		"no struct":         func(a *httpx.API) { declare[int](a, good) },
		"list body": func(a *httpx.API) {
			declare[struct{ Body []item }](a, with(func(r *httpx.Route) { r.Method = "POST" }))
		},
		"float": func(a *httpx.API) {
			declare[struct {
				X float64 `query:"x"`
			}](a, good)
		},
		"int cookie": func(a *httpx.API) {
			declare[struct {
				X int `cookie:"x"`
			}](a, good)
		},
		"same name": func(a *httpx.API) {
			declare[struct {
				X int `query:"x"`
				Y int `query:"x"`
			}](a, good)
		},
		"bad default": func(a *httpx.API) {
			declare[struct {
				X int `query:"x" default:"9" maximum:"5"`
			}](a, good)
		},
		"bad origin": func(*httpx.API) { httpx.NewAPI(httpx.Config{TrustedOrigins: []string{"not an origin"}}) },
	}
	declare[nothing](httpx.NewAPI(httpx.Config{}), good) // the one without a mistake
	for name, mistake := range cases {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: passed", name)
				}
			}()
			mistake(httpx.NewAPI(httpx.Config{}))
		}()
	}
}

func declare[In any](a *httpx.API, r httpx.Route) {
	httpx.Handle(a, r, func(context.Context, In) (httpx.Response[httpx.Empty], error) { return httpx.NoContent(), nil })
}

func TestRoutesTellWhoMay(t *testing.T) {
	t.Parallel()
	for _, r := range newShop(t).Routes() {
		switch r.ID {
		case "postItem":
			if r.Permission != identity.Permission("sales:order") || r.Status != http.StatusCreated || r.Path != "/api/v1/items" {
				t.Errorf("%+v", r)
			}
		case "putItem":
			if !r.SignedIn || r.Status != http.StatusNoContent {
				t.Errorf("%+v", r)
			}
		}
	}
}
