package ops_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/identity"
)

// tokens knows users who are called after their role, as are their tokens.
type tokens struct{}

func (tokens) Authenticate(_ context.Context, token string) (identity.Principal, error) {
	switch token {
	case "viewer", "operator", "admin", "customer":
		return identity.User(uuid.NewSHA1(uuid.NameSpaceOID, []byte(token)), token), nil
	default:
		return identity.Principal{}, fault.New(fault.Unauthenticated, "session_ended", "nobody")
	}
}

func userID(name string) string { return uuid.NewSHA1(uuid.NameSpaceOID, []byte(name)).String() }

// asUser returns the context of a request of the user who is called after their role.
func asUser(role string) context.Context {
	p, _ := tokens{}.Authenticate(context.Background(), role)
	return identity.WithPrincipal(context.Background(), p)
}

// ask sends a request as somebody; header comes as pairs.
func (h *house) ask(as, method, path, body string, header ...string) *httptest.ResponseRecorder {
	h.t.Helper()
	r := httptest.NewRequest(method, "/api/v1/ops"+path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if as != "" {
		r.Header.Set("Authorization", "Bearer "+as)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.api.ServeHTTP(w, r)
	if strings.Contains(w.Body.String(), secret) {
		h.t.Errorf("%s %s shows a payload: %s", method, path, w.Body)
	}
	return w
}

// get reads as a viewer.
func get[T any](h *house, path string) T {
	h.t.Helper()
	return decode[T](h.t, h.ask("viewer", "GET", path, ""), 200)
}

// post acts as an operator.
func post[T any](h *house, path string, body any) T {
	h.t.Helper()
	return decode[T](h.t, h.ask("operator", "POST", path, encode(h.t, body)), 200)
}

func encode(t *testing.T, body any) string {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func decode[T any](t *testing.T, w *httptest.ResponseRecorder, status int) T {
	t.Helper()
	var v T
	if w.Code != status {
		t.Fatalf("%d, want %d: %s", w.Code, status, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	return v
}

// refused checks that an answer is a problem: its code, or "field code" of its first complaint.
func refused(t *testing.T, what string, w *httptest.ResponseRecorder, status int, code string) {
	t.Helper()
	p := decode[httpx.Problem](t, w, status)
	got := p.Code
	if len(p.Errors) > 0 {
		got = p.Errors[0].Field + " " + p.Errors[0].Code
	}
	if got != code {
		t.Errorf("%s: %s, want %s", what, got, code)
	}
}
