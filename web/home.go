package web

import (
	"net/http"
	"time"
)

// homeData is the first page.
type homeData struct{ Logins []demoLogin }

func (s *Site) home(w http.ResponseWriter, r *http.Request) error {
	return s.render(w, r, "home", show{Title: "Plenary", Data: homeData{Logins: s.demoLogins("")}})
}

// demoLogin is a button that signs somebody in.
type demoLogin struct {
	DemoUser
	May  string // what they can do, in a few words
	Next string // where they go
}

// demoLogins returns the buttons. next is where all of them lead, or "" for where each has something to do.
func (s *Site) demoLogins(next string) []demoLogin {
	var logins []demoLogin
	for _, u := range s.DemoUsers {
		l := demoLogin{DemoUser: u, Next: "/shop"}
		switch u.Role {
		case "customer":
			l.May = "buys tickets"
		case "organizer":
			l.May, l.Next = "buys tickets, runs the conference", "/events"
		case "viewer":
			l.May, l.Next = "looks into the console", "/ops"
		case "operator":
			l.May, l.Next = "looks and acts in the console", "/ops"
		case "admin":
			l.May, l.Next = "may do everything", "/ops"
		}
		if next != "" {
			l.Next = next
		}
		logins = append(logins, l)
	}
	return logins
}

const themeCookie = "plenary_theme"

// themeOf returns the theme that was chosen; "" is what the system says.
func themeOf(r *http.Request) string {
	if c, err := r.Cookie(themeCookie); err == nil && (c.Value == "light" || c.Value == "dark") {
		return c.Value
	}
	return ""
}

// setTheme remembers a theme and goes back. With script page.js does the same without a new page.
func (s *Site) setTheme(w http.ResponseWriter, r *http.Request) error {
	form, err := readForm(w, r)
	if err != nil {
		return err
	}
	c := &http.Cookie{
		Name: themeCookie, Value: form.Get("theme"), Path: "/", MaxAge: int((365 * 24 * time.Hour).Seconds()), SameSite: http.SameSiteLaxMode,
	}
	if c.Value != "light" && c.Value != "dark" {
		c.Value, c.MaxAge = "", -1
	}
	s.setCookie(w, r, c)
	http.Redirect(w, r, localPath(form.Get("next")), http.StatusSeeOther)
	return nil
}

func (s *Site) setCookie(w http.ResponseWriter, r *http.Request, c *http.Cookie) {
	c.Secure = s.SecureCookies || r.TLS != nil
	http.SetCookie(w, c)
}
