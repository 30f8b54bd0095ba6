package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/google/uuid"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/httpx"
)

// maxForm is in bytes. The longest form of ours has some hundred.
const maxForm = 64 << 10

// readForm reads the fields of a form that was sent.
func readForm(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	err := r.ParseForm()
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return nil, &httpx.StatusError{Status: http.StatusRequestEntityTooLarge, Code: "body_too_large", Message: "the form is too large"}
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "invalid_form", "the form cannot be read")
	}
	return r.PostForm, nil
}

// act sends a form through a door, once: however often the form is sent, by an impatient finger or by going back,
// what it asks for happens the first time. Each rendering of a form has a key of its own. where makes of the
// result the address to go on to.
//
// The same form with other choices is a new wish: an Invalid fault, with which the form is shown again under a
// new key. The door is that of a module, for which see command.Once.
func act[R any](r *http.Request, form url.Values, door func(ctx context.Context) (R, error), where func(R) string) (string, error) {
	key, err := parseID(form.Get("key"))
	if err != nil {
		return "", fault.New(fault.Invalid, "invalid_form", "the form is not complete; send it again")
	}
	body := []byte(r.URL.RawQuery + "\n" + form.Encode())
	answer, _, err := command.Once(r.Context(), httpx.KeyOf(r, key.String(), body), func(result R) (command.Answer, error) {
		return command.Answer{Status: http.StatusSeeOther, Location: where(result)}, nil
	}, door)
	if fault.Is(err, "idempotency_key_reused") {
		err = fault.New(fault.Invalid, "form_sent_before", "this form was sent before, with other choices; if you mean these, send it again")
	}
	return answer.Location, err
}

// newKey returns the key of a form that is about to be shown.
func newKey() string { return uuid.NewString() }

// parseID reads an id in the one way that we write them.
func parseID(s string) (uuid.UUID, error) {
	id, err := uuid.Parse(s)
	if err == nil && len(s) != len(uuid.Nil.String()) {
		err = errors.New("not the canonical form")
	}
	return id, err
}

// complaints is what is wrong with a form.
type complaints struct {
	Alert  string // with the form as a whole
	Fields []fault.Field
}

// complain makes complaints of an error, and false of one that the sender of the form cannot mend.
func complain(err error) (c complaints, status int, ok bool) {
	if status, ok = statusFor(err); !ok {
		return c, 0, false
	}
	e := fault.As(err)
	c.Fields = e.Fields
	if len(e.Fields) == 0 {
		c.Alert = sentence(e.Message)
	}
	return c, status, true
}

// For returns what is wrong with a field, or "".
func (c complaints) For(path string) string {
	for _, f := range c.Fields {
		if f.Path == path {
			return f.Message
		}
	}
	return ""
}
