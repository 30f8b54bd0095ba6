package main

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/postgres/postgrestest"
)

// Every page for everybody: the right ones see it, and the others are told why not by a page as well.
func TestWhoSeesWhichPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	r := w.site()
	order := r.browse(t).be("alice@example.com").buy("tok_declined").path
	w.within("quiet", w.settled)
	viewer := r.browse(t).be("olivia@example.com")
	code := r.roomCode()
	const ok, no, none, in = 200, 403, 404, 303 // in: they are led to the sign-in
	people := []string{"", "alice@example.com", "bob@example.com", "sam@example.com", "viktor@example.com", "olivia@example.com", "ada@example.com"}
	table := map[string][]int{
		"/":      {ok, ok, ok, ok, ok, ok, ok},
		"/login": {ok, ok, ok, ok, ok, ok, ok},
		"/shop":  {ok, ok, ok, ok, ok, ok, ok},
		"/checkout?quantity." + conferencePass + "=1": {in, ok, ok, ok, no, no, ok},
		"/orders":                                {in, ok, ok, ok, ok, ok, ok},
		order:                                    {in, ok, none, none, ok, ok, ok},
		"/inbox":                                 {ok, ok, ok, ok, ok, ok, ok},
		"/events":                                {ok, ok, ok, ok, ok, ok, ok},
		agendaPage:                               {ok, ok, ok, ok, ok, ok, ok},
		"/events/no-such":                        {none, none, none, none, none, none, none},
		agendaPage + "/propose":                  {in, ok, ok, ok, ok, ok, ok},
		"/events/no-such/propose":                {in, none, none, none, none, none, none},
		agendaPage + "/board":                    {in, no, no, ok, no, no, ok},
		agendaPage + "/board?operation=none":     {in, no, no, ok, no, no, ok},
		"/events/no-such/board":                  {in, no, no, none, no, no, none},
		"/board":                                 {in, no, no, ok, no, no, ok},
		agendaPage + "/scoring":                  {405, 405, 405, 405, 405, 405, 405},
		sessionPage:                              {ok, ok, ok, ok, ok, ok, ok},
		"/join":                                  {ok, ok, ok, ok, ok, ok, ok},
		"/join?code=" + code:                     {ok, ok, ok, ok, ok, ok, ok},
		"/rooms/" + code:                         {ok, ok, ok, ok, ok, ok, ok}, // or rather the way in
		"/rooms/" + code + "/wall":               {in, no, no, ok, no, no, ok},
		"/rooms/" + code + "/host":               {in, no, no, ok, no, no, ok},
		"/rooms/QQQQQQ":                          {none, none, none, none, none, none, none},
		"/rooms/QQQQQQ/host":                     {in, no, no, none, no, no, none},
		"/rooms/" + code + "/polls":              {405, 405, 405, 405, 405, 405, 405},
		"/sessions/not-an-id":                    {none, none, none, none, none, none, none},
		"/ops":                                   {in, no, no, no, ok, ok, ok},
		"/ops/commands":                          {in, no, no, no, ok, ok, ok},
		"/ops/outbox":                            {in, no, no, no, ok, ok, ok},
		"/ops/jobs":                              {in, no, no, no, ok, ok, ok},
		jobPage:                                  {in, no, no, no, ok, ok, ok},
		"/ops/jobs/no-such-job":                  {in, no, no, no, none, none, none},
		"/ops/audit":                             {in, no, no, no, ok, ok, ok},
		firstRow(t, viewer.get("/ops/commands")): {in, no, no, no, ok, ok, ok},
		firstRow(t, viewer.get("/ops/outbox")):   {in, no, no, no, ok, ok, ok},
		"/ops/commands/01936d10-0000-7000-8000-000000000999": {in, no, no, no, none, none, none},
		"/ops/outbox/not-an-id":                              {in, no, no, no, none, none, none},
		"/inbox/01936d10-0000-7000-8000-000000000999":        {none, none, none, none, none, none, none},
		"/orders/{" + conferencePass + "}":                   {in, none, none, none, none, none, none},
		"/logout":                                            {405, 405, 405, 405, 405, 405, 405},
		"/nothing":                                           {none, none, none, none, none, none, none},
	}
	for i, who := range people {
		b := r.browse(t)
		if who != "" {
			b.be(who)
		}
		for address, want := range table {
			p := b.get(address)
			if want[i] == in {
				if p.status != ok || !strings.HasPrefix(p.path, "/login?next=") {
					t.Errorf("%q at %s: %d at %s, want the sign-in", who, address, p.status, p.path)
				}
				continue
			}
			if p.status != want[i] || p.first("bar").name == "" {
				t.Errorf("%q at %s: %d, want %d, as a page", who, address, p.status, want[i])
			}
		}
	}
}

