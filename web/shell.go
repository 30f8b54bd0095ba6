package web

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/identity/login"
)

// shell is what surrounds a page: who looks at it. The goroutine of the request owns it; [Site.Wrap] puts it into
// the context before it is known who asks, so that the page of an error that is met later can say so.
type shell struct {
	met  bool // whether it was found out who asks
	user *login.User
}

type shellKey struct{}

func shellOf(ctx context.Context) *shell {
	if sh, ok := ctx.Value(shellKey{}).(*shell); ok {
		return sh
	}
	return &shell{}
}

// meet finds out the name of who asks.
func (s *Site) meet(r *http.Request) error {
	sh := shellOf(r.Context())
	if id, ok := identity.PrincipalOf(r.Context()).UserID(); ok {
		user, err := s.Login.ByID(r.Context(), id)
		if err != nil {
			return err
		}
		sh.user = &user
	}
	sh.met = true
	return nil
}

// frame is what a template is rendered with: the shell, and the page's own data.
type frame struct {
	Title   string
	Section string // the entry of the navigation that the page belongs to
	Theme   string // "light", "dark", or "" for what the system says
	Here    string // the address of the page, to come back to
	Met     bool
	User    *login.User
	Inbox   bool
	Data    any

	path        string
	permissions *identity.Permissions
}

// May reports whether who looks at the page has a permission.
func (f frame) May(permission identity.Permission) bool {
	return f.User != nil && f.permissions.Allows(identity.User(f.User.ID, f.User.Roles...), permission)
}

// Part is the part of the console that the page belongs to: "ops" for its front page, or what comes after that.
func (f frame) Part() string {
	parts := strings.Split(f.path, "/")
	return parts[min(2, len(parts)-1)]
}

// Role is the first role of who is signed in.
func (f frame) Role() string {
	if f.User == nil || len(f.User.Roles) == 0 {
		return "no role"
	}
	return f.User.Roles[0]
}

// show is what a handler says about its page.
type show struct {
	Status  int // 200 if zero
	Title   string
	Section string
	Data    any
}

// render answers with a page, whole or not at all.
func (s *Site) render(w http.ResponseWriter, r *http.Request, name string, what show) error {
	return s.renderIn(shellOf(r.Context()), w, r, name, what)
}

func (s *Site) renderIn(sh *shell, w http.ResponseWriter, r *http.Request, name string, what show) error {
	f := frame{
		Title: what.Title, Section: what.Section, Theme: themeOf(r), Here: r.URL.RequestURI(), Met: sh.met, User: sh.user,
		Inbox: s.Inbox != nil, Data: what.Data, path: r.URL.Path, permissions: s.Permissions,
	}
	if r.Method == post {
		f.Here = backOf(r) // what a form is sent to is no page
	}
	var page bytes.Buffer
	if err := s.templates[name].ExecuteTemplate(&page, "layout", f); err != nil {
		return fmt.Errorf("render %s: %w", name, err)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(page.Len()))
	if what.Status != 0 {
		w.WriteHeader(what.Status)
	}
	_, _ = w.Write(page.Bytes()) // whoever does not take it has gone
	return nil
}

//go:embed templates
var templateFiles embed.FS

// parse reads a template for each page, around the layout and the parts that they share.
func (s *Site) parse() (map[string]*template.Template, error) {
	shared := []string{"templates/layout.html", "templates/parts.html", "templates/console_parts.html", "templates/job_parts.html", "templates/room_parts.html"}
	base, err := template.New("").Funcs(s.functions()).ParseFS(templateFiles, shared...)
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	files, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		return nil, err
	}
	templates := map[string]*template.Template{}
	for _, file := range files {
		if slices.Contains(shared, file) {
			continue
		}
		t, err := base.Clone()
		if err == nil {
			t, err = t.ParseFS(templateFiles, file)
		}
		if err != nil {
			return nil, fmt.Errorf("web: %w", err)
		}
		templates[strings.TrimSuffix(path.Base(file), ".html")] = t
	}
	return templates, nil
}
