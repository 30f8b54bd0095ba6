package login_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/identity/login"
	"example.com/plenary/platform/postgres/postgrestest"
	"example.com/plenary/platform/ratelimit"
)

// Whatever is wrong, the answer is the same, and so is what it costs: one hash at the present cost.
func TestWhatIsWrongWithASignInIsNotTold(t *testing.T) {
	t.Parallel()
	h := inhabited(t)
	var hashes []login.Cost
	h.users.OnHash(func(c login.Cost) { hashes = append(hashes, c) })
	var answer string
	for name, c := range map[string]struct{ email, password string }{
		"wrong password":         {alice.Email, "incorrect horse"},
		"nobody has the address": {"mallory@example.com", password},
		"no address":             {"", password},
		"a wildcard":             {"%@example.com", password},
		"no password":            {alice.Email, ""},
		"another case":           {alice.Email, strings.ToUpper(password)},
		"more than the password": {alice.Email, password + "\n"},
		"too long a password":    {alice.Email, strings.Repeat("x", 1025)},
		"too long, right start":  {ada.Email, longPassword + "x"},
	} {
		hashes = nil
		if strings.HasPrefix(name, "too long, right") {
			postgrestest.Exec(t, h.db, `UPDATE platform.users SET password_hash = $1 WHERE id = $2`, longHash(t), ada.ID)
		}
		w := h.tryLogin(c.email, c.password, "X-Correlation-Id", "c-1")
		refused(t, name, w, http.StatusUnauthorized, "invalid_credentials")
		if answer == "" {
			answer = w.Body.String()
		}
		if w.Body.String() != answer {
			t.Errorf("%s: %s differs from %s", name, w.Body, answer)
		}
		if len(hashes) != 1 || hashes[0] != (login.Cost{Memory: 19 * 1024, Passes: 2, Lanes: 1}) {
			t.Errorf("%s: hashes %v", name, hashes)
		}
	}
	if n := h.sessions(); n != 0 {
		t.Errorf("%d sessions", n)
	}
	if decode[login.SessionView](t, h.tryLogin(ada.Email, longPassword), http.StatusOK).User.ID != ada.ID {
		t.Error("the longest password does not do")
	}
}

var longPassword = strings.Repeat("p", 1024)

