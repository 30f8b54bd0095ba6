package scoring

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"example.com/plenary/platform/fault"
)

// maxBody is many times what the longest answer needs. The SDK by itself reads without end.
const maxBody = 1 << 20

var (
	errTooMuch = errors.New("the answer is too large")
	identifier = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
)

// exchange is what the wire showed of one call. It stands between the SDK and the network, because the SDK's
// errors do not say everywhere how far a call got, and quote the service's answer.
type exchange struct {
	status     int  // 0: no answer
	whole      bool // the answer was read to its end
	id         string
	retryAfter time.Duration
}

func (x *exchange) observe(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	res, err := next(req)
	if err != nil {
		return res, err
	}
	x.status = res.StatusCode
	x.retryAfter = retryAfter(res.Header)
	if id := res.Header.Get("request-id"); identifier.MatchString(id) {
		x.id = id
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBody+1))
	_ = res.Body.Close()
	switch {
	case err != nil:
		return nil, err
	case len(body) > maxBody:
		return nil, errTooMuch
	}
	x.whole = true
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, nil
}

// failure turns the end of a call into a fault. The cause names the status, the kind of error and the request, for
// the log; it has no word of the body, which may repeat the proposal.
func (x *exchange) failure(err error) error {
	switch {
	case errors.Is(err, errTooMuch):
		return unparseable(err)
	case x.status == 0, !x.whole:
		return fault.Wrap(err, fault.Unavailable, "scoring.unavailable", "the model cannot be reached")
	case x.status == http.StatusOK:
		return unparseable(errors.New("it is not a message"))
	}
	cause := x.cause(err)
	switch x.status {
	case http.StatusTooManyRequests:
		f := fault.Wrap(cause, fault.RateLimited, "scoring.rate_limited", "the model is asked too often")
		f.RetryAfter = x.retryAfter
		return f
	case http.StatusRequestTimeout, http.StatusConflict:
		return x.unavailable(cause)
	}
	if x.status >= http.StatusInternalServerError {
		return x.unavailable(cause)
	}
	// Also a 400: the text is bounded and well formed, so what the service does not like is what we say around it.
	return fault.Wrap(cause, fault.Internal, "scoring.misconfigured", "the model's service does not serve us: check the key, the account, the model and the address")
}

func (x *exchange) unavailable(cause error) error {
	f := fault.Wrap(cause, fault.Unavailable, "scoring.unavailable", "the model's service does not work at the moment")
	f.RetryAfter = x.retryAfter
	return f
}

func (x *exchange) cause(err error) error {
	text := fmt.Sprintf("status %d", x.status)
	if e, ok := errors.AsType[*anthropic.Error](err); ok && identifier.MatchString(string(e.Type())) {
		text += ", " + string(e.Type())
	}
	if x.id != "" {
		text += ", request " + x.id
	}
	return errors.New(text)
}

func timedOut() error {
	return fault.New(fault.Unavailable, "scoring.timeout", "the model took too long")
}

// retryAfter reads what the service says about coming back: seconds or a date. What it cannot mean is 0, unknown;
// nobody is sent away for more than an hour.
func retryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		if !(seconds > 0) { // not a number is neither
			return 0
		}
		return time.Duration(min(seconds, time.Hour.Seconds()) * float64(time.Second))
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(time.Until(at), 0), time.Hour)
	}
	return 0
}

// outcomeOf names how a call ended, fit for a metric label.
func outcomeOf(err error) string {
	if err == nil {
		return "scored"
	}
	if f := fault.As(err); f != nil {
		return strings.TrimPrefix(f.Code, "scoring.")
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return "cancelled"
	}
	return "internal"
}
