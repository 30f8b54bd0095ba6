package main

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"example.com/plenary/platform/httpx"
)

// columns are who asks, in the order of the letters below.
var columns = []string{"", "alice@example.com", "sam@example.com", "viktor@example.com", "olivia@example.com", "ada@example.com"}

// access is who may call what. A route that is not here is a mistake, and so is a line without a route.
//
//	n nobody, c customer, o organizer, v viewer, p operator, a admin; - is refused: nobody with 401, somebody with 403
var access = map[string]string{
	"POST /api/v1/auth/login":  "ncovpa",
	"POST /api/v1/auth/logout": "ncovpa",
	"GET /api/v1/auth/me":      "-covpa",

	"GET /api/v1/sales/products":                  "ncovpa",
	"GET /api/v1/sales/products/{id}":             "ncovpa",
	"POST /api/v1/sales/orders":                   "-co--a",
	"GET /api/v1/sales/orders":                    "-covpa",
	"GET /api/v1/sales/orders/{id}":               "-covpa",
	"POST /api/v1/sales/orders/{id}/payments":     "-covpa", // to its owner; see TestOthersOrders
	"POST /api/v1/sales/orders/{id}/cancellation": "-covpa",

	"GET /api/v1/conference/events":                     "ncovpa",
	"GET /api/v1/conference/events/{id}":                "ncovpa",
	"GET /api/v1/conference/events/{id}/sessions":       "ncovpa",
	"GET /api/v1/conference/sessions/{id}":              "ncovpa",
	"POST /api/v1/conference/events/{id}/sessions":      "-covpa",
	"POST /api/v1/conference/events/{id}/scoring":       "--o--a",
	"GET /api/v1/conference/events/{id}/scores":         "--o--a",
	"GET /api/v1/conference/registrations/mine":         "-covpa",
	"GET /api/v1/engagement/sessions/{sessionId}/room":  "ncovpa",
	"POST /api/v1/engagement/rooms/{code}/join":         "ncovpa",
	"GET /api/v1/engagement/rooms/{code}":               "ncovpa", // to who has joined; see TestWhoMayWatch
	"GET /api/v1/engagement/rooms/{code}/live":          "ncovpa",
	"POST /api/v1/engagement/rooms/{code}/polls":        "--o--a",
	"POST /api/v1/engagement/polls/{id}/open":           "--o--a",
	"POST /api/v1/engagement/polls/{id}/close":          "--o--a",
	"PUT /api/v1/engagement/polls/{id}/ballot":          "ncovpa",
	"DELETE /api/v1/engagement/polls/{id}/ballot":       "ncovpa",
	"GET /api/v1/engagement/polls/{id}":                 "ncovpa",
	"GET /api/v1/engagement/polls/{id}/results.csv":     "--o--a",
	"POST /api/v1/engagement/rooms/{code}/questions":    "ncovpa",
	"PUT /api/v1/engagement/questions/{id}/upvote":      "ncovpa",
	"DELETE /api/v1/engagement/questions/{id}/upvote":   "ncovpa",
	"POST /api/v1/engagement/questions/{id}/moderation": "--o--a",
	"GET /api/v1/operations/{id}":                       "-covpa", // to who asked for it; see TestWhoSeesAnOperation

	"GET /api/v1/ops/summary":                    "---vpa",
	"GET /api/v1/ops/internal-commands":          "---vpa",
	"GET /api/v1/ops/internal-commands/{id}":     "---vpa",
	"POST /api/v1/ops/internal-commands/requeue": "----pa",
	"POST /api/v1/ops/internal-commands/purge":   "----pa",
	"POST /api/v1/ops/outbox/purge":              "----pa",
	"GET /api/v1/ops/outbox":                     "---vpa",
	"GET /api/v1/ops/outbox/{id}":                "---vpa",
	"POST /api/v1/ops/outbox/requeue":            "----pa",
	"GET /api/v1/ops/jobs":                       "---vpa",
	"GET /api/v1/ops/flows/{correlationId}":      "---vpa",
	"GET /api/v1/ops/audit":                      "---vpa",
	"GET /api/v1/ops/jobs/{name}":                "---vpa",
	"GET /api/v1/ops/jobs/{name}/runs":           "---vpa",
	"GET /api/v1/ops/jobs/{name}/preview":        "---vpa",
	"POST /api/v1/ops/jobs/{name}/runs":          "----pa",
	"PATCH /api/v1/ops/jobs/{name}":              "-----a",

	"POST /api/v1/demo/faults/{fault}":   "ncovpa",
	"DELETE /api/v1/demo/faults/{fault}": "ncovpa",
	"POST /api/v1/demo/audience":         "ncovpa",
	"POST /api/v1/demo/reset":            "ncovpa",
	"GET /api/v1/demo/mail":              "ncovpa",
}