// firstRow returns where the first row of a list leads.
func firstRow(t *testing.T, p shown) string {
	t.Helper()
	for body := range p.all("tbody") {
		for a := range body.all("a") {
			return a.attr("href")
		}
	}
	t.Fatalf("%s lists nothing", p.path)
	return ""
}

// Everything that a page names is there, for everybody; and every page is well made.
func TestEveryLinkLeadsSomewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	r := w.site()
	alice := r.browse(t).be("alice@example.com")
	for range 3 {
		alice.buy("tok_declined")
	}
	alice.buy("tok_visa")
	alice.submit(alice.buy("tok_declined"), "/cancellation")
	r.as("sam@example.com").poll(true)
	room := "/rooms/" + r.roomCode()
	w.within("quiet", w.settled)
	postgrestest.Exec(t, w.sales, `UPDATE platform.internal_commands SET processed_on = NULL, dead_lettered_on = now(), dead_letter_reason = 'crash_loop',
		last_error = 'it broke', crashes = 4 WHERE name = 'sales.send_order_confirmation_email'`)
	visited := map[string]bool{}
	for _, who := range []string{"", "alice@example.com", "viktor@example.com", "ada@example.com"} {
		b := r.browse(t)
		if who != "" {
			b.be(who)
		}
		c := crawler{browser: b, who: who, from: map[string]string{"/": "the address bar", "/nothing": "a typing error", "/checkout?quantity." + conferencePass + "=1": "the shop"}}
		c.run()
		for address := range c.from {
			visited[pattern(address)] = true
		}
	}
	for _, page := range []string{"/orders/*", "/inbox/*", "/inbox/*/html", "/ops/commands/*", "/ops/outbox/*", jobPage, "/ops/audit", "/events/*", "/events/*/propose", "/events/*/board", "/sessions/*", "/join", room, room + "/wall", room + "/host", "/api/v1/engagement/polls/*/results.csv", "/static/*/plenary.css", "/checkout", "/login"} {
		if !visited[page] {
			t.Errorf("the crawl did not come by %s", page)
		}
	}
}

// pattern is an address without its ids.
func pattern(address string) string {
	path, _, _ := strings.Cut(address, "?")
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if len(part) == 36 || (len(part) == 12 && i == 2) {
			parts[i] = "*"
		}
	}
	return strings.Join(parts, "/")
}

type crawler struct {
	*browser
	who  string
	from map[string]string // where each address was found
}

func (c *crawler) run() {
	todo := slices.Sorted(maps.Keys(c.from))
	for len(todo) > 0 && len(c.from) < 500 {
		address := todo[0]
		todo = todo[1:]
		p := c.get(address)
		if p.status >= 400 && p.status != http.StatusForbidden && address != "/nothing" {
			c.t.Errorf("%q: %s, found at %s: %d", c.who, address, c.from[address], p.status)
			continue
		}
		if p.name != "" || len(p.children) == 0 || strings.HasSuffix(address, "/html") {
			continue
		}
		c.inspect(address, p)
		for e := range p.all("a", "link", "script", "form") {
			next := e.attr("href") + e.attr("src")
			if e.name == "form" {
				if e.attr("method") == "post" {
					continue
				}
				next = e.attr("action")
			}
			next, ours := strings.CutPrefix(next, c.base)
			if ours || strings.HasPrefix(next, "/") {
				next, _, _ = strings.Cut(next, "#")
				if c.from[next] == "" && !strings.Contains(next, uuid.Nil.String()) { // which stands in a <template>
					c.from[next] = address
					todo = append(todo, next)
				}
			} else if !strings.HasPrefix(next, "#") && !strings.HasPrefix(next, "http://plenary.test/") {
				c.t.Errorf("%s leads to %q", address, next)
			}
		}
	}
}

