package httpx

import (
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-chi/chi/v5"

	"example.com/plenary/platform/fault"
)

// binding is what an input type says about a request. It is made once a route and only read from then on.
type binding struct {
	params []param
	body   *bodyField
}

// param is one field of an input that is not its body.
type param struct {
	in, name  string // in is one of sources
	field     reflect.StructField
	index     []int // of the field, from the input's type on
	parse     parser
	required  bool
	byDefault string // as it would have been sent; "" for none
	rules     rules
}

// sources are the tags that bind a field, and where its value comes from.
var sources = []string{"path", "query", "header", "cookie"}

var pathParameter = regexp.MustCompile(`\{([^}]*)\}`)

// bind reads the tags of an input type. It panics on a mistake in them.
func bind(t reflect.Type, route Route) *binding {
	if t.Kind() != reflect.Struct {
		route.mistake("the input is not a struct")
	}
	b := &binding{}
	if route.Method != http.MethodGet && route.Method != http.MethodDelete {
		b.body = noBody
	}
	b.collect(t, nil, route)

	declared := map[string]bool{}
	for _, p := range b.params {
		if declared[p.in+p.name] {
			route.mistake("%s %s is bound twice", p.in, p.name)
		}
		declared[p.in+p.name] = true
	}
	inPath := 0
	for _, match := range pathParameter.FindAllStringSubmatch(route.Path, -1) {
		inPath++
		if !declared["path"+match[1]] {
			route.mistake("nothing is bound to {%s}", match[1])
		}
	}
	if n := len(slices.DeleteFunc(slices.Clone(b.params), func(p param) bool { return p.in != "path" })); n != inPath {
		route.mistake("%d path parameters are bound, %d are there", n, inPath)
	}
	return b
}

// collect goes through the fields of t, which stands at index above in the input. What is bound to nothing is a
// mistake: it would be zero in every request, and look like something that was sent.
func (b *binding) collect(t reflect.Type, above []int, route Route) {
	for f := range t.Fields() {
		index := append(slices.Clone(above), f.Index...)
		in := slices.IndexFunc(sources, func(s string) bool { _, ok := f.Tag.Lookup(s); return ok })
		switch {
		case in >= 0:
			b.params = append(b.params, newParam(sources[in], f, index, route))
		case f.Name == "Body":
			if b.body == nil {
				route.mistake("%s takes no body", route.Method)
			}
			b.body = newBodyField(f.Type, index)
		case f.Anonymous && f.Type.Kind() == reflect.Struct:
			b.collect(f.Type, index, route)
		default:
			route.mistake("field %s is bound to nothing", f.Name)
		}
	}
}

// newParam reads the tags of one field. A default must pass the rules that hold for what is sent.
func newParam(in string, f reflect.StructField, index []int, route Route) param {
	p := param{
		in: in, name: f.Tag.Get(in), field: f, index: index,
		parse: parserFor(f.Type), required: in == "path" || f.Tag.Get("required") == "true",
		byDefault: f.Tag.Get("default"), rules: rulesOf(f),
	}
	if p.name == "" || p.parse == nil || in == "cookie" && f.Type.Kind() != reflect.String {
		route.mistake("field %s cannot be bound to %s", f.Name, in)
	}
	if p.byDefault != "" {
		if c := p.set(reflect.New(f.Type).Elem(), p.byDefault); c != nil {
			route.mistake("the default of %s is not valid", f.Name)
		}
	}
	return p
}

// read fills in, a zero value of the type that was bound, and returns the raw body. That comes first, because what
// it must be is known before anything about its content; its meaning comes last.
func (b *binding) read(w http.ResponseWriter, r *http.Request, in reflect.Value) (raw []byte, err error) {
	if raw, err = b.body.raw(w, r); err != nil {
		return nil, err
	}
	if err := b.readParams(r, in); err != nil {
		return nil, err
	}
	return raw, b.body.decode(raw, in)
}

// readParams hears all complaints before it answers, except those after which the others mean nothing: a query that
// cannot be read, an id that names nothing, a change that is based on no version.
func (b *binding) readParams(r *http.Request, in reflect.Value) error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return invalid("", "invalid_query", "the query is not well-formed")
	}
	if err := b.checkQuery(query); err != nil {
		return err
	}
	var complaints fault.Violations
	for _, p := range b.params {
		values, err := p.values(r, query)
		if err != nil {
			return err
		}
		switch {
		case len(values) > 1:
			complaints.Add(p.name, "duplicate", "is given twice")
		case len(values) == 1 && values[0] != "":
			if c := p.set(in.FieldByIndex(p.index), values[0]); c != nil {
				if p.in == "path" && c.code == "invalid_id" {
					return invalidID(p.name, c)
				}
				complaints.Add(p.name, c.code, c.message)
			}
		case p.required && p.in == "header" && p.name == "If-Match":
			return errNoPrecondition
		case p.required:
			complaints.Add(p.name, "required", "is missing")
		case p.byDefault != "":
			p.set(in.FieldByIndex(p.index), p.byDefault)
		}
	}
	return complaints.Err()
}

// checkQuery looks at the whole query: what is in it may be logged, stored or compared further on.
func (b *binding) checkQuery(query url.Values) error {
	for name, values := range query {
		if !storable(name) || slices.ContainsFunc(values, func(v string) bool { return !storable(v) }) {
			return invalid("", "invalid_text", "the query contains text that is not valid UTF-8 or contains NUL")
		}
		if !slices.ContainsFunc(b.params, func(p param) bool { return p.in == "query" && p.name == name }) {
			return invalid("", "unknown_parameter", "the query has a parameter that is not known here")
		}
	}
	return nil
}

// values returns what was sent for p, unescaped once; more than one value is for the caller to refuse.
func (p param) values(r *http.Request, query url.Values) ([]string, error) {
	switch p.in {
	case "query":
		return query[p.name], nil
	case "header":
		return r.Header.Values(p.name), nil
	case "cookie":
		c, err := r.Cookie(p.name)
		if err != nil {
			return nil, nil // absent, or not in ASCII, which net/http takes for absent
		}
		return []string{c.Value}, nil
	default:
		value := chi.URLParam(r, p.name)
		if r.URL.RawPath != "" { // then chi has matched the escaped path
			unescaped, err := url.PathUnescape(value)
			if err != nil {
				return nil, invalid(p.name, "invalid_text", "is not well-formed")
			}
			value = unescaped
		}
		return []string{value}, nil
	}
}

// set reads text into v, a field of p's type, and returns what is wrong with it.
func (p param) set(v reflect.Value, text string) *complaint {
	if !storable(text) {
		return &complaint{"invalid_text", "is not valid UTF-8 or contains NUL"}
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	if c := p.parse(v, text); c != nil {
		return c
	}
	return p.rules.check(v)
}

// storable reports whether PostgreSQL can store s as text, and a log line show it.
func storable(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

func invalid(path, code, message string) error {
	return fault.Violations{{Path: path, Code: code, Message: message}}.Err()
}

func invalidID(path string, c *complaint) error {
	return &fault.Error{
		Kind: fault.Invalid, Code: c.code, Message: "the id in the path is not valid",
		Fields: []fault.Field{{Path: path, Code: c.code, Message: c.message}},
	}
}

var errNoPrecondition = &StatusError{
	Status: http.StatusPreconditionRequired, Code: "precondition_required",
	Message: "send the ETag of the version that you have seen as If-Match",
}
