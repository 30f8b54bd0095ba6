package web

import (
	"context"
	"net/http"
	"strings"

	"example.com/plenary/modules/conference"
)

// proposalData is a session that somebody is about to propose.
type proposalData struct {
	complaints
	Event    conference.Event
	Proposal conference.ProposeSession // what was typed
	Key      string
}

// proposal shows an empty form. Most people propose what they will speak about themselves.
func (s *Site) proposal(w http.ResponseWriter, r *http.Request) error {
	empty := conference.ProposeSession{}
	if user := shellOf(r.Context()).user; user != nil {
		empty.SpeakerName = user.Name
	}
	return s.showProposal(w, r, 0, empty, complaints{})
}

func (s *Site) propose(w http.ResponseWriter, r *http.Request) error {
	form, err := readForm(w, r)
	if err != nil {
		return err
	}
	event, err := s.eventOf(r)
	if err != nil {
		return err
	}
	// A form sends the end of a line as two characters; who typed it counts one.
	abstract := strings.ReplaceAll(typed(form, "abstract"), "\r\n", "\n")
	cmd := conference.ProposeSession{EventID: event.ID, Title: typed(form, "title"), Abstract: abstract, SpeakerName: typed(form, "speakerName")}
	next, err := act(r, form, func(ctx context.Context) (conference.Session, error) { return s.Conference.ProposeSession(ctx, cmd) },
		func(made conference.Session) string { return "/sessions/" + made.ID.String() + "?notice=proposed" })
	if err == nil {
		http.Redirect(w, r, next, http.StatusSeeOther)
		return nil
	}
	wrong, status, ours := complain(err)
	if !ours {
		return err
	}
	return s.showProposal(w, r, status, cmd, wrong)
}

func (s *Site) showProposal(w http.ResponseWriter, r *http.Request, status int, entered conference.ProposeSession, wrong complaints) error {
	event, err := s.eventOf(r)
	if err != nil {
		return err
	}
	d := proposalData{complaints: wrong, Event: event, Proposal: entered, Key: newKey()}
	return s.render(w, r, "proposal", show{Status: status, Title: "Propose a session", Section: "agenda", Data: d})
}
