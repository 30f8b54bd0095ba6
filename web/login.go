package web

import (
	"net/http"
	"strings"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/identity/login"
)

// loginData is the sign-in. Password is never shown again.
type loginData struct {
	Email  string
	Next   string
	Ended  bool // there was a session, and it is over
	Wrong  string
	Logins []demoLogin
}

func (s *Site) login(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	return s.showLogin(w, r, 0, loginData{Next: query.Get("next"), Ended: query.Get("ended") != ""})
}

func (s *Site) showLogin(w http.ResponseWriter, r *http.Request, status int, d loginData) error {
	if d.Next != "" {
		d.Next = localPath(d.Next)
	}
	d.Logins = s.demoLogins(d.Next)
	return s.render(w, r, "login", show{Status: status, Title: "Sign in", Data: d})
}

func (s *Site) signIn(w http.ResponseWriter, r *http.Request) error {
	form, err := readForm(w, r)
	if err != nil {
		return err
	}
	d := loginData{Email: strings.TrimSpace(form.Get("email")), Next: form.Get("next")}
	session, err := s.Login.SignIn(r.Context(), login.SignIn{Email: d.Email, Password: form.Get("password"), Replaces: tokenOf(r)})
	if fault.Is(err, "invalid_credentials") || fault.KindOf(err) == fault.Invalid {
		d.Wrong = "The address or the password is wrong."
		return s.showLogin(w, r, http.StatusUnauthorized, d)
	}
	if err != nil {
		return err
	}
	s.setCookie(w, r, httpx.NewSessionCookie(session.Token, session.ExpiresOn.Sub(s.Now())))
	http.Redirect(w, r, localPath(d.Next), http.StatusSeeOther)
	return nil
}

func (s *Site) signOut(w http.ResponseWriter, r *http.Request) error {
	if err := s.Login.SignOut(r.Context(), login.SignOut{Token: tokenOf(r)}); err != nil {
		return err
	}
	s.setCookie(w, r, httpx.EndSessionCookie())
	http.Redirect(w, r, "/", http.StatusSeeOther)
	return nil
}

// tokenOf returns the token of the browser's session, or "".
func tokenOf(r *http.Request) string {
	c, err := r.Cookie(httpx.SessionCookie)
	if err != nil {
		return ""
	}
	return c.Value
}
