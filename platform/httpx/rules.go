package httpx

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// rules are the limits that a parameter's tags set.
type rules struct {
	enum                 []string
	minimum, maximum     *int64
	minLength, maxLength *int64
}

func rulesOf(f reflect.StructField) rules {
	number := func(tag string) *int64 {
		text, ok := f.Tag.Lookup(tag)
		if !ok {
			return nil
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			panic("httpx: field " + f.Name + ": " + tag + " is not a number")
		}
		return &n
	}
	var r rules
	if enum := f.Tag.Get("enum"); enum != "" {
		r.enum = strings.Split(enum, ",")
	}
	r.minimum, r.maximum = number("minimum"), number("maximum")
	r.minLength, r.maxLength = number("minLength"), number("maxLength")
	return r
}

// check returns what is wrong with a value that was read. What it answers names the limits, never the value.
func (r rules) check(v reflect.Value) *complaint {
	switch {
	case v.CanInt():
		if n := v.Int(); r.minimum != nil && n < *r.minimum || r.maximum != nil && n > *r.maximum {
			return &complaint{"out_of_range", "is " + r.outside()}
		}
	case v.Kind() == reflect.String:
		n := int64(utf8.RuneCountInString(v.String()))
		switch {
		case r.enum != nil && !slices.Contains(r.enum, v.String()):
			return &complaint{"unknown_value", "must be one of " + strings.Join(r.enum, ", ")}
		case r.minLength != nil && n < *r.minLength:
			return &complaint{"too_short", fmt.Sprintf("must have at least %d characters", *r.minLength)}
		case r.maxLength != nil && n > *r.maxLength:
			return &complaint{"too_long", fmt.Sprintf("must have at most %d characters", *r.maxLength)}
		}
	}
	return nil
}

// outside says how a number misses a range that has one end or two.
func (r rules) outside() string {
	switch {
	case r.maximum == nil:
		return fmt.Sprintf("less than %d", *r.minimum)
	case r.minimum == nil:
		return fmt.Sprintf("more than %d", *r.maximum)
	default:
		return fmt.Sprintf("not from %d to %d", *r.minimum, *r.maximum)
	}
}
