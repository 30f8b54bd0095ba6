package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/httpx"
)

// Wrap serves next, and makes a page of each problem document that it answers: for who wants HTML, outside of the
// API. Programs get the document.
func (s *Site) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/") || !wantsHTML(r) {
			next.ServeHTTP(w, r)
			return
		}
		sh := &shell{}
		catch := &catcher{ResponseWriter: w}
		next.ServeHTTP(catch, r.WithContext(context.WithValue(r.Context(), shellKey{}, sh)))
		if catch.problem == 0 {
			return
		}
		if err := s.showProblem(sh, w, r, catch); err != nil { // a template that fails is a bug; the document will do
			w.Header().Set("Content-Type", problemType)
			w.WriteHeader(catch.problem)
			_, _ = w.Write(catch.body.Bytes())
		}
	})
}

func wantsHTML(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }

const problemType = "application/problem+json"

// catcher keeps a problem document back, and lets everything else through.
type catcher struct {
	http.ResponseWriter
	problem int // its status
	body    bytes.Buffer
	begun   bool
}

func (c *catcher) WriteHeader(status int) {
	if !c.begun && c.Header().Get("Content-Type") == problemType {
		c.problem = status
	}
	c.begun = c.begun || status >= 200
	if c.problem == 0 {
		c.ResponseWriter.WriteHeader(status)
	}
}

func (c *catcher) Write(p []byte) (int, error) {
	c.begun = true
	if c.problem != 0 {
		return c.body.Write(p)
	}
	return c.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (c *catcher) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// problemData is the page about a problem.
type problemData struct {
	httpx.Problem
	Heading string
	Advice  string
	Retry   int    // seconds after which the page tries again by itself; 0: it does not
	Again   string // the address to try, or to come back to after signing in; "" if there is none
}

func (s *Site) showProblem(sh *shell, w http.ResponseWriter, r *http.Request, c *catcher) error {
	d := problemData{}
	if err := json.Unmarshal(c.body.Bytes(), &d.Problem); err != nil {
		return err
	}
	d.Heading, d.Advice = wordsFor(d.Status)
	switch d.Code {
	case "not_found", "internal", "method_not_allowed":
		d.Detail = "" // says what the advice says
	default:
		d.Detail = sentence(d.Detail)
	}
	d.Again = r.URL.RequestURI()
	if r.Method == post {
		d.Again = backOf(r)
	} else if d.Status == http.StatusServiceUnavailable {
		d.Retry, _ = strconv.Atoi(w.Header().Get("Retry-After"))
	}
	w.Header().Add("Vary", "Accept")
	return s.renderIn(sh, w, r, "problem", show{Status: d.Status, Title: d.Heading, Data: d})
}

func wordsFor(status int) (heading, advice string) {
	switch status {
	case http.StatusNotFound:
		return "Nothing is here", "The address may be mistyped, or what it named is gone, or it is not yours to see."
	case http.StatusForbidden:
		return "Not for you", "You are signed in, but what you are allowed does not include this."
	case http.StatusMethodNotAllowed:
		return "Not like this", "This address is meant for a form, not for a visit."
	case http.StatusConflict:
		return "Not as things stand", "Somebody or something was faster. Go back and look again."
	case http.StatusTooManyRequests:
		return "Too much at once", "Wait a moment, then try again."
	case http.StatusServiceUnavailable:
		return "Back in a moment", "Something that we depend on does not answer. Nothing is lost, and what you have sent is not half done."
	case http.StatusInternalServerError:
		return "Our mistake", "Something broke on our side. It is in our log, under the reference below."
	default:
		return "That cannot be done", "What was sent is not what this address takes. Go back and try again."
	}
}

// fail answers with an error: by the way to the sign-in if that is what is missing.
func (s *Site) fail(w http.ResponseWriter, r *http.Request, err error) {
	if fault.KindOf(err) == fault.Unauthenticated && wantsHTML(r) {
		back := r.URL.RequestURI()
		if r.Method == post {
			back = backOf(r)
		}
		query := url.Values{"next": {back}}
		if _, err := r.Cookie(httpx.SessionCookie); err == nil {
			query.Set("ended", "1") // the browser had a session
		}
		http.Redirect(w, r, "/login?"+query.Encode(), http.StatusSeeOther)
		return
	}
	httpx.WriteProblem(w, r, err)
}

// backOf returns the page that a form was on.
func backOf(r *http.Request) string {
	from, err := url.Parse(r.Referer())
	if err != nil || from.Host != r.Host {
		return "/"
	}
	return localPath(from.RequestURI())
}

// localPath returns an address if it is one of ours, and else "/": nobody is to be sent elsewhere from here.
func localPath(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(address, "/") ||
		strings.HasPrefix(address, "//") || strings.ContainsAny(address, "\\\t\r\n") {
		return "/"
	}
	return address
}

// statusFor is the status of a form that is shown again because of err, and false if err is no fault of the form.
func statusFor(err error) (int, bool) {
	if _, ok := errors.AsType[*httpx.StatusError](err); ok {
		return 0, false
	}
	switch fault.KindOf(err) {
	case fault.Invalid:
		return http.StatusBadRequest, true
	case fault.Conflict:
		return http.StatusConflict, true
	default:
		return 0, false
	}
}
