package login_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/identity/login"
	"example.com/plenary/platform/postgres/postgrestest"
)

func TestSignInShowsWhoItIs(t *testing.T) {
	t.Parallel()
	h := inhabited(t)
	w := h.tryLogin("aLICE@EXAMPLE.com", password)
	got := decode[login.SessionView](t, w, http.StatusOK)
	h.secrets = append(h.secrets, got.Token)
	want := login.UserView{
		ID: alice.ID, Email: "Alice@example.com", Name: "Alice Archer", Roles: []string{"customer"},
		Permissions: []identity.Permission{"sales:order"},
	}
	if diff := cmp.Diff(want, got.User); diff != "" {
		t.Error(diff)
	}
	cookies := w.Result().Cookies()
	if len(cookies) != 1 {
		t.Fatalf("cookies %v", cookies)
	}
	c := cookies[0]
	if c.Name != httpx.SessionCookie || c.Value != got.Token || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode ||
		c.Path != "/" || c.MaxAge != 30*24*60*60 || c.Domain != "" {
		t.Errorf("cookie %v", c)
	}
	if len(got.Token) != 52 || strings.Trim(got.Token, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") != "" {
		t.Errorf("a token of %d characters", len(got.Token))
	}
	for _, header := range [][]string{bearer(got.Token), cookie(got.Token)} {
		if diff := cmp.Diff(want, decode[login.UserView](t, h.ask("GET", "/auth/me", "", header...), http.StatusOK)); diff != "" {
			t.Error(diff)
		}
	}
	everything := decode[login.UserView](t, h.ask("GET", "/auth/me", "", bearer(h.login(ada))...), http.StatusOK)
	if !slices.Equal(everything.Permissions, []identity.Permission{"ops:read", "sales:order"}) {
		t.Errorf("permissions %v", everything.Permissions)
	}
}

func TestNobodyIsAsking(t *testing.T) {
	t.Parallel()
	h := inhabited(t)
	refused(t, "nobody", h.ask("GET", "/auth/me", ""), 401, "unauthenticated")
	refused(t, "a stale cookie", h.ask("GET", "/auth/me", "", cookie("made-up")...), 401, "unauthenticated")
	refused(t, "a token of nobody", h.ask("GET", "/auth/me", "", bearer("made-up")...), 401, "invalid_token")
}

func TestTokensAreStoredHashedOnly(t *testing.T) {
	t.Parallel()
	h := inhabited(t)
	token := h.login(alice)
	sum := sha256.Sum256([]byte(token))
	stored := postgrestest.Value[string](t, h.db, `SELECT s::text FROM platform.sessions s`)
	if !strings.Contains(stored, hex.EncodeToString(sum[:])) || strings.Contains(stored, token) {
		t.Errorf("the row of %s is %s", token, stored)
	}
	// What is stored opens nothing.
	if got := h.me(bearer(hex.EncodeToString(sum[:]))...); got != 401 {
		t.Errorf("the hash signs in: %d", got)
	}
}

func TestSignOutByCookie(t *testing.T) {
	t.Parallel()
	h := inhabited(t)
	token, other := h.login(alice), h.login(alice)
	w := h.ask("POST", "/auth/logout", "", cookie(token)...)
	if cookies := w.Result().Cookies(); w.Code != 204 || len(cookies) != 1 || cookies[0].MaxAge >= 0 || cookies[0].Value != "" ||
		cookies[0].Name != httpx.SessionCookie || cookies[0].Path != "/" {
		t.Errorf("%d, cookies %v", w.Code, cookies)
	}
	if h.me(cookie(token)...) != 401 || h.me(bearer(token)...) != 401 || h.me(bearer(other)...) != 200 {
		t.Error("not exactly that session has ended")
	}
	for _, header := range [][]string{nil, cookie(token), cookie("made-up")} { // ended already
		if w := h.ask("POST", "/auth/logout", "", header...); w.Code != 204 {
			t.Errorf("again: %d", w.Code)
		}
	}
}

func TestSignOutByBearer(t *testing.T) {
	t.Parallel()
	h := inhabited(t)
	for _, scheme := range []string{"Bearer ", "bearer ", "BEARER  "} {
		token, browser := h.login(alice), h.login(alice)
		w := h.ask("POST", "/auth/logout", "", append(cookie(browser), "Authorization", scheme+token)...)
		if w.Code != 204 || len(w.Result().Cookies()) != 0 {
			t.Errorf("%q: %d, cookies %v", scheme, w.Code, w.Result().Cookies())
		}
		if h.me(bearer(token)...) != 401 || h.me(cookie(browser)...) != 200 {
			t.Errorf("%q: not exactly that session has ended", scheme)
		}
	}
}

