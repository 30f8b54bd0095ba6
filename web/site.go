package web

import (
	"context"
	"html/template"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"example.com/plenary/modules/conference"
	"example.com/plenary/modules/engagement"
	"example.com/plenary/modules/sales"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/identity/login"
	"example.com/plenary/platform/later/schedule"
	"example.com/plenary/platform/mail/inbox"
	"example.com/plenary/platform/ops"
)

// Deps is what the pages need.
type Deps struct {
	Sales       *sales.Module
	Conference  *conference.Module
	Engagement  *engagement.Module
	Login       *login.Service
	Console     *ops.Console
	Jobs        *schedule.Schedule // knows where the jobs lie whose runs are shown
	Permissions *identity.Permissions
	// Inbox has the mail that the demo has sent; nil: there is no inbox.
	Inbox Inbox
	// DemoUsers can be signed in by a button; none outside of the demo.
	DemoUsers []DemoUser
	// BaseURL is where people reach the pages, without a slash at the end: what a presenter's wall shows.
	BaseURL string
	// SecureCookies says that TLS ends in front of us.
	SecureCookies bool
	// Now is the clock that countdowns begin with; time.Now if nil.
	Now func() time.Time
}

// Inbox is mail that was sent, newest first; limit 0 means all of it.
type Inbox interface {
	List(ctx context.Context, limit int) ([]inbox.Mail, error)
}

// DemoUser is somebody whose password is no secret.
type DemoUser struct{ Email, Password, Name, Role string }

// Site is the pages. It is safe for concurrent use.
type Site struct {
	Deps
	templates map[string]*template.Template
	static    *static
}

// New parses the templates and returns the site.
func New(d Deps) (*Site, error) {
	if d.Now == nil {
		d.Now = time.Now
	}
	s := &Site{Deps: d}
	var err error
	if s.static, err = openStatic(); err != nil {
		return nil, err
	}
	s.templates, err = s.parse()
	return s, err
}

// page is one row of the table of pages.
type page struct {
	method string
	path   string
	who    access
	serve  func(w http.ResponseWriter, r *http.Request) error
}

// access is who may see a page: everybody, whoever is signed in, or those with a permission.
type access string

const (
	anybody  access = ""
	signedIn access = "*"

	get  = http.MethodGet
	post = http.MethodPost
)

