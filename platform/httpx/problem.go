package httpx

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/strictjson"
)

// Problem is the body of every answer that is not a success: RFC 9457 with a stable code for programs.
type Problem struct {
	Type          string         `json:"type" doc:"Always about:blank: the code tells problems apart"`
	Title         string         `json:"title" doc:"The status in words"`
	Status        int            `json:"status"`
	Detail        string         `json:"detail" doc:"For people"`
	Code          string         `json:"code" doc:"For programs; stable" example:"sales.out_of_stock"`
	CorrelationID string         `json:"correlationId" doc:"Quote it when you ask us"`
	Errors        []ProblemField `json:"errors,omitempty" doc:"What is wrong with which input"`
}

// ProblemField is one complaint about one input.
type ProblemField struct {
	Field   string `json:"field" example:"lines[0].quantity"`
	Code    string `json:"code" example:"out_of_range"`
	Message string `json:"message"`
}

// statusOf is the one table from kinds to statuses.
var statusOf = map[fault.Kind]int{
	fault.Internal:           http.StatusInternalServerError,
	fault.Invalid:            http.StatusBadRequest,
	fault.Unauthenticated:    http.StatusUnauthorized,
	fault.Forbidden:          http.StatusForbidden,
	fault.NotFound:           http.StatusNotFound,
	fault.Conflict:           http.StatusConflict,
	fault.PreconditionFailed: http.StatusPreconditionFailed,
	fault.RateLimited:        http.StatusTooManyRequests,
	fault.Unavailable:        http.StatusServiceUnavailable,
}

// StatusError is a refusal that only HTTP knows, such as 405 or 415. Everything else is a fault.
type StatusError struct {
	Status  int
	Code    string
	Message string
	Header  http.Header // added to the answer
}

// Error returns the message.
func (e *StatusError) Error() string { return e.Message }

// statusClientGone is what log and metrics say when nobody was there any more to be answered.
const statusClientGone = 499

// WriteProblem answers with the problem that err is, and notes err for the log line of the request. To a
// client that has gone it writes no body. If an answer has begun it breaks the connection off: half an answer must
// not look like a whole one.
func WriteProblem(w http.ResponseWriter, r *http.Request, err error) {
	entry := entryOf(r.Context())
	entry.err = err
	entry.clientGone = errors.Is(r.Context().Err(), context.Canceled) && entry.stack == "" && !errors.Is(err, errTooSlow)
	switch {
	case entry.begun():
		panic(http.ErrAbortHandler)
	case entry.clientGone:
		w.WriteHeader(statusClientGone) // silence would be sent as 200, should somebody still be there
		return
	}
	problem, header := problemOf(r.Context(), err)
	for name, values := range header {
		w.Header()[name] = values
	}
	problem.CorrelationID = identity.CorrelationID(r.Context())
	body, err := strictjson.Encode(problem)
	if err != nil { // its texts are ours; one that cannot be written is a bug
		body = []byte(`{"type":"about:blank","title":"Internal Server Error","status":500,"detail":"","code":"internal","correlationId":""}`)
		problem.Status = http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Del("ETag")
	w.WriteHeader(problem.Status)
	_, _ = w.Write(body)
}

func problemOf(ctx context.Context, err error) (Problem, http.Header) {
	if e, ok := errors.AsType[*StatusError](err); ok {
		return newProblem(e.Status, e.Code, e.Message, nil), e.Header
	}
	e := fault.As(err)
	if outOfTime(ctx, err, e) {
		return newProblem(http.StatusServiceUnavailable, "timeout", "this took too long", nil), retryAfter(0)
	}
	if e == nil || e.Kind == fault.Internal {
		return newProblem(http.StatusInternalServerError, "internal", "something went wrong on our side", nil), nil
	}
	var header http.Header
	switch e.Kind {
	case fault.Unauthenticated:
		header = http.Header{"Www-Authenticate": {"Bearer"}}
	case fault.RateLimited, fault.Unavailable:
		header = retryAfter(e.RetryAfter)
	default:
		if e.RetryAfter > 0 {
			header = retryAfter(e.RetryAfter)
		}
	}
	return newProblem(statusOf[e.Kind], e.Code, e.Message, e.Fields), header
}

// outOfTime reports whether the request's own deadline is the cause. Whoever was interrupted by it may have
// called that an unavailable database, or nothing at all.
func outOfTime(ctx context.Context, err error, e *fault.Error) bool {
	if e != nil && e.Kind != fault.Unavailable && e.Kind != fault.Internal {
		return false
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(ctx.Err(), context.DeadlineExceeded)
}

func newProblem(status int, code, detail string, fields []fault.Field) Problem {
	p := Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Code: code}
	for _, f := range fields {
		p.Errors = append(p.Errors, ProblemField{Field: f.Path, Code: f.Code, Message: f.Message})
	}
	return p
}

// retryAfter rounds up to whole seconds; 1 if it is not known.
func retryAfter(d time.Duration) http.Header {
	seconds := max(1, int(math.Ceil(d.Seconds())))
	return http.Header{"Retry-After": {strconv.Itoa(seconds)}}
}
