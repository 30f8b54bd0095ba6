package httpx

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"example.com/plenary/platform/strictjson"
)

// Schema is as much of JSON Schema 2020-12 as Go types need.
type Schema struct {
	Ref             string             `json:"$ref,omitzero"`
	Type            any                `json:"type,omitzero"` // a name, or several
	Format          string             `json:"format,omitzero"`
	Description     string             `json:"description,omitzero"`
	ContentEncoding string             `json:"contentEncoding,omitzero"`
	Enum            []any              `json:"enum,omitempty"`
	Default         any                `json:"default,omitzero"`
	Examples        []any              `json:"examples,omitempty"`
	Minimum         *int64             `json:"minimum,omitzero"`
	Maximum         *int64             `json:"maximum,omitzero"`
	MinLength       *int64             `json:"minLength,omitzero"`
	MaxLength       *int64             `json:"maxLength,omitzero"`
	MinItems        *int64             `json:"minItems,omitzero"`
	MaxItems        *int64             `json:"maxItems,omitzero"`
	Pattern         string             `json:"pattern,omitzero"` // by a SchemaProvider
	Items           *Schema            `json:"items,omitzero"`
	Properties      map[string]*Schema `json:"properties,omitempty"`
	Required        []string           `json:"required,omitempty"`
	Additional      any                `json:"additionalProperties,omitzero"` // false, or a *Schema
	AnyOf           []*Schema          `json:"anyOf,omitempty"`
}

// SchemaProvider is implemented by types that write themselves in another form than their fields suggest.
type SchemaProvider interface{ JSONSchema() *Schema }

// underlying is what strictjson.Nullable tells about itself.
type underlying interface{ Underlying() any }

// direction: a pointer is a member that a request may lack, and that an answer may have as null.
type direction int

const (
	sent direction = iota // by the client
	answered
)

// form is a type as one side writes it: what has a name of its own in the document.
type form struct {
	typ reflect.Type
	direction
}

// schemas derives schemas from Go types, by the rules of strictjson, and collects those that have a name.
type schemas struct {
	ByName map[string]*Schema
	names  map[form]string
}

func newSchemas() *schemas { return &schemas{ByName: map[string]*Schema{}, names: map[form]string{}} }

// of returns the schema of a type. Types that read and write themselves are strings, unless they say otherwise. It
// panics on a type that has no JSON form: while the program is wired, not at the first answer.
func (s *schemas) of(t reflect.Type, d direction) *Schema {
	if t.Kind() == reflect.Pointer {
		inner := s.of(t.Elem(), d)
		if d == answered {
			return nullable(inner)
		}
		return inner
	}
	switch zero := reflect.New(t).Interface().(type) {
	case SchemaProvider:
		provided := *zero.JSONSchema() // a field's tags are added to it, and it may be shared
		return &provided
	case underlying:
		return nullable(s.of(reflect.TypeOf(zero.Underlying()), d))
	case *uuid.UUID:
		return &Schema{Type: "string", Format: "uuid"}
	case *time.Time:
		return &Schema{Type: "string", Format: "date-time"}
	case *jsontext.Value, *json.RawMessage, *any:
		return &Schema{}
	}
	if strictjson.HasOwnForm(t) {
		return &Schema{Type: "string"}
	}
	switch t.Kind() {
	case reflect.Bool:
		return &Schema{Type: "boolean"}
	case reflect.String:
		return &Schema{Type: "string"}
	case reflect.Float32, reflect.Float64:
		return &Schema{Type: "number", Format: "double"}
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return &Schema{Type: "string", ContentEncoding: "base64"}
		}
		return &Schema{Type: "array", Items: s.of(t.Elem(), d)}
	case reflect.Map:
		return &Schema{Type: "object", Additional: s.of(t.Elem(), d)}
	case reflect.Struct:
		return s.ofStruct(t, d)
	}
	return ofInteger(t)
}