func (s *Site) pages() []page {
	orders, selects := access(sales.PermissionOrder), access(conference.PermissionSelect)
	hosts, moderates := access(engagement.PermissionHost), access(engagement.PermissionModerate)
	read, act, admin := access(ops.PermissionRead), access(ops.PermissionAct), access(ops.PermissionAdmin)
	pages := []page{
		{get, "/", anybody, s.home},
		{post, "/theme", anybody, s.setTheme},

		{get, "/login", anybody, s.login},
		{post, "/login", anybody, s.signIn},
		{post, "/logout", anybody, s.signOut},

		{get, "/shop", anybody, s.shop},
		{get, "/checkout", orders, s.checkout},
		{post, "/checkout", orders, s.placeOrder},
		{get, "/orders", signedIn, s.orders},
		{get, "/orders/{id}", signedIn, s.order},
		{post, "/orders/{id}/payments", signedIn, s.payOrder},
		{post, "/orders/{id}/cancellation", signedIn, s.cancelOrder},

		{get, "/events", anybody, s.events},
		{get, "/events/{event}", anybody, s.agenda},
		{get, "/events/{event}/propose", signedIn, s.proposal},
		{post, "/events/{event}/propose", signedIn, s.propose},
		{get, "/board", selects, s.latestBoard},
		{get, "/events/{event}/board", selects, s.board},
		{post, "/events/{event}/scoring", selects, s.requestScoring},
		{get, "/sessions/{id}", anybody, s.session},

		{get, "/join", anybody, s.joinForm},
		{post, "/join", anybody, s.join},
		{get, "/rooms/{code}", anybody, s.room},
		{post, "/rooms/{code}/polls/{id}/ballot", anybody, s.vote},
		{post, "/rooms/{code}/polls/{id}/withdrawal", anybody, s.withdraw},
		{post, "/rooms/{code}/questions", anybody, s.ask},
		{post, "/rooms/{code}/questions/{id}/upvote", anybody, s.upvote},
		{get, "/rooms/{code}/wall", hosts, s.wall},
		{get, "/rooms/{code}/host", signedIn, s.runs(s.host)},
		{post, "/rooms/{code}/polls", hosts, s.draftPoll},
		{post, "/rooms/{code}/polls/{id}/opening", hosts, s.openPoll},
		{post, "/rooms/{code}/polls/{id}/closing", hosts, s.closePoll},
		{post, "/rooms/{code}/questions/{id}/moderation", moderates, s.moderate},

		{get, "/ops", read, s.console},
		{get, "/ops/commands", read, s.commands},
		{get, "/ops/commands/{id}", read, s.command},
		{post, "/ops/commands/{id}/requeue", act, s.requeueCommand},
		{get, "/ops/outbox", read, s.outbox},
		{get, "/ops/outbox/{id}", read, s.event},
		{post, "/ops/outbox/{id}/deliveries/{delivery}/requeue", act, s.requeueDelivery},
		{get, "/ops/jobs", read, s.jobs},
		{get, "/ops/jobs/{name}", read, s.job},
		{post, "/ops/jobs/{name}/runs", act, s.runJob},
		{post, "/ops/jobs/{name}/pause", admin, s.pauseJob},
		{post, "/ops/jobs/{name}/resume", admin, s.resumeJob},
		{post, "/ops/jobs/{name}/schedule", admin, s.scheduleJob},
		{post, "/ops/jobs/{name}/reset", admin, s.resetJob},
		{get, "/ops/audit", read, s.audit},
	}
	if s.Inbox != nil {
		pages = append(
			pages,
			page{get, "/inbox", anybody, s.inbox},
			page{get, "/inbox/{id}", anybody, s.mail},
			page{get, "/inbox/{id}/html", anybody, s.mailHTML},
		)
	}
	return pages
}

// Mount adds the pages and the static files to an API, while the program is wired.
func (s *Site) Mount(api *httpx.API) {
	for _, p := range s.pages() {
		h := s.handler(p)
		api.Router().Method(p.method, p.path, h)
		if p.method == get {
			api.Router().Method(http.MethodHead, p.path, h) // net/http leaves the body out
		}
	}
	s.static.mount(api.Public())
}

// handler makes of a page what httpx makes of a route: who asks, whether they may, and an error answered.
func (s *Site) handler(p page) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store") // pages depend on who asks
		err := s.meet(r)
		if err == nil {
			err = s.authorize(r, p.who)
		}
		if err == nil {
			err = p.serve(w, r)
		}
		if err != nil {
			s.fail(w, r, err)
		}
	})
}

func (s *Site) authorize(r *http.Request, who access) error {
	switch who {
	case anybody:
		return nil
	case signedIn:
		if _, user := identity.PrincipalOf(r.Context()).UserID(); !user {
			return errSignIn
		}
		return nil
	default: // a room's voter without an account is somebody, and yet not signed in
		if err := s.authorize(r, signedIn); err != nil {
			return err
		}
		return s.Permissions.Require(r.Context(), identity.Permission(who))
	}
}

var errSignIn = fault.New(fault.Unauthenticated, "unauthenticated", "sign in first")

// pathID reads an id from the path. One that is none is the address of nothing.
func pathID(r *http.Request, name string) (uuid.UUID, error) {
	id, err := parseID(chi.URLParam(r, name))
	if err != nil {
		return id, fault.New(fault.NotFound, "not_found", "there is nothing at this address")
	}
	return id, nil
}
