package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"strings"

	gomail "github.com/wneessen/go-mail"

	"example.com/plenary/platform/fault"
)

// failure turns what went wrong in an attempt into a fault: the one table of what is worth another attempt.
func failure(ctx context.Context, err error, recipient string) error {
	if ctx.Err() != nil { // err is then about the connection that was closed for it
		return fault.Wrap(context.Cause(ctx), fault.Unavailable, "mail.unavailable",
			"the attempt ended before the mail server took the mail")
	}
	cause := &attemptError{text: readable(err, recipient), err: err}
	if sendErr, ok := errors.AsType[*gomail.SendError](err); ok && final(sendErr) {
		return fault.Wrap(cause, fault.Invalid, "mail.rejected",
			"the mail server refuses this recipient or message for good")
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return fault.Wrap(cause, fault.Unavailable, "mail.unavailable",
			"the mail server's certificate is not accepted")
	}
	return fault.Wrap(cause, fault.Unavailable, "mail.unavailable", "the mail server did not take the mail")
}

// final reports whether the server has spoken its last word on this recipient or this content. A permanent
// code that is about us (our sender, our password, our right to relay) is none: once somebody mends the settings,
// the mail goes out.
func final(e *gomail.SendError) bool {
	code := e.ErrorCode()
	if code < 500 || code > 599 {
		return false
	}
	switch code {
	case 502, 503, 530, 534, 535, 538: // a command out of place, or "log in first"
		return false
	}
	status := e.EnhancedStatusCode()
	switch e.Reason {
	case gomail.ErrSMTPRcptTo:
		return !strings.HasPrefix(status, "5.7.") // policy: most often "relaying denied"
	case gomail.ErrSMTPData, gomail.ErrSMTPDataClose:
		ours := len(status) == len("5.7.20") && strings.HasPrefix(status, "5.7.2") // our domain's signatures
		return !ours
	default:
		return false
	}
}

// attemptError keeps the cause for errors.As, and says in its text what a log may hold.
type attemptError struct {
	text string
	err  error
}

func (e *attemptError) Error() string { return e.text }

func (e *attemptError) Unwrap() error { return e.err }

const maxServerText = 300

// readable is err's text as one short line that does not name the recipient. go-mail and many servers
// quote the address, and what a server writes is as long and as strange as it pleases.
func readable(err error, recipient string) string {
	text := strings.ReplaceAll(clean(err.Error()), recipient, "(recipient)")
	if len(text) > maxServerText {
		text = strings.ToValidUTF8(text[:maxServerText], "") + "…"
	}
	return text
}
