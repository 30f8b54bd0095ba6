package web

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/google/uuid"

	"example.com/plenary/modules/conference"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/ops"
)

// mostRanked is how many sessions the board shows of each list.
const mostRanked = 100

// boardData is how the sessions of a conference were scored.
type boardData struct {
	complaints
	conference.Event
	Pass      *pass // the one that the address names
	Unseen    bool  // it names one that is not there, or somebody else's
	Ranking   []ranked
	Scored    int // all of them, also those that there is no room for
	Unscored  []conference.Session
	Waiting   int // of those without a score; the same
	Proposals int // of the waiting, those that a pass would take up
	More      bool
	Offline   bool // nobody was asked for any of the scores
	Version   string
	Key       string
}

// ranked is a session with its place.
type ranked struct {
	conference.ScoreView
	Place   int // sessions that are as good share one
	Session conference.Session
	Marks   []mark
	By      string
	Less    string // the penalty, if there is one
}

// mark is what one criterion has got, of ten.
type mark struct {
	Name string
	Of10 int
}

func (s *Site) board(w http.ResponseWriter, r *http.Request) error {
	return s.showBoard(w, r, 0, complaints{})
}

// latestBoard leads to the board of the latest conference, for links that know of none.
func (s *Site) latestBoard(w http.ResponseWriter, r *http.Request) error {
	events, err := s.Conference.ListEvents(r.Context(), conference.ListEvents{Limit: 1})
	if err != nil {
		return err
	}
	next := "/events" // which says that there is none
	if len(events) > 0 {
		next = eventAddress(events[0]) + "/board"
	}
	http.Redirect(w, r, next, http.StatusSeeOther)
	return nil
}

func (s *Site) showBoard(w http.ResponseWriter, r *http.Request, status int, wrong complaints) error {
	event, err := s.eventOf(r)
	if err != nil {
		return err
	}
	d := boardData{complaints: wrong, Event: event, Key: newKey()}
	// The progress is read first: a ranking that is read before the last score and shown with the end would be believed.
	if err := s.followPass(r, &d); err != nil {
		return err
	}
	if err := s.rank(r.Context(), &d); err != nil {
		return err
	}
	return s.render(w, r, "board", show{Status: status, Title: "Board of " + event.Name, Section: "agenda", Data: d})
}

// followPass finds the pass that the address names.
func (s *Site) followPass(r *http.Request, d *boardData) error {
	name := r.URL.Query().Get("operation")
	if name == "" {
		return nil
	}
	d.Unseen = true
	id, err := parseID(name)
	if err != nil {
		return nil // the address of no operation
	}
	view, err := s.Console.Operation(r.Context(), id)
	if fault.KindOf(err) == fault.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	if view.Name == (conference.ScoreEventSessions{}).Policy().Name {
		p := passOf(view)
		d.Pass, d.Unseen = &p, false
	}
	return nil
}

// rank lists the scores, and what has none.
func (s *Site) rank(ctx context.Context, d *boardData) error {
	scores, err := s.Conference.ListScores(ctx, conference.ListScores{EventID: d.ID})
	if err != nil {
		return err
	}
	sessions, more, err := s.sessionsOf(ctx, d.ID)
	if err != nil {
		return err
	}
	d.More, d.Scored, d.Offline = more, len(scores), len(scores) > 0
	byID := map[uuid.UUID]conference.Session{}
	for _, session := range sessions {
		byID[session.ID] = session
	}
	for i, score := range scores {
		d.Offline = d.Offline && score.Model == offline
		if i >= mostRanked {
			continue
		}
		session, found := byID[score.SessionID]
		if !found {
			if session, err = s.Conference.GetSession(ctx, conference.GetSession{ID: score.SessionID}); err != nil {
				return err
			}
		}
		next := rankedOf(score, session, i+1)
		if i > 0 && scores[i-1].Overall == score.Overall {
			next.Place = d.Ranking[i-1].Place
		}
		d.Ranking = append(d.Ranking, next)
		d.Version = max(d.Version, score.ScoredOn.UTC().Format(sortable))
	}
	for _, session := range sessions {
		if slices.ContainsFunc(scores, func(score conference.ScoreView) bool { return score.SessionID == session.ID }) {
			continue
		}
		if session.Status == conference.Proposed {
			d.Proposals++
		}
		if d.Waiting++; d.Waiting <= mostRanked {
			d.Unscored = append(d.Unscored, session)
		}
	}
	d.Version += fmt.Sprintf("-%d-%d", d.Scored, d.Waiting)
	return nil
}

// sortable writes moments so that the later one is the greater text.
const sortable = "20060102150405.000000"

func rankedOf(score conference.ScoreView, session conference.Session, place int) ranked {
	c := score.Criteria
	return ranked{
		ScoreView: score, Session: session, Place: place, By: scoredBy(score), Less: penaltyWords(score.Penalty),
		Marks: []mark{
			{"Relevance", c.Relevance},
			{"Depth", c.Depth},
			{"Practicality", c.Practicality},
			{"Originality", c.Originality},
			{"Clarity", c.Clarity},
			{"Feasibility", c.Feasibility},
		},
	}
}

// requestScoring starts a pass and goes on to where it can be watched.
func (s *Site) requestScoring(w http.ResponseWriter, r *http.Request) error {
	form, err := readForm(w, r)
	if err != nil {
		return err
	}
	event, err := s.eventOf(r)
	if err != nil {
		return err
	}
	next, err := act(r, form, func(ctx context.Context) (uuid.UUID, error) {
		return s.Conference.RequestScoring(ctx, conference.RequestScoring{EventID: event.ID})
	}, func(id uuid.UUID) string { return eventAddress(event) + "/board?operation=" + id.String() })
	if err == nil {
		http.Redirect(w, r, next, http.StatusSeeOther)
		return nil
	}
	wrong, status, ours := complain(err)
	if !ours {
		return err
	}
	return s.showBoard(w, r, status, wrong)
}

// pass is a pass of the scorer over the sessions, as one watches it.
type pass struct {
	ops.OperationView
	Badge badge
	Says  string
	Moves bool // it is not over
	// Version changes with all that is shown of a pass. board.js makes the same of what the API answers.
	Version string
}

func passOf(view ops.OperationView) pass {
	p := pass{OperationView: view, Version: fmt.Sprintf("%s-%d", view.State, view.Attempts)}
	if view.Progress != nil {
		p.Version += fmt.Sprintf("-%d-%d", view.Progress.Done, view.Progress.Total)
	}
	p.Badge, p.Says, p.Moves = passWords(view.State)
	return p
}
