package web

import (
	"context"
	"net/http"
	"net/url"

	"github.com/google/uuid"

	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/later/lease"
	"example.com/plenary/platform/ops"
)

// What the lists show at once: the first page both of them, and each its own.
const (
	glance = 10
	full   = 50
)

var workStates = []lease.State{lease.Due, lease.Running, lease.Retrying, lease.Scheduled, lease.Succeeded, lease.DeadLettered}

// listing is what the operators' lists have in common: all of it is in the address.
type listing struct {
	Filter lease.Filter
	Tabs   []tab
	Newest string
	Next   string
	query  url.Values
}

// Full returns the address of a whole list, narrowed down in the same way.
func (l listing) Full(path string) string {
	if len(l.query) == 0 {
		return path
	}
	return path + "?" + l.query.Encode()
}

// Narrowed reports whether anything but the state narrows the list down.
func (l listing) Narrowed() bool {
	f := l.Filter
	return f.Name != "" || f.Source != "" || f.CorrelationID != ""
}

func listingOf(r *http.Request) (listing, error) {
	query := r.URL.Query()
	state, tabs, err := tabsOf(r, "state", workStates, func(st lease.State) string { return stateBadge(st).Word })
	if err != nil {
		return listing{}, err
	}
	f := lease.Filter{State: state, Name: query.Get("name"), Source: query.Get("source"), CorrelationID: query.Get("correlationId")}
	kept := url.Values{}
	for name, value := range map[string]string{"state": string(f.State), "name": f.Name, "source": f.Source, "correlationId": f.CorrelationID} {
		if value != "" {
			kept.Set(name, value)
		}
	}
	return listing{Filter: f, Tabs: tabs, Newest: newest(r), query: kept}, nil
}

// consoleData is both lists, or one of them.
type consoleData struct {
	listing
	Commands []ops.CommandView
	Events   []ops.EventView
	More     bool // there are more commands
	MoreToo  bool // there are more events
}

func (s *Site) console(w http.ResponseWriter, r *http.Request) error {
	l, err := listingOf(r)
	if err != nil {
		return err
	}
	commands, err := s.Console.Commands(r.Context(), httpx.Paging{Limit: glance}, l.Filter)
	if err != nil {
		return err
	}
	events, err := s.Console.Events(r.Context(), httpx.Paging{Limit: glance}, l.Filter)
	if err != nil {
		return err
	}
	return s.render(w, r, "console", show{Title: "Console", Section: "ops", Data: consoleData{
		listing: l, Commands: commands.Items, Events: events.Items, More: commands.NextCursor != nil, MoreToo: events.NextCursor != nil,
	}})
}

func (s *Site) commands(w http.ResponseWriter, r *http.Request) error {
	l, err := listingOf(r)
	if err != nil {
		return err
	}
	page, err := s.Console.Commands(r.Context(), httpx.Paging{Limit: full, Cursor: r.URL.Query().Get("cursor")}, l.Filter)
	if err != nil {
		return err
	}
	l.Next = nextPage(r, page.NextCursor)
	return s.render(w, r, "commands", show{Title: "Internal commands", Section: "ops", Data: consoleData{listing: l, Commands: page.Items}})
}

func (s *Site) outbox(w http.ResponseWriter, r *http.Request) error {
	l, err := listingOf(r)
	if err != nil {
		return err
	}
	page, err := s.Console.Events(r.Context(), httpx.Paging{Limit: full, Cursor: r.URL.Query().Get("cursor")}, l.Filter)
	if err != nil {
		return err
	}
	l.Next = nextPage(r, page.NextCursor)
	return s.render(w, r, "outbox", show{Title: "Outbox", Section: "ops", Data: consoleData{listing: l, Events: page.Items}})
}

type commandData struct {
	ops.CommandDetail
	Notice string
	Key    string
}

func (s *Site) command(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	c, err := s.Console.Command(r.Context(), id)
	if err != nil {
		return err
	}
	return s.render(w, r, "command", show{Title: c.Name, Section: "ops", Data: commandData{CommandDetail: c, Notice: noticeOf(r), Key: newKey()}})
}

func (s *Site) requeueCommand(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	return s.requeue(w, r, "/ops/commands/"+id.String(), func(ctx context.Context) (int, error) {
		return s.Console.RequeueCommands(ctx, ops.RequeueCommands{Selection: ops.Selection{IDs: []uuid.UUID{id}}})
	})
}

type eventData struct {
	ops.EventDetail
	Notice string
	Key    string
}

func (s *Site) event(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	e, err := s.Console.Event(r.Context(), id)
	if err != nil {
		return err
	}
	return s.render(w, r, "event", show{Title: e.Name, Section: "ops", Data: eventData{EventDetail: e, Notice: noticeOf(r), Key: newKey()}})
}

func (s *Site) requeueDelivery(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	delivery, err := pathID(r, "delivery")
	if err != nil {
		return err
	}
	return s.requeue(w, r, "/ops/outbox/"+id.String(), func(ctx context.Context) (int, error) {
		return s.Console.RequeueDeliveries(ctx, ops.RequeueDeliveries{Selection: ops.Selection{IDs: []uuid.UUID{delivery}}})
	})
}

// requeue goes through a door and back to the row, which says what came of it.
func (s *Site) requeue(w http.ResponseWriter, r *http.Request, back string, door func(ctx context.Context) (int, error)) error {
	form, err := readForm(w, r)
	if err != nil {
		return err
	}
	next, err := act(r, form, door, func(n int) string {
		if n == 0 {
			return back + "?notice=unchanged"
		}
		return back + "?notice=requeued"
	})
	if err != nil {
		return err
	}
	http.Redirect(w, r, next, http.StatusSeeOther)
	return nil
}

// noticeOf says what a form has done before it led here.
func noticeOf(r *http.Request) string {
	switch r.URL.Query().Get("notice") {
	case "requeued":
		return "Requeued. It starts in a moment, with its attempts counted from zero."
	case "unchanged":
		return "It was no dead letter any more, so nothing was changed."
	case "started":
		return "Started out of turn. The next run stays where it is."
	case "paused":
		return "Paused. It does not run by itself until it is resumed."
	case "resumed":
		return "Resumed. What was missed meanwhile is not made up for."
	case "changed":
		return "The schedule is changed, on all replicas, until it is reset."
	case "reset":
		return "The schedule is the program's again."
	default:
		return ""
	}
}