func longHash(t *testing.T) string {
	t.Helper()
	hash, err := login.Hash(longPassword)
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

// A door that failures have closed stays closed to the right password too, and costs no hash; a success forgets.
func TestGuessingClosesTheDoor(t *testing.T) {
	t.Parallel()
	h := inhabited(t, login.Limits{Guesses: ratelimit.Backoff{Free: 2, First: time.Hour, Most: time.Hour, Window: time.Hour}})
	hashes := 0
	h.users.OnHash(func(login.Cost) { hashes++ })
	for range 2 {
		for range 2 {
			refused(t, "a free failure", h.tryLogin(alice.Email, "incorrect horse"), http.StatusUnauthorized, "invalid_credentials")
		}
		h.login(alice)
	}
	for _, email := range []string{alice.Email, "nobody@example.com"} {
		for range 3 {
			refused(t, email, h.tryLogin(email, "incorrect horse"), http.StatusUnauthorized, "invalid_credentials")
		}
		hashes = 0
		w := h.tryLogin(strings.ToUpper(email), password)
		refused(t, email, w, http.StatusTooManyRequests, "too_many_attempts")
		if hashes != 0 || w.Header().Get("Retry-After") != "3600" {
			t.Errorf("%s: %d hashes, Retry-After %s", email, hashes, w.Header().Get("Retry-After"))
		}
	}
	h.login(ada)

	// Nor does who is refused wait in line with those who are not.
	for range h.users.HashesAtOnce() {
		if err := h.users.WaitForAHash(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	refused(t, "in line", h.tryLogin(alice.Email, password), http.StatusTooManyRequests, "too_many_attempts")
}

func TestUnreadableHashIsOurFault(t *testing.T) {
	t.Parallel()
	h := inhabited(t)
	postgrestest.Exec(t, h.db, `UPDATE platform.users SET password_hash = '$argon2id$broken' WHERE id = $1`, alice.ID)
	refused(t, "broken", h.tryLogin(alice.Email, password), http.StatusInternalServerError, "internal")
	if log := h.log.String(); !strings.Contains(log, "cannot be read") || !strings.Contains(log, alice.ID.String()) || strings.Contains(log, "$broken") {
		t.Errorf("the log does not tell whose: %s", log)
	}
}

func TestMalformedSignInsAreInvalid(t *testing.T) {
	t.Parallel()
	h := inhabited(t)
	for _, body := range []string{
		``, `{}`, `{"email":"a@b.example"}`, `{"email":"a","password":null}`, `{"email":"a\u0000","password":"x"}`,
		`{"email":"a","password":"x","roles":["admin"]}`, `{"email":["a"],"password":"x"}`,
	} {
		if w := h.ask("POST", "/auth/login", body); w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d", body, w.Code)
		}
	}
	_, err := h.users.SignIn(context.Background(), login.SignIn{Email: "a\x00b", Password: password})
	if fault.KindOf(err) != fault.Invalid {
		t.Errorf("NUL, past the door: %v", err)
	}
}

func TestHashesAreComputedAFewAtOnce(t *testing.T) {
	t.Parallel()
	h := inhabited(t)
	atOnce := int32(h.users.HashesAtOnce())
	var running, most atomic.Int32
	begun, hold := make(chan struct{}, 100), make(chan struct{})
	h.users.OnHash(func(login.Cost) {
		n := running.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		begun <- struct{}{}
		<-hold
		running.Add(-1)
	})
	var all sync.WaitGroup
	for range 4 * atOnce {
		all.Go(func() {
			if _, err := h.users.SignIn(context.Background(), login.SignIn{Email: alice.Email, Password: password}); err != nil {
				t.Error(err)
			}
		})
	}
	for range atOnce {
		<-begun
	}
	// Whoever comes now waits, and no longer than their context lasts.
	goneAway := errors.New("the caller went away")
	ctx, cancel := context.WithCancelCause(context.Background())
	var waiter sync.WaitGroup
	waiter.Go(func() {
		if err := h.users.WaitForAHash(ctx); !errors.Is(err, goneAway) {
			t.Errorf("the one who gave up got %v", err)
		}
	})
	cancel(goneAway)
	waiter.Wait()
	close(hold)
	all.Wait()
	if n := most.Load(); n != atOnce {
		t.Errorf("%d hashes at once, want %d", n, atOnce)
	}
}

func TestAddMissing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	url := postgrestest.URL(t)
	one, two := newHouse(t, url), newHouse(t, url)
	users := []login.NewUser{{User: alice, Password: password}, {User: ada, Password: password}}
	users[0].Roles = nil
	var both sync.WaitGroup
	for _, h := range []*house{one, two, one, two} {
		both.Go(func() {
			if err := h.users.AddMissing(ctx, users); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	all := func() string {
		return postgrestest.Value[string](t, one.db, `SELECT string_agg(u::text, '; ' ORDER BY id) FROM platform.users u`)
	}
	before := all()
	if n := strings.Count(before, "argon2id"); n != 2 {
		t.Fatalf("%d users: %s", n, before)
	}
	// Who is there already stays as they are, however their address is written.
	again := []login.NewUser{{User: login.User{ID: uuid.New(), Email: "ALICE@example.com", Name: "Another", Roles: []string{"admin"}}, Password: "another"}}
	if err := one.users.AddMissing(ctx, again); err != nil || all() != before {
		t.Errorf("%v: %s became %s", err, before, all())
	}
	one.login(alice)

	taken := []login.NewUser{{User: login.User{ID: alice.ID, Email: "mallory@example.com"}, Password: password}}
	if err := one.users.AddMissing(ctx, taken); !fault.Is(err, "id_taken") {
		t.Errorf("another user with her id: %v", err)
	}
	for _, bad := range []string{"", longPassword + "x"} {
		err := one.users.AddMissing(ctx, []login.NewUser{{User: login.User{ID: uuid.New(), Email: "new@example.com"}, Password: bad}})
		if !fault.Is(err, "password_length") {
			t.Errorf("a password of %d bytes: %v", len(bad), err)
		}
	}
	if all() != before {
		t.Errorf("what was refused was added: %s", all())
	}
}

func TestContact(t *testing.T) {
	t.Parallel()
	h := inhabited(t)
	name, email, err := h.users.Contact(context.Background(), alice.ID)
	if name != alice.Name || email != alice.Email || err != nil {
		t.Errorf("%s, %s, %v", name, email, err)
	}
	if _, _, err := h.users.Contact(context.Background(), uuid.New()); !fault.Is(err, "user_not_found") || fault.KindOf(err) != fault.NotFound {
		t.Errorf("nobody: %v", err)
	}
}
