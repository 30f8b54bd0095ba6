// Package fault gives an error the one property that its callers act upon: its kind.
//
// A function that knows the cause of a failure says so where it happens:
//
//	return fault.New(fault.Conflict, "sales.out_of_stock", "not enough tickets are left")
//
// Everyone on the way up wraps with %w, as with any error. At each edge one table turns the kind into an
// answer: httpx into a status and a problem document, internalcommand and outbox into "try again" or "give
// up" (see [Retryable]). An error without a kind is [Internal]: its text is for the log, never for a caller.
package fault

import (
	"errors"
	"fmt"
	"time"
)

// Kind says what sort of failure an error is. The zero value is Internal.
type Kind int

// The kinds, in the order of the tables at the edges.
const (
	Internal           Kind = iota // ours: a bug, a broken invariant, a panic
	Invalid                        // the request can never succeed as it stands
	Unauthenticated                // nobody has said who is asking
	Forbidden                      // the one who asks may not
	NotFound                       // it does not exist, or not for the one who asks
	Conflict                       // the state of things forbids it now
	PreconditionFailed             // the version that the request was based on is not the current one
	RateLimited                    // too much, too soon
	Unavailable                    // something we depend on does not answer; later it may
)

var kindNames = [...]string{
	"internal", "invalid", "unauthenticated", "forbidden", "not_found", "conflict", "precondition_failed",
	"rate_limited", "unavailable",
}

// String returns the kind's stable name, fit for a log or a metric label.
func (k Kind) String() string {
	if k < 0 || int(k) >= len(kindNames) {
		return kindNames[Internal]
	}
	return kindNames[k]
}

// Error is a failure whose cause is known. Code is stable and meant for programs ("sales.out_of_stock");
// Message is meant for people and never contains a value that a caller sent, nor anything secret.
type Error struct {
	Kind       Kind
	Code       string
	Message    string
	Fields     []Field       // what is wrong with which input, for Invalid
	RetryAfter time.Duration // when asking again makes sense, for RateLimited and Unavailable; 0: unknown
	cause      error
}

// Field is one complaint about one input. Path is written as the caller knows it: "lines[0].quantity".
type Field struct {
	Path    string
	Code    string
	Message string
}

// Error returns the message, and the cause behind it for the log.
func (e *Error) Error() string {
	if e.cause != nil {
		return e.Message + ": " + e.cause.Error()
	}
	return e.Message
}

// Unwrap returns the cause that Wrap was given, or nil.
func (e *Error) Unwrap() error { return e.cause }

// New returns a failure of a known kind.
func New(kind Kind, code, message string) *Error {
	return &Error{Kind: kind, Code: code, Message: message}
}

// Newf is New with a formatted message. The operands must not be values that a caller sent.
func Newf(kind Kind, code, format string, args ...any) *Error {
	return New(kind, code, fmt.Sprintf(format, args...))
}

// Wrap returns a failure of a known kind that keeps its cause for the log. The cause's text reaches no caller.
func Wrap(cause error, kind Kind, code, message string) *Error {
	return &Error{Kind: kind, Code: code, Message: message, cause: cause}
}

// As returns the outermost *Error in err's chain, or nil if nobody has said what kind of failure it is.
func As(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return nil
}

// KindOf returns the kind of err: Internal unless an *Error in its chain says otherwise.
func KindOf(err error) Kind {
	if e := As(err); e != nil {
		return e.Kind
	}
	return Internal
}

// Is reports whether err carries the stable code.
func Is(err error, code string) bool {
	e := As(err)
	return e != nil && e.Code == code
}

// Retryable is the one table of what is worth another attempt in the background. What is refused for its
// content or for who asked will be refused again; everything else may heal, "not found" included: what it
// looks for may not have been committed yet.
func Retryable(err error) bool {
	switch KindOf(err) {
	case Invalid, Unauthenticated, Forbidden, PreconditionFailed:
		return false
	default:
		return true
	}
}
