package httpx

import (
	"reflect"
	"strings"

	"example.com/plenary/platform/strictjson"
)

// differs reports whether a type's form depends on who sends it: whether there is a pointer somewhere in it.
func differs(t reflect.Type, above map[reflect.Type]bool) bool {
	switch t.Kind() {
	case reflect.Pointer:
		return true
	case reflect.Slice, reflect.Array, reflect.Map:
		return differs(t.Elem(), above)
	case reflect.Struct:
		if above[t] {
			return false
		}
		above[t] = true
		if reflect.PointerTo(t).Implements(reflect.TypeFor[strictjson.NullTaker]()) {
			return true
		}
		if strictjson.HasOwnForm(t) {
			return false
		}
		for _, m := range strictjson.Members(t) {
			if differs(m.Field.Type, above) {
				return true
			}
		}
	}
	return false
}

// nameFor makes a schema's name from the type's: Order, OrderPage for a Page of them, OrderInput for what is sent if
// that differs from what is answered. Where two packages use one name, the later is called after its package.
func (s *schemas) nameFor(t reflect.Type, d direction) string {
	name := plainName(t.Name())
	if d == sent {
		name += "Input"
	}
	if _, taken := s.ByName[name]; !taken {
		return name
	}
	name = capital(t.PkgPath()[strings.LastIndexByte(t.PkgPath(), '/')+1:]) + name
	if _, taken := s.ByName[name]; taken {
		panic("httpx: two types are called " + name + " in the document")
	}
	return name
}

// plainName turns "Page[some/module/sales.order]" into "OrderPage".
func plainName(name string) string {
	outer, args, generic := strings.Cut(name, "[")
	outer, _, _ = strings.Cut(outer, "·") // a type that was declared in a function
	outer = capital(outer[strings.LastIndexAny(outer, "./")+1:])
	if !generic {
		return outer
	}
	prefix := ""
	for arg := range strings.SplitSeq(strings.TrimSuffix(args, "]"), ",") {
		prefix += plainName(strings.TrimLeft(arg, "[]*"))
	}
	return prefix + outer
}

// capital makes an unexported type's name fit for others.
func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
