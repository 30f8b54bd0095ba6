package web

import (
	"net/http"
	"net/url"

	"example.com/plenary/modules/engagement"
	"example.com/plenary/platform/fault"
)

// joinData is the way into a room.
type joinData struct {
	complaints
	Code string
	Away bool // the room sent them here: whoever was in is not any more, or has not been
}

// joinForm asks for a room's code. The address on a presenter's wall has it already; coming in takes a press all the
// same, because programs follow addresses too.
func (s *Site) joinForm(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	return s.showJoin(w, r, 0, joinData{Code: typed(query, "code"), Away: query.Has("away")})
}

func (s *Site) showJoin(w http.ResponseWriter, r *http.Request, status int, d joinData) error {
	return s.render(w, r, "join", show{Status: status, Title: "Join a room", Section: "join", Data: d})
}

// join lets whoever has the code in. It takes no key: who is in already stays who they are, and the answer has a cookie,
// which must not be stored.
func (s *Site) join(w http.ResponseWriter, r *http.Request) error {
	form, err := readForm(w, r)
	if err != nil {
		return err
	}
	d := joinData{Code: typed(form, "code")}
	if d.Code == "" {
		d.Fields = []fault.Field{{Path: "code", Code: "required", Message: "must not be empty"}}
		return s.showJoin(w, r, http.StatusBadRequest, d)
	}
	if err := s.Engagement.AdmitJoin(r.Context(), d.Code); err != nil {
		return err
	}
	joined, err := s.Engagement.JoinRoom(r.Context(), engagement.JoinRoom{Code: d.Code})
	if fault.Is(err, "engagement.room_not_found") {
		d.Fields = []fault.Field{{Path: "code", Code: "unknown_value", Message: "there is no room with this code"}}
		return s.showJoin(w, r, http.StatusNotFound, d)
	}
	if err != nil {
		return err
	}
	if cookie := joined.Cookie(); cookie != nil {
		s.setCookie(w, r, cookie)
	}
	http.Redirect(w, r, roomAddress(joined.Room.Code), http.StatusSeeOther)
	return nil
}

func roomAddress(code string) string { return "/rooms/" + url.PathEscape(code) }

// toJoin leads whoever has not joined to where that is done, and returns any other error.
func (s *Site) toJoin(w http.ResponseWriter, r *http.Request, code string, err error) error {
	if !fault.Is(err, "engagement.not_joined") {
		return err
	}
	http.Redirect(w, r, "/join?away=1&code="+url.QueryEscape(code), http.StatusSeeOther)
	return nil
}
