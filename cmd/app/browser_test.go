package main

import (
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// browser is a person at the pages: it keeps cookies, follows redirects, and fills in the forms that it is shown.
type browser struct {
	t    *testing.T
	base string
	http *http.Client
}

func (r *replica) browse(t *testing.T) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{t: t, base: r.base, http: &http.Client{Jar: jar, Timeout: patient.Timeout}}
}

// shown is a page as the browser has it.
type shown struct {
	*element
	path   string // where it is, after redirects
	status int
	header http.Header
	raw    string
}

func (b *browser) do(method, address string, form url.Values, from string) shown {
	b.t.Helper()
	target, err := b.at().Parse(address)
	if err != nil {
		b.t.Fatal(err)
	}
	request, err := http.NewRequest(method, target.String(), strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	request.Header.Set("Accept", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8")
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.Header.Set("Origin", b.base)
		request.Header.Set("Sec-Fetch-Site", "same-origin")
		request.Header.Set("Referer", b.base+from)
	}
	response, err := b.http.Do(request)
	if err != nil {
		b.t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	p := shown{path: response.Request.URL.RequestURI(), status: response.StatusCode, header: response.Header, raw: string(data), element: &element{}}
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/html") {
		if p.element, err = parseHTML(p.raw); err != nil {
			b.t.Fatalf("%s %s: %v\n%s", method, address, err, p.raw)
		}
	}
	return p
}

func (b *browser) get(address string) shown {
	b.t.Helper()
	return b.do(http.MethodGet, address, nil, "")
}

// at is where the program is, for the cookies.
func (b *browser) at() *url.URL {
	b.t.Helper()
	u, err := url.Parse(b.base)
	if err != nil {
		b.t.Fatal(err)
	}
	return u
}

// fill returns a form of the page, by a part of its address, with what stands in it. Choices are made in changes.
func (b *browser) fill(p shown, action string, changes ...string) (form *element, values url.Values) {
	b.t.Helper()
	for f := range p.all("form") {
		if strings.Contains(f.attr("action"), action) {
			form = f
			break
		}
	}
	if form == nil {
		b.t.Fatalf("%s has no form for %s:\n%s", p.path, action, p.raw)
	}
	values = url.Values{}
	for input := range form.all("input") {
		kind := input.attr("type")
		if (kind == "radio" || kind == "checkbox") && !input.has("checked") {
			continue
		}
		values.Set(input.attr("name"), input.attr("value"))
	}
	for i := 0; i < len(changes); i += 2 {
		values.Set(changes[i], changes[i+1])
	}
	return form, values
}

// submit sends a form of the page.
func (b *browser) submit(p shown, action string, changes ...string) shown {
	b.t.Helper()
	form, values := b.fill(p, action, changes...)
	if form.attr("method") == "post" {
		return b.do(http.MethodPost, form.attr("action"), values, p.path)
	}
	return b.get(form.attr("action") + "?" + values.Encode())
}

// be signs in by a button of the demo.
func (b *browser) be(email string) *browser {
	b.t.Helper()
	p := b.get("/login")
	for f := range p.all("form") {
		for input := range f.all("input") {
			if input.attr("name") == "email" && input.attr("value") == email {
				if got := b.do(http.MethodPost, "/login", url.Values{"email": {email}, "password": {demoPassword}, "next": {"/"}}, "/login"); got.status != http.StatusOK {
					b.t.Fatalf("sign in as %s: %d", email, got.status)
				}
				return b
			}
		}
	}
	b.t.Fatalf("there is no button for %s", email)
	return nil
}

// element is a part of a page.
type element struct {
	name     string
	attrs    []xml.Attr
	children []*element
	text     string // of an element without a name
}

func (e *element) attr(name string) string {
	for _, a := range e.attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func (e *element) has(name string) bool {
	return slices.ContainsFunc(e.attrs, func(a xml.Attr) bool { return a.Name.Local == name })
}

// all yields the elements below e of some names, of every name for none.
func (e *element) all(names ...string) func(yield func(*element) bool) {
	return func(yield func(*element) bool) { e.walk(names, yield) }
}

func (e *element) walk(names []string, yield func(*element) bool) bool {
	for _, c := range e.children {
		if c.name != "" && (len(names) == 0 || slices.Contains(names, c.name)) && !yield(c) {
			return false
		}
		if !c.walk(names, yield) {
			return false
		}
	}
	return true
}

// words is the text of e, with single spaces.
func (e *element) words() string {
	var all []string
	var collect func(e *element)
	collect = func(e *element) {
		all = append(all, strings.Fields(e.text)...)
		for _, c := range e.children {
			collect(c)
		}
	}
	collect(e)
	return strings.Join(all, " ")
}

// first returns the first element that has a class, or an empty one.
func (e *element) first(class string) *element {
	for c := range e.all() {
		if slices.Contains(strings.Fields(c.attr("class")), class) {
			return c
		}
	}
	return &element{}
}

// void elements have no end tag.
var void = []string{"meta", "link", "input", "br", "hr", "img"}

// parseHTML reads a page more strictly than a browser would: every element that begins must end, in order.
func parseHTML(text string) (*element, error) {
	decoder := xml.NewDecoder(strings.NewReader(text))
	decoder.Strict, decoder.Entity = false, xml.HTMLEntity
	open := []*element{{}}
	for {
		token, err := decoder.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		top := open[len(open)-1]
		switch token := token.(type) {
		case xml.StartElement:
			e := &element{name: token.Name.Local, attrs: slices.Clone(token.Attr)}
			top.children = append(top.children, e)
			if !slices.Contains(void, e.name) {
				open = append(open, e)
			}
		case xml.EndElement:
			if top.name != token.Name.Local {
				return nil, errors.New("</" + token.Name.Local + "> ends <" + top.name + ">")
			}
			open = open[:len(open)-1]
		case xml.CharData:
			top.children = append(top.children, &element{text: string(token)})
		}
	}
	if len(open) != 1 {
		return nil, errors.New("<" + open[len(open)-1].name + "> does not end")
	}
	return open[0], nil
}
