package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"example.com/plenary/platform/postgres/postgrestest"
)

// entry writes a line into the trail; n is the last figure of its id and orders them.
func (w *world) entry(n int, kind, key, operation, changes, by, correlation, on string) {
	w.t.Helper()
	postgrestest.Exec(w.t, w.sales, `INSERT INTO platform.audit_entries (id, source, entity_type, entity_key, operation, changes, changed_by, correlation_id, changed_on)
		VALUES ($1, 'sales', $2, $3, $4, $5, nullif($6, ''), nullif($7, ''), $8)`,
		fmt.Sprintf("01936d10-0000-7000-8000-%012d", n), kind, key, operation, changes, by, correlation, on)
}

func TestAuditTrailInTheBrowser(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	r := w.site()
	alice, viktor := r.browse(t).be("alice@example.com"), r.browse(t).be("viktor@example.com")
	order := alice.buy("tok_declined").path
	w.within("quiet", w.settled)

	page := viktor.get(order)
	var history string
	for a := range page.all("a") {
		if strings.HasPrefix(a.attr("href"), "/ops/audit") {
			history = a.attr("href")
		}
	}
	trail := viktor.get(history)
	viktor.says(trail, http.StatusOK, "Added sales.order", "Modified sales.order", "By Alice Archer", `status "payment_initiated" "payment_failed"`)
	if strings.Contains(trail.words(), "platform.session") {
		t.Error("the history of an order has something else")
	}
	for a := range alice.get(order).all("a") {
		if strings.HasPrefix(a.attr("href"), "/ops/") && a.words() != "Console" {
			t.Errorf("a customer is led to %s", a.attr("href"))
		}
	}

	w.entry(1, "sales.person", "p<1>", "modified", `[{"property":"email","old":"[REDACTED]","new":"[REDACTED]"},{"property":"name","old":null,"new":"<b>&"}]`, "system:clock", "abc", "2020-05-01T10:00:00Z")
	w.entry(2, "sales.person", "p2", "deleted", `[{"property":"age","old":41,"new":null}]`, "", "", "2020-05-02T10:00:00Z")
	all := viktor.get("/ops/audit?entityType=sales.person")
	viktor.says(all, http.StatusOK, "email redacted redacted", `name none "<b>&"`, "By system:clock", "Deleted sales.person p2", "By nobody who was signed in", "age 41")
	for query, want := range map[string]string{
		"entityType=sales.person&entityKey=p2":                         "p2",
		"actor=system:clock&entityType=sales.person":                   "p<1>",
		"correlationId=abc":                                            "p<1>",
		"from=2020-05-01T00:00&to=2020-05-02T00:00":                    "p<1>",
		"from=2020-05-02T12:00:00%2B02:00&to=2020-05-02T10:00:01Z":     "p2",
		"from=2020-05-02&to=2020-05-03&entityType=sales.person":        "p2",
		"entityType=sales.person&from=2020-05-02T10:00&to=2020-05-03":  "p2",
		"entityType=sales.person&actor=system:clock&correlationId=abc": "p<1>",
	} {
		p := viktor.get("/ops/audit?" + query)
		var keys []string
		for article := range p.all("article") {
			for h2 := range article.all("h2") {
				keys = append(keys, h2.words())
			}
		}
		if len(keys) != 1 || !strings.HasSuffix(keys[0], " "+want) {
			t.Errorf("%s shows %q", query, keys)
		}
		_, values := viktor.fill(p, "/ops/audit") // what was asked for stands in the form
		asked, _ := url.ParseQuery(query)
		for name := range asked {
			if values.Get(name) == "" {
				t.Errorf("%s: the form has lost %s", query, name)
			}
		}
	}
	viktor.says(viktor.get("/ops/audit?entityType=no.such"), http.StatusOK, "None like that")
	viktor.says(viktor.get("/ops/audit?from=yesterday"), http.StatusBadRequest, "Must be a date and a time", "Nothing was looked for")
	viktor.says(viktor.get("/ops/audit?from=2020-05-03&to=2020-05-02"), http.StatusBadRequest, "Must be later than the beginning", "Nothing was looked for")
	viktor.says(viktor.get("/ops/audit?entityKey=a%00b"), http.StatusBadRequest)
	viktor.says(viktor.get("/ops/audit?cursor=x"), http.StatusBadRequest, "The cursor is not valid.")
	viktor.says(alice.get("/ops/audit"), http.StatusForbidden, "ops:read")
}

// The trail of all databases is one list; its pages leave nothing out and show nothing twice.
func TestAuditTrailHasPages(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		viktor := w.site().browse(t).be("viktor@example.com")
		for n := range 60 {
			w.entry(n+1, "sales.thing", fmt.Sprintf("thing-%02d", n), "added", `[]`, "", "", "2020-05-01T10:00:00Z")
		}
		var keys []string
		pages := 0
		for address := "/ops/audit?entityType=sales.thing"; address != ""; pages++ {
			p := viktor.get(address)
			address = ""
			for a := range p.all("a") {
				if strings.HasPrefix(a.words(), "thing-") {
					keys = append(keys, a.words())
				}
				if a.attr("rel") == "next" {
					address = a.attr("href")
				}
			}
			if pages > 0 && !strings.Contains(p.words(), "← Newest") {
				t.Error("no way back")
			}
		}
		if pages != 3 || len(keys) != 60 || keys[0] != "thing-59" || keys[59] != "thing-00" {
			t.Errorf("%d pages: %q", pages, keys)
		}
	})
}
