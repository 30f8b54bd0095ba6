package web

import (
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"example.com/plenary/modules/conference"
	"example.com/plenary/modules/engagement"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/identity"
)

// The faces of a room: what the audience has in its hands, what is on the wall, and what its host has before them.
const (
	faceAudience = "audience"
	faceWall     = "wall"
	faceHost     = "host"
)

// roomData is a room with one of its faces.
type roomData struct {
	complaints
	Code      string
	Face      string
	Title     string // of the session
	Who       string // whose votes the browser keeps while it is not connected
	Hosts     bool
	Moderates bool
	Polls     []pollCard
	Questions []questionCard
	Pending   int
	Asked     string // what was typed and could not be handed in
	Draft     draft
	Notice    string
	Address   string // where to join, for the wall
	QR        qrCode
	AskKey    string

	// What room.js makes further polls and questions of.
	BlankPoll     pollCard
	BlankQuestion questionCard
}

func (s *Site) room(w http.ResponseWriter, r *http.Request) error {
	return s.showRoom(w, r, 0, roomData{Face: faceAudience, Notice: roomNotice(r)})
}

func (s *Site) wall(w http.ResponseWriter, r *http.Request) error {
	return s.showRoom(w, r, 0, roomData{Face: faceWall})
}

func (s *Site) host(w http.ResponseWriter, r *http.Request) error {
	return s.showRoom(w, r, 0, roomData{Face: faceHost, Notice: roomNotice(r), Draft: newDraft()})
}

// roomNotice says what the form before has done.
func roomNotice(r *http.Request) string {
	switch r.URL.Query().Get("notice") {
	case "voted":
		return "Your vote is recorded."
	case "withdrawn":
		return "Your vote is taken back."
	case "asked":
		return "Your question is handed in. It is shown as soon as a moderator has approved it."
	case "drafted":
		return "The poll is a draft. Nobody in the audience sees it before you open it."
	case "opened":
		return "The room can vote."
	case "closed":
		return "The poll is closed, and its result is final."
	default:
		return ""
	}
}

// showRoom shows the room that the path names with a face, to somebody who is in.
func (s *Site) showRoom(w http.ResponseWriter, r *http.Request, status int, d roomData) error {
	code := chi.URLParam(r, "code")
	view, err := s.Engagement.GetRoom(r.Context(), engagement.GetRoom{Code: code})
	if err != nil {
		return s.toJoin(w, r, code, err)
	}
	if view.Code != code && r.Method != post { // one room has one address, however the code was typed
		http.Redirect(w, r, strings.Replace(r.URL.RequestURI(), "/rooms/"+code, roomAddress(view.Code), 1), http.StatusSeeOther)
		return nil
	}
	session, err := s.Conference.GetSession(r.Context(), conference.GetSession{ID: view.SessionID})
	switch {
	case err == nil:
		d.Title = session.Title
	case fault.KindOf(err) == fault.NotFound:
		d.Title = "Room " + view.Code
	default:
		return err
	}
	p := identity.PrincipalOf(r.Context())
	d.Code, d.AskKey, d.Who = view.Code, newKey(), "guest"
	if user, ok := p.UserID(); ok {
		d.Who = user.String()
	}
	d.Hosts, d.Moderates = s.Permissions.Allows(p, engagement.PermissionHost), s.Permissions.Allows(p, engagement.PermissionModerate)
	if view.PendingCount != nil {
		d.Pending = *view.PendingCount
	}
	d.arrange(view)
	if d.Face == faceWall {
		d.Address = s.BaseURL + "/join?code=" + view.Code
		if d.QR, err = newQR(d.Address); err != nil {
			return err
		}
	}
	return s.render(w, r, "room", show{Status: status, Title: d.Title, Section: "join", Data: d})
}

// JoinAddress is the address without what everybody knows of it, short enough to be typed from a wall.
func (d roomData) JoinAddress() string {
	address, _, _ := strings.Cut(d.Address, "?")
	_, address, _ = strings.Cut(address, "://")
	return address
}

// runs is access to what hosts and moderators see of a room.
func (s *Site) runs(serve func(w http.ResponseWriter, r *http.Request) error) func(w http.ResponseWriter, r *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := s.Permissions.Require(r.Context(), engagement.PermissionModerate); err != nil {
			if err := s.Permissions.Require(r.Context(), engagement.PermissionHost); err != nil {
				return err
			}
		}
		return serve(w, r)
	}
}