func ofInteger(t reflect.Type) *Schema {
	zero := int64(0)
	switch t.Kind() {
	case reflect.Int, reflect.Int64:
		return &Schema{Type: "integer", Format: "int64"}
	case reflect.Int8, reflect.Int16, reflect.Int32:
		return &Schema{Type: "integer", Format: "int32"}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return &Schema{Type: "integer", Minimum: &zero}
	default:
		panic(fmt.Sprintf("httpx: %v has no JSON form", t))
	}
}

// ofStruct returns a reference to a named struct, or the schema of one without a name.
func (s *schemas) ofStruct(t reflect.Type, d direction) *Schema {
	if t.Name() == "" {
		return s.object(t, d)
	}
	if !differs(t, map[reflect.Type]bool{}) {
		d = answered
	}
	name, known := s.names[form{t, d}]
	if !known {
		name = s.nameFor(t, d)
		s.names[form{t, d}] = name
		s.ByName[name] = nil // taken, also by the type's own members
		s.ByName[name] = s.object(t, d)
	}
	return &Schema{Ref: "#/components/schemas/" + name}
}

// object describes the members that strictjson knows; there are no others.
func (s *schemas) object(t reflect.Type, d direction) *Schema {
	o := &Schema{Type: "object", Properties: map[string]*Schema{}, Additional: false}
	for _, m := range strictjson.Members(t) {
		o.Properties[m.Name] = s.ofField(m.Field, d)
		if optional := m.Omittable || d == sent && m.Optional; !optional {
			o.Required = append(o.Required, m.Name)
		}
	}
	return o
}

// ofField adds what a field's tags say about its values. Of a list, all but its length is about its items.
func (s *schemas) ofField(f reflect.StructField, d direction) *Schema {
	schema := s.of(f.Type, d)
	if doc := f.Tag.Get("doc"); doc != "" {
		schema.Description = doc
	}
	number := func(tag string, limit **int64) {
		if n, err := strconv.ParseInt(f.Tag.Get(tag), 10, 64); err == nil {
			*limit = &n
		}
	}
	number("minItems", &schema.MinItems)
	number("maxItems", &schema.MaxItems)
	value := schema
	if schema.Items != nil {
		value = schema.Items
	}
	number("minimum", &value.Minimum)
	number("maximum", &value.Maximum)
	number("minLength", &value.MinLength)
	number("maxLength", &value.MaxLength)
	if format := f.Tag.Get("format"); format != "" {
		value.Format = format
	}
	if enum := f.Tag.Get("enum"); enum != "" {
		for text := range strings.SplitSeq(enum, ",") {
			value.Enum = append(value.Enum, value.literal(text))
		}
		if isNullable(value) {
			value.Enum = append(value.Enum, nil)
		}
	}
	if text := f.Tag.Get("default"); text != "" {
		value.Default = value.literal(text)
	}
	if text := f.Tag.Get("example"); text != "" {
		value.Examples = []any{value.literal(text)}
	}
	return schema
}

// literal reads a tag's text as a value of the schema's type.
func (s *Schema) literal(text string) any {
	names, _ := s.Type.([]string)
	if name, ok := s.Type.(string); ok {
		names = []string{name}
	}
	for _, name := range names {
		switch name {
		case "integer":
			if n, err := strconv.ParseInt(text, 10, 64); err == nil {
				return n
			}
		case "boolean":
			return text == "true"
		}
	}
	return text
}

// nullable lets null be a value too. It may change s.
func nullable(s *Schema) *Schema {
	switch name, named := s.Type.(string); {
	case named:
		s.Type = []string{name, "null"}
		if s.Enum != nil {
			s.Enum = append(s.Enum, nil)
		}
		return s
	case s.Ref != "":
		return &Schema{AnyOf: []*Schema{s, {Type: "null"}}}
	default:
		return s // it is nullable, or free-form
	}
}

func isNullable(s *Schema) bool {
	names, several := s.Type.([]string)
	return several && len(names) == 2 && names[1] == "null"
}
