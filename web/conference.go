package web

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"example.com/plenary/modules/conference"
	"example.com/plenary/modules/engagement"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/identity"
)

// What the pages of a conference read at once, and what they read at most: they are one page, and anybody may propose.
const (
	batch        = 100
	mostSessions = 500
	mostDays     = 31
)

// eventsData is the conferences, for when there is more than one, or none.
type eventsData struct {
	Events []conference.Event
	Newest string
	Next   string
}

// events lists the conferences. If there is one only, its agenda is what is wanted.
func (s *Site) events(w http.ResponseWriter, r *http.Request) (err error) {
	d := eventsData{Newest: newest(r)}
	d.Events, d.Next, err = keyset(r, 25, func(limit int, after uuid.UUID) ([]conference.Event, error) {
		return s.Conference.ListEvents(r.Context(), conference.ListEvents{Limit: limit, After: after})
	}, func(e conference.Event) uuid.UUID { return e.ID })
	if err != nil {
		return err
	}
	if len(d.Events) == 1 && d.Newest == "" && d.Next == "" {
		http.Redirect(w, r, eventAddress(d.Events[0]), http.StatusSeeOther)
		return nil
	}
	return s.render(w, r, "events", show{Title: "Conferences", Section: "agenda", Data: d})
}

func eventAddress(e conference.Event) string { return "/events/" + e.Slug }

var errNoEvent = fault.New(fault.NotFound, "conference.event_not_found", "there is no such conference")

// eventOf returns the conference that the path names, by its id or by its slug.
func (s *Site) eventOf(r *http.Request) (conference.Event, error) {
	name := chi.URLParam(r, "event")
	if id, err := parseID(name); err == nil {
		return s.Conference.GetEvent(r.Context(), conference.GetEvent{ID: id})
	}
	query := conference.ListEvents{Limit: batch}
	for {
		events, err := s.Conference.ListEvents(r.Context(), query)
		if err != nil {
			return conference.Event{}, err
		}
		if at := slices.IndexFunc(events, func(e conference.Event) bool { return e.Slug == name }); at >= 0 {
			return events[at], nil
		}
		if len(events) < batch {
			return conference.Event{}, errNoEvent
		}
		query.After = events[batch-1].ID
	}
}

// sessionsOf returns the newest sessions of a conference, and whether there are more than a page has room for.
func (s *Site) sessionsOf(ctx context.Context, event uuid.UUID) (all []conference.Session, more bool, err error) {
	query := conference.ListSessions{EventID: event, Limit: batch}
	for len(all) <= mostSessions {
		some, err := s.Conference.ListSessions(ctx, query)
		if err != nil {
			return nil, false, err
		}
		all = append(all, some...)
		if len(some) < batch {
			break
		}
		query.After = some[batch-1].ID
	}
	return all[:min(len(all), mostSessions)], len(all) > mostSessions, nil
}

// agendaData is what happens at a conference.
type agendaData struct {
	conference.Event
	Tickets  int // those of who looks
	Days     []day
	Selected []conference.Session // without a time
	Proposed []conference.Session
	More     bool
}

// day is a day in the conference's own zone.
type day struct {
	Key      string // as in 2027-05-20
	Name     string
	Sessions []conference.Session
}

func (s *Site) agenda(w http.ResponseWriter, r *http.Request) error {
	event, err := s.eventOf(r)
	if err != nil {
		return err
	}
	d := agendaData{Event: event}
	sessions, more, err := s.sessionsOf(r.Context(), event.ID)
	if err != nil {
		return err
	}
	if d.Tickets, err = s.ticketsFor(r.Context(), event.ID); err != nil {
		return err
	}
	d.More = more
	d.arrange(sessions)
	return s.render(w, r, "agenda", show{Title: event.Name, Section: "agenda", Data: d})
}

// arrange puts each session where it belongs. Who was declined is told on the session's own page, not here.
func (d *agendaData) arrange(sessions []conference.Session) {
	days := map[string]*day{}
	on := func(t time.Time) *day {
		key := t.Format(time.DateOnly)
		if days[key] == nil {
			days[key] = &day{Key: key, Name: t.Format("Monday, 2 January 2006")}
		}
		return days[key]
	}
	last := inZone(d.EndsOn, d.TimeZone)
	year, month, first := inZone(d.StartsOn, d.TimeZone).Date()
	for i := range mostDays {
		noon := time.Date(year, month, first+i, 12, 0, 0, 0, last.Location()) // which no change of the clocks moves to another day
		if noon.Format(time.DateOnly) > last.Format(time.DateOnly) {
			break
		}
		on(noon)
	}
	for _, s := range sessions {
		switch {
		case s.Status == conference.Proposed:
			d.Proposed = append(d.Proposed, s)
		case s.Status == conference.Selected && s.StartsOn == nil:
			d.Selected = append(d.Selected, s)
		case s.Status == conference.Selected:
			at := on(inZone(*s.StartsOn, d.TimeZone))
			at.Sessions = append(at.Sessions, s)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(days)) {
		slices.SortFunc(days[key].Sessions, func(a, b conference.Session) int {
			return cmp.Or(a.StartsOn.Compare(*b.StartsOn), cmp.Compare(a.Title, b.Title))
		})
		d.Days = append(d.Days, *days[key])
	}
}

// ticketsFor counts the tickets to a conference of who looks. Who is not signed in has none.
func (s *Site) ticketsFor(ctx context.Context, event uuid.UUID) (tickets int, err error) {
	if _, user := identity.PrincipalOf(ctx).UserID(); !user {
		return 0, nil
	}
	query := conference.ListRegistrations{Limit: batch}
	for {
		some, err := s.Conference.ListRegistrations(ctx, query)
		if err != nil {
			return 0, err
		}
		for _, registration := range some {
			if registration.EventID == event {
				tickets++
			}
		}
		if len(some) < batch {
			return tickets, nil
		}
		query.After = some[batch-1].ID
	}
}

// sessionData is one session.
type sessionData struct {
	conference.Session
	Event  conference.Event
	Says   string
	Room   string // the code of its room; "" as long as it has none
	Notice string
}

func (s *Site) session(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	d := sessionData{}
	if d.Session, err = s.Conference.GetSession(r.Context(), conference.GetSession{ID: id}); err != nil {
		return err
	}
	if d.Event, err = s.Conference.GetEvent(r.Context(), conference.GetEvent{ID: d.EventID}); err != nil {
		return err
	}
	room, err := s.Engagement.GetSessionRoom(r.Context(), engagement.GetSessionRoom{SessionID: id})
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return err
	}
	d.Room = room.Code
	d.Says = sessionSays(d.Session)
	if r.URL.Query().Get("notice") == "proposed" {
		d.Notice = "Thank you, your session is proposed. This is its page, and anybody can read it."
	}
	return s.render(w, r, "session", show{Title: d.Title, Section: "agenda", Data: d})
}
