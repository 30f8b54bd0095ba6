package httpx

import (
	"fmt"
	"net/http"
	"reflect"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/strictjson"
)

// Response is a success with a body of type T, Empty for none. Its Status is that of the constructor, or the route's if zero; the route's declaration
// must say the same, or the answer is a 500: what is not documented is not promised to anyone.
type Response[T any] struct {
	Status   int
	Location string
	ETag     string
	Header   http.Header
	Cookies  []*http.Cookie // made Secure under TLS
	Body     T

	stored *command.Answer // sent as it is, instead of everything else
}

// Empty is the body of an answer that has none.
type Empty struct{}

func isEmpty(t reflect.Type) bool {
	return t == reflect.TypeFor[Empty]() || t == reflect.TypeFor[struct{}]()
}

// OK returns a 200.
func OK[T any](body T) Response[T] { return Response[T]{Status: http.StatusOK, Body: body} }

// Created returns a 201 for what is now found at location.
func Created[T any](location string, body T) Response[T] {
	return Response[T]{Status: http.StatusCreated, Location: location, Body: body}
}

// Accepted returns a 202 for work whose progress is told at location.
func Accepted[T any](location string, body T) Response[T] {
	return Response[T]{Status: http.StatusAccepted, Location: location, Body: body}
}

// NoContent returns a 204.
func NoContent() Response[Empty] { return Response[Empty]{Status: http.StatusNoContent} }

// WithVersion sets the ETag of what has a version.
func (r Response[T]) WithVersion(version int64) Response[T] {
	r.ETag = ETag(version)
	return r
}

// WithCookie adds a cookie.
func (r Response[T]) WithCookie(c *http.Cookie) Response[T] {
	r.Cookies = append(r.Cookies, c)
	return r
}

// write sends a response whose body is known to be writable before the status goes out.
func write[T any](w http.ResponseWriter, r *http.Request, config Config, route Route, response Response[T]) error {
	answer, err := response.answer(route)
	if err != nil {
		return err
	}
	h := w.Header() // from here on nothing fails
	for name, values := range response.Header {
		h[http.CanonicalHeaderKey(name)] = values
	}
	if answer.Location != "" {
		h.Set("Location", answer.Location)
	}
	if answer.ETag != "" {
		h.Set("ETag", answer.ETag)
	}
	for _, c := range response.Cookies {
		sent := *c
		sent.Secure = c.Secure || config.SecureCookies || r.TLS != nil
		http.SetCookie(w, &sent)
	}
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store") // answers depend on who asks
	}
	if answer.Body != nil {
		h.Set("Content-Type", "application/json")
	}
	w.WriteHeader(answer.Status)
	_, _ = w.Write(answer.Body) // whoever does not take it has gone
	return nil
}

// answer is the part of a response that a repeated request gets again.
func (r Response[T]) answer(route Route) (command.Answer, error) {
	if r.stored != nil {
		return *r.stored, nil
	}
	if r.Status != 0 && r.Status != route.Status {
		return command.Answer{}, fmt.Errorf("%s answers %d but declares %d", route.ID, r.Status, route.Status)
	}
	answer := command.Answer{Status: route.Status, Location: r.Location, ETag: r.ETag}
	if !isEmpty(reflect.TypeFor[T]()) {
		body, err := strictjson.EncodeAnswer(r.Body)
		if err != nil {
			return command.Answer{}, err
		}
		answer.Body = body
	}
	return answer, nil
}