// inspect looks at what every page owes its readers, those who do not see it first.
func (c *crawler) inspect(address string, p shown) {
	c.t.Helper()
	complain := func(ok bool, what string) {
		c.t.Helper()
		if !ok {
			c.t.Errorf("%q at %s: %s", c.who, address, what)
		}
	}
	complain(p.header.Get("Content-Security-Policy") == httpx.DefaultContentPolicy, "another content policy")
	complain(p.header.Get("Cache-Control") == "no-store", "may be kept by a browser")
	count := map[string]int{}
	ids, labels := map[string]bool{}, map[string]bool{}
	for e := range p.all() {
		count[e.name]++
		if id := e.attr("id"); id != "" {
			complain(!ids[id], "two elements are called "+id)
			ids[id] = true
		}
		labels[e.attr("for")] = true
		for _, a := range e.attrs {
			complain(a.Name.Local != "style" && !strings.HasPrefix(a.Name.Local, "on"), "an inline "+a.Name.Local)
		}
		complain(e.name != "style" && (e.name != "script" || (e.attr("src") != "" && e.words() == "")), "an inline "+e.name)
		complain((e.name != "a" && e.name != "button") || e.words() != "" || e.attr("aria-label") != "", "a link or button without words")
		complain(e.name != "table" || slices.ContainsFunc(e.children, func(c *element) bool { return c.name == "caption" }), "a table without caption")
		if e.has("data-region") && !e.has("data-version") { // else it is redrawn whenever its HTML is another one
			for input := range e.all("input") {
				complain(input.attr("name") != "key", "a form whose key has it redrawn all the time")
			}
		}
		complain(e.name != "nav" || e.attr("aria-label") != "", "a navigation without name")
	}
	for _, name := range []string{"main", "h1", "title", "header", "footer"} {
		complain(count[name] >= 1 && (count[name] == 1 || name == "header"), "not one "+name)
	}
	for e := range p.all() {
		for _, reference := range []string{"aria-labelledby", "aria-describedby"} {
			for _, id := range strings.Fields(e.attr(reference)) {
				complain(ids[id], reference+" names "+id+", which is not there")
			}
		}
		complain(e.attr("for") == "" || ids[e.attr("for")], "a label for "+e.attr("for")+", which is not there")
	}
	for form := range p.all("form") {
		c.inspectForm(form, labels, complain)
	}
}

func (c *crawler) inspectForm(form *element, labels map[string]bool, complain func(bool, string)) {
	inside := map[*element]bool{}
	for label := range form.all("label") {
		for input := range label.all("input") {
			inside[input] = true
		}
	}
	acts := form.attr("method") == "post"
	hasKey := false
	for input := range form.all("input", "select", "textarea") {
		hidden := input.attr("type") == "hidden"
		complain(hidden || inside[input] || (input.attr("id") != "" && labels[input.attr("id")]), "a field without label: "+input.attr("name"))
		hasKey = hasKey || input.attr("name") == "key"
	}
	action, err := url.Parse(form.attr("action"))
	complain(err == nil && strings.HasPrefix(action.Path, "/"), "a form without address")
	creates := acts && !slices.Contains([]string{"/login", "/logout", "/theme", "/join"}, action.Path)
	complain(!creates || hasKey, "a form that acts without a key: "+action.Path)
}
