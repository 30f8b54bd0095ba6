package httpx

import (
	"strconv"
	"strings"

	"example.com/plenary/platform/fault"
)

// ETag returns the entity tag of a version.
func ETag(version int64) string { return `"` + strconv.FormatInt(version, 10) + `"` }

// IfMatch is the version that a change was based on. Declare it as header:"If-Match", with required:"true" where a
// change without it is refused (428). Its zero value was not sent, and matches everything.
type IfMatch struct {
	conditional bool
	version     int64 // noVersion if the tag is none of ours
}

// noVersion is what a well-formed tag means that we cannot have handed out: it is stale, not malformed.
const noVersion = -1

// UnmarshalText reads * or one entity tag. Anything else, a list too, is an Invalid fault ("invalid_etag").
func (m *IfMatch) UnmarshalText(text []byte) error {
	s := string(text)
	if s == "*" {
		*m = IfMatch{}
		return nil
	}
	tag, weak := strings.CutPrefix(s, "W/")
	inner, ok := strings.CutPrefix(tag, `"`)
	inner, closed := strings.CutSuffix(inner, `"`)
	if !ok || !closed || strings.Contains(inner, `"`) {
		return fault.New(fault.Invalid, "invalid_etag", "must be one entity tag, in quotes")
	}
	*m = IfMatch{conditional: true, version: noVersion}
	if n, err := strconv.ParseInt(inner, 10, 64); err == nil && !weak && ETag(n) == tag {
		m.version = n
	}
	return nil
}

// Expected returns the version that must be the current one, nil if any will do. No version is negative: a tag that
// matches none comes as -1.
func (m IfMatch) Expected() *int64 {
	if !m.conditional {
		return nil
	}
	return &m.version
}

// Check returns nil if version is what was expected, and otherwise a PreconditionFailed fault ("stale_version").
func (m IfMatch) Check(version int64) error {
	if m.conditional && m.version != version {
		return fault.New(fault.PreconditionFailed, "stale_version", "it has changed since you have seen it")
	}
	return nil
}