// Somebody put their own session's cookie into a browser, and waits for its user to sign in.
func TestSignInReplacesAPlantedSession(t *testing.T) {
	t.Parallel()
	h := inhabited(t)
	planted := h.login(ada)
	token := h.login(alice, cookie(planted)...)
	if token == planted || h.me(bearer(planted)...) != 401 || h.me(bearer(token)...) != 200 {
		t.Error("the planted session is alive")
	}
	if n := h.sessions(); n != 1 {
		t.Errorf("%d sessions", n)
	}
	// A token that was made up is not taken over either, and a failure ends nothing.
	if got := h.login(alice, cookie("chosen-by-somebody")...); got == "chosen-by-somebody" || h.me(cookie("chosen-by-somebody")...) != 401 {
		t.Error("a made-up token became a session")
	}
	h.tryLogin(alice.Email, "incorrect horse", cookie(token)...)
	if h.me(bearer(token)...) != 200 {
		t.Error("a failed sign-in ended a session")
	}
}

func TestSessionEndsInTime(t *testing.T) {
	t.Parallel()
	h := inhabited(t)
	token := h.login(alice)
	length := postgrestest.Value[float64](t, h.db, `SELECT extract(epoch FROM expires_on - created_on)::float8 FROM platform.sessions`)
	if length != 30*24*60*60 {
		t.Errorf("a session of %v s", length)
	}
	postgrestest.Exec(t, h.db, `UPDATE platform.sessions SET expires_on = now() + interval '1 minute'`)
	if h.me(bearer(token)...) != 200 {
		t.Error("it ended too early")
	}
	postgrestest.Exec(t, h.db, `UPDATE platform.sessions SET expires_on = now()`)
	refused(t, "by bearer", h.ask("GET", "/auth/me", "", bearer(token)...), 401, "invalid_token")
	refused(t, "by cookie", h.ask("GET", "/auth/me", "", cookie(token)...), 401, "unauthenticated")
}

func TestRolesAreThoseHeldNow(t *testing.T) {
	t.Parallel()
	h := inhabited(t)
	token := h.login(alice)
	postgrestest.Exec(t, h.db, `UPDATE platform.users SET roles = '{viewer}' WHERE id = $1`, alice.ID)
	got := decode[login.UserView](t, h.ask("GET", "/auth/me", "", bearer(token)...), http.StatusOK)
	if !slices.Equal(got.Roles, []string{"viewer"}) || !slices.Equal(got.Permissions, []identity.Permission{"ops:read"}) {
		t.Errorf("%+v", got)
	}
	postgrestest.Exec(t, h.db, `UPDATE platform.users SET roles = '{}' WHERE id = $1`, alice.ID)
	if body := h.ask("GET", "/auth/me", "", bearer(token)...).Body.String(); !strings.Contains(body, `"roles":[],"permissions":[]`) {
		t.Errorf("without roles: %s", body)
	}
}

func TestRemovedUserIsOut(t *testing.T) {
	t.Parallel()
	h := inhabited(t)
	token := h.login(alice)
	postgrestest.Exec(t, h.db, `DELETE FROM platform.users WHERE id = $1`, alice.ID)
	refused(t, "by bearer", h.ask("GET", "/auth/me", "", bearer(token)...), 401, "invalid_token")
	if n := h.sessions(); n != 0 {
		t.Errorf("%d sessions", n)
	}
	refused(t, "signing in", h.tryLogin(alice.Email, password), 401, "invalid_credentials")

	// Now while she is being recognised.
	h.users.OnHash(func(login.Cost) {
		postgrestest.Exec(t, h.db, `DELETE FROM platform.users WHERE id = $1`, ada.ID)
	})
	refused(t, "meanwhile", h.tryLogin(ada.Email, password), 401, "invalid_credentials")
}

func TestDatabaseIsAway(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "postgres://nobody@127.0.0.1:1/none")
	for what, header := range map[string][]string{"by bearer": bearer("made-up"), "by cookie": cookie("made-up")} {
		w := h.ask("GET", "/auth/me", "", header...)
		refused(t, what, w, 503, "database_unavailable")
		if w.Header().Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	}
	refused(t, "signing in", h.tryLogin(alice.Email, password), 503, "database_unavailable")
}
