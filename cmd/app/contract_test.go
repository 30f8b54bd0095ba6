package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"example.com/plenary/platform/httpx"
)

// contract is what outside programs rely on: the routes, the status of their success, and the members of what they
// answer with. It may grow; a change to what is here breaks somebody.
var contract = map[string]struct {
	status  int
	members string // of the answer, or of its items
}{
	"POST /auth/login":                     {200, "token user"},
	"POST /auth/logout":                    {204, ""},
	"GET /auth/me":                         {200, "email id name permissions roles"},
	"GET /sales/products":                  {200, productMembers},
	"GET /sales/products/{id}":             {200, productMembers},
	"POST /sales/orders":                   {201, orderMembers},
	"GET /sales/orders":                    {200, orderMembers},
	"GET /sales/orders/{id}":               {200, orderMembers},
	"POST /sales/orders/{id}/payments":     {200, orderMembers},
	"POST /sales/orders/{id}/cancellation": {200, orderMembers},
	"GET /ops/summary":                     {200, "replicas work"},
	"GET /ops/internal-commands":           {200, commandMembers},
	"GET /ops/internal-commands/{id}":      {200, commandMembers + " attemptLog payload roles tenant trace user"},
	"POST /ops/internal-commands/requeue":  {200, "requeued"},
	"POST /ops/internal-commands/purge":    {200, "purged"},
	"GET /ops/outbox":                      {200, "correlationId deliveries id name occurredOn source"},
	"GET /ops/outbox/{id}":                 {200, "correlationId deliveries id name occurredOn source"},
	"POST /ops/outbox/requeue":             {200, "requeued"},
	"POST /ops/outbox/purge":               {200, "purged"},
}

const (
	productMembers = "available description eventId id name price slug"
	orderMembers   = "createdOn customerId expiresOn failureReason id lines number status total version"
	commandMembers = "attempts correlationId createdOn deadLetteredOn id lastError maxAttempts name nextAttemptOn processedOn scheduledOn source state"
)

// document is the part of an OpenAPI document that the test looks at.
type document struct {
	OpenAPI    string
	Servers    []struct{ URL string }
	Paths      map[string]map[string]operation
	Components struct{ Schemas map[string]schema }
}

type operation struct {
	OperationID string
	Responses   map[string]struct {
		Content map[string]struct{ Schema schema }
	}
}

type schema struct {
	Ref        string `json:"$ref"`
	Properties map[string]schema
	Items      *schema
}

func (d document) resolve(s schema) schema {
	for s.Ref != "" {
		s = d.Components.Schemas[s.Ref[strings.LastIndex(s.Ref, "/")+1:]]
	}
	return s
}

// answerOf returns the schema of an answer, or of the items of a list.
func (d document) answerOf(o operation, status int) schema {
	s := d.resolve(o.Responses[fmt.Sprint(status)].Content["application/json"].Schema)
	if items, ok := s.Properties["items"]; ok && items.Items != nil {
		s = d.resolve(*items.Items)
	}
	return s
}

func TestDocumentHoldsTheContract(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	r := w.start()
	response, err := patient.Get(r.base + "/api/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var d document
	if err := json.NewDecoder(response.Body).Decode(&d); err != nil || !strings.HasPrefix(d.OpenAPI, "3.1") {
		t.Fatalf("openapi %q: %v", d.OpenAPI, err)
	}
	for route, want := range contract {
		method, path, _ := strings.Cut(route, " ")
		o, ok := d.Paths[path][strings.ToLower(method)]
		if !ok {
			t.Errorf("%s is not in the document", route)
			continue
		}
		if _, ok := o.Responses[fmt.Sprint(want.status)]; !ok {
			t.Errorf("%s does not answer %d", route, want.status)
		}
		have := d.answerOf(o, want.status).Properties
		for _, member := range strings.Fields(want.members) {
			if _, ok := have[member]; !ok {
				t.Errorf("%s: the document lacks %s; it has %v", route, member, slices.Sorted(maps.Keys(have)))
			}
		}
	}
	documented := 0
	for path, operations := range d.Paths {
		documented += len(operations)
		for method := range operations {
			if !slices.ContainsFunc(r.app.api.Routes(), func(route httpx.Route) bool {
				return strings.EqualFold(route.Method, method) && route.Path == "/api/v1"+path
			}) {
				t.Errorf("%s %s is documented and not served", method, path)
			}
		}
	}
	if served := len(r.app.api.Routes()); served != documented {
		t.Errorf("%d routes are served, %d documented", served, documented)
	}
}

// What is answered has the members that the document promises, no more and no less.
func TestAnswersHoldTheContract(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	r := w.start()
	alice, olivia := r.as("alice@example.com"), r.as("olivia@example.com")
	o := alice.order(1, "tok_declined")
	w.within("quiet", w.settled)
	for route, c := range map[string]struct {
		client client
		path   string
	}{
		"GET /auth/me":               {alice, "/auth/me"},
		"GET /sales/products":        {alice, "/sales/products"},
		"GET /sales/orders":          {alice, "/sales/orders"},
		"GET /sales/orders/{id}":     {alice, "/sales/orders/" + o.ID},
		"GET /ops/internal-commands": {olivia, "/ops/internal-commands"},
		"GET /ops/outbox":            {olivia, "/ops/outbox"},
	} {
		var answer map[string]any
		c.client.do("GET", c.path, nil, http.StatusOK, &answer)
		if items, ok := answer["items"].([]any); ok {
			if len(items) == 0 {
				t.Errorf("%s is empty", route)
				continue
			}
			answer = items[0].(map[string]any)
		}
		for _, member := range strings.Fields(contract[route].members) {
			if _, ok := answer[member]; !ok {
				t.Errorf("%s: the answer lacks %s; it has %v", route, member, slices.Sorted(maps.Keys(answer)))
			}
		}
	}
}
