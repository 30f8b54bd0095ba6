package login_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/identity/login"
	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/postgres/postgrestest"
	"example.com/plenary/platform/ratelimit"
	"example.com/plenary/platform/telemetry/logtest"
)

var (
	alice = login.User{ID: uuid.MustParse("019076a1-5e0c-7c3e-8d4f-000000000001"), Email: "Alice@example.com", Name: "Alice Archer", Roles: []string{"customer"}}
	ada   = login.User{ID: uuid.MustParse("019076a1-5e0c-7c3e-8d4f-000000000002"), Email: "ada@example.com", Name: "Ada Admin", Roles: []string{"admin", "customer"}}
)

const password = "correct horse battery staple"

// house is one replica with its door. When the test ends, nothing that had to stay secret may be in its log.
type house struct {
	t       *testing.T
	db      *postgres.Source
	users   *login.Service
	api     *httpx.API
	log     *logtest.Buffer
	secrets []string
}

// newHouse opens a replica on the database at url, in which guessing has no consequences unless limits say so.
func newHouse(t *testing.T, url string, limits ...login.Limits) *house {
	t.Helper()
	h := &house{t: t, log: &logtest.Buffer{}, secrets: []string{password}}
	logger := slog.New(slog.NewTextHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	h.db = postgrestest.Connect(t, postgres.Config{URL: url, Logger: logger}).Source("platform")
	var permissions identity.Permissions
	permissions.Grant("customer", "sales:order")
	permissions.Grant("viewer", "ops:read")
	permissions.GrantEverything("admin")
	var err error
	h.users, err = login.New(login.Deps{
		Source: h.db, Pipeline: command.New(command.Deps{Logger: logger, Permissions: &permissions}), Permissions: &permissions,
		Limits: append(limits, login.Limits{Guesses: ratelimit.Backoff{Free: 1000}})[0],
	})
	if err != nil {
		t.Fatal(err)
	}
	h.api = httpx.NewAPI(httpx.Config{Authenticator: h.users, Permissions: &permissions, Log: logger})
	h.users.Routes(h.api)
	t.Cleanup(func() {
		for _, secret := range h.secrets {
			if strings.Contains(h.log.String(), secret) {
				t.Errorf("%s is in the log:\n%s", secret, h.log)
			}
		}
	})
	return h
}

// inhabited is a house with alice and ada.
func inhabited(t *testing.T, limits ...login.Limits) *house {
	t.Helper()
	h := newHouse(t, postgrestest.URL(t), limits...)
	if err := h.users.AddMissing(context.Background(), []login.NewUser{{User: alice, Password: password}, {User: ada, Password: password}}); err != nil {
		t.Fatal(err)
	}
	return h
}

// ask sends a request; header comes as pairs.
func (h *house) ask(method, path, body string, header ...string) *httptest.ResponseRecorder {
	h.t.Helper()
	r := httptest.NewRequest(method, "/api/v1"+path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.api.ServeHTTP(w, r)
	return w
}

func (h *house) tryLogin(email, password string, header ...string) *httptest.ResponseRecorder {
	h.t.Helper()
	if password != "" {
		h.secrets = append(h.secrets, password)
	}
	body, err := json.Marshal(map[string]string{"email": email, "password": password})
	if err != nil {
		h.t.Fatal(err)
	}
	return h.ask("POST", "/auth/login", string(body), header...)
}

// login signs in and returns the token.
func (h *house) login(u login.User, header ...string) string {
	h.t.Helper()
	answer := decode[login.SessionView](h.t, h.tryLogin(u.Email, password, header...), http.StatusOK)
	h.secrets = append(h.secrets, answer.Token)
	return answer.Token
}

func bearer(token string) []string { return []string{"Authorization", "Bearer " + token} }

func cookie(token string) []string { return []string{"Cookie", httpx.SessionCookie + "=" + token} }

// me returns the status of asking who asks.
func (h *house) me(header ...string) int {
	h.t.Helper()
	return h.ask("GET", "/auth/me", "", header...).Code
}

func (h *house) sessions() int {
	h.t.Helper()
	return postgrestest.Value[int](h.t, h.db, `SELECT count(*) FROM platform.sessions`)
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

// refused checks that the answer is a problem with a code.
func refused(t *testing.T, what string, w *httptest.ResponseRecorder, status int, code string) {
	t.Helper()
	if p := decode[httpx.Problem](t, w, status); p.Code != code || p.Status != status {
		t.Errorf("%s: %+v, want the code %s", what, p, code)
	}
	if len(w.Result().Cookies()) != 0 {
		t.Errorf("%s: a cookie was set", what)
	}
}