// Every route with every role, from the live table of routes, by real requests: as bearer and as cookie.
func TestWhoMayCallWhat(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	r := w.start("SMTP_URL", "", "RATE_LIMIT_USER", "off", "RATE_LIMIT_ADDRESS", "off") // with the demo's own inbox, and its routes
	tokens := map[string]string{}
	for _, email := range columns[1:] {
		tokens[email] = r.as(email).token
	}
	var routes []string
	for _, route := range r.app.api.Routes() {
		name := route.Method + " " + route.Path
		routes = append(routes, name)
		letters, ok := access[name]
		if !ok || len(letters) != len(columns) {
			t.Errorf("%s: who may call it? Add it to the table.", name)
			continue
		}
		for i, email := range columns {
			token := tokens[email]
			if route.ID == "logout" && token != "" {
				token = r.as(email).token // which that is the end of
			}
			r.tryAs(t, token, route.Method, route.Path, letters[i])
		}
	}
	for name := range access {
		if !slices.Contains(routes, name) {
			t.Errorf("%s is in the table and not in the program", name)
		}
	}
}

// tryAs sends nonsense: whoever is let in hears about that, and whoever is not hears nothing of it.
func (r *replica) tryAs(t *testing.T, token, method, path string, letter byte) {
	t.Helper()
	var header []string
	switch {
	case token == "":
	case method == http.MethodGet:
		header = []string{"Cookie", httpx.SessionCookie + "=" + token}
	default:
		header = []string{"Authorization", "Bearer " + token}
	}
	body := ""
	if method != http.MethodGet {
		body = "nonsense"
	}
	got := r.send(method, strings.ReplaceAll(path, "{id}", "27"), body, header...)
	allowed, want := letter != '-', http.StatusForbidden
	if token == "" {
		want = http.StatusUnauthorized
	}
	refused := got.status == http.StatusUnauthorized || got.status == http.StatusForbidden
	if allowed && (refused || got.status >= 500) || !allowed && got.status != want {
		t.Errorf("%s %s, letter %c: %d: %s", method, path, letter, got.status, got.body)
	}
}

// Who may see another's order, and that nobody else learns that it exists.
func TestOthersOrders(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	r := w.start("RATE_LIMIT_USER", "off")
	own := r.as("alice@example.com").order(1, "tok_declined")
	w.within("quiet", func() bool { return w.about(own.Number) == 1 && w.settled() })
	path := "/api/v1/sales/orders/" + own.ID
	for email, sees := range map[string]bool{
		"bob@example.com": false, "sam@example.com": false,
		"viktor@example.com": true, "olivia@example.com": true, "ada@example.com": true, "alice@example.com": true,
	} {
		c := r.as(email)
		got := c.send("GET", path, "")
		list := c.send("GET", "/api/v1/sales/orders", "")
		if sees != (got.status == http.StatusOK) || sees != strings.Contains(string(list.body), own.ID) {
			t.Errorf("%s: %d %s; list %d %s", email, got.status, got.body, list.status, list.body)
		}
		if !sees {
			unknown := c.send("GET", "/api/v1/sales/orders/01936d10-0000-7000-8000-00000000ffff", "")
			p, q := got.isProblem(t, 404, "sales.order_not_found"), unknown.isProblem(t, 404, "sales.order_not_found")
			if p.Detail != q.Detail {
				t.Errorf("%s can tell: %q, %q", email, p.Detail, q.Detail)
			}
		}
		if email == "alice@example.com" {
			continue
		}
		for _, act := range []struct{ path, body string }{{"/payments", `{"paymentMethod":"tok_visa"}`}, {"/cancellation", ""}} {
			if got := c.send("POST", path+act.path, act.body); got.status != http.StatusNotFound && got.status != http.StatusForbidden {
				t.Errorf("%s%s by %s: %d %s", path, act.path, email, got.status, got.body)
			}
		}
	}
	if got := r.as("alice@example.com").show(own.ID); got.Status != own.Status {
		t.Errorf("somebody else made it %s", got.Status)
	}
}
