package httpx

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/identity"
)

const (
	keyHeader      = "Idempotency-Key"
	replayedHeader = "Idempotency-Replayed"
	maxKey         = 255
)

// once is what a request's Idempotency-Key asks for; nil if there is none.
type once struct {
	key   command.Key
	route Route
	used  bool
}

// onceOf reads the key of a request that may have one: a POST whose route does not say otherwise.
func onceOf(r *http.Request, route Route, body []byte) (*once, error) {
	values := r.Header.Values(keyHeader)
	if len(values) == 0 || !takesKey(route) {
		return nil, nil
	}
	if len(values) > 1 || !validKey(values[0]) {
		return nil, &fault.Error{
			Kind: fault.Invalid, Code: "invalid_idempotency_key", Message: "the Idempotency-Key is not valid",
			Fields: []fault.Field{{Path: keyHeader, Code: "invalid_idempotency_key", Message: "must be one key of 1 to 255 printable ASCII characters"}},
		}
	}
	return &once{key: KeyOf(r, values[0], body), route: route}, nil
}

func takesKey(route Route) bool { return route.Method == http.MethodPost && route.NonIdempotent == "" }

func validKey(key string) bool {
	if key == "" || len(key) > maxKey {
		return false
	}
	for _, c := range []byte(key) {
		if c < 0x20 || c > 0x7e {
			return false
		}
	}
	return true
}

// KeyOf returns the key of a request for command.Once: scoped to who asks, the method and the path, and bound to
// the raw body. Pages use it for keys that come in a form.
func KeyOf(r *http.Request, key string, body []byte) command.Key {
	scope := fmt.Appendf(nil, "%s\x00%s\x00%s\x00%s", identity.PrincipalOf(r.Context()).ID, r.Method, r.URL.Path, key)
	return command.Key{Scope: sha256.Sum256(scope), Body: sha256.Sum256(body)}
}

type onceKey struct{}

func (o *once) into(ctx context.Context) context.Context {
	if o == nil {
		return ctx
	}
	return context.WithValue(ctx, onceKey{}, o)
}

// kept is the last check on a route that took a key: its handler must have gone through Act.
func (o *once) kept() error {
	if o != nil && !o.used {
		return fmt.Errorf("%s takes an Idempotency-Key and does not keep it; use httpx.Act, or say NonIdempotent", o.route.ID)
	}
	return nil
}

// Act runs a command through its door and answers with what render makes of the result. If the request has an
// Idempotency-Key, the answer commits with what the command did, and a repeated request gets it again, marked
// with Idempotency-Replayed. Every POST route that does not say NonIdempotent acts through here.
func Act[C command.Command, R, Out any](ctx context.Context, door command.ResultFunc[C, R], cmd C, render func(R) Response[Out]) (Response[Out], error) {
	o, _ := ctx.Value(onceKey{}).(*once)
	if o == nil {
		result, err := door(ctx, cmd)
		if err != nil {
			return Response[Out]{}, err
		}
		return render(result), nil
	}
	o.used = true
	ctx = context.WithValue(ctx, onceKey{}, (*once)(nil))
	answer, replayed, err := command.Once(ctx, o.key, func(result R) (command.Answer, error) { return render(result).answer(o.route) },
		func(ctx context.Context) (R, error) { return door(ctx, cmd) })
	if err != nil {
		return Response[Out]{}, edgeOf(err)
	}
	response := Response[Out]{stored: &answer}
	if replayed {
		response.Header = http.Header{replayedHeader: {"true"}}
	}
	return response, nil
}

// edgeOf gives the misuse of a key the status that HTTP has for it.
func edgeOf(err error) error {
	if !fault.Is(err, "idempotency_key_reused") {
		return err
	}
	return &StatusError{
		Status: http.StatusUnprocessableEntity, Code: "idempotency_key_reused", Message: "the key was used for another request",
	}
}
