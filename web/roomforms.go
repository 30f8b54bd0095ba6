package web

import (
	"context"
	"net/http"
	"net/url"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"example.com/plenary/modules/engagement"
	"example.com/plenary/platform/fault"
)

func (s *Site) vote(w http.ResponseWriter, r *http.Request) error {
	return actInRoom(s, w, r, "voted", roomData{Face: faceAudience}, func(ctx context.Context, id uuid.UUID, form url.Values) ([]uuid.UUID, error) {
		cmd := engagement.CastBallot{PollID: id}
		for _, text := range form["option"] {
			option, err := parseID(text)
			if err != nil {
				return nil, fault.New(fault.Invalid, "invalid_form", "choose among the options")
			}
			cmd.Options = append(cmd.Options, option)
		}
		if len(cmd.Options) == 0 {
			return nil, fault.New(fault.Invalid, "out_of_range", "choose an option first")
		}
		if err := s.Engagement.AdmitVote(ctx); err != nil {
			return nil, err
		}
		return s.Engagement.CastBallot(ctx, cmd)
	})
}

func (s *Site) withdraw(w http.ResponseWriter, r *http.Request) error {
	return actInRoom(s, w, r, "withdrawn", roomData{Face: faceAudience}, func(ctx context.Context, id uuid.UUID, _ url.Values) (struct{}, error) {
		if err := s.Engagement.AdmitVote(ctx); err != nil {
			return struct{}{}, err
		}
		return struct{}{}, s.Engagement.WithdrawBallot(ctx, engagement.WithdrawBallot{PollID: id})
	})
}

func (s *Site) upvote(w http.ResponseWriter, r *http.Request) error {
	return actInRoom(s, w, r, "", roomData{Face: faceAudience}, func(ctx context.Context, id uuid.UUID, form url.Values) (engagement.SeenQuestion, error) {
		if err := s.Engagement.AdmitVote(ctx); err != nil {
			return engagement.SeenQuestion{}, err
		}
		return s.Engagement.UpvoteQuestion(ctx, engagement.UpvoteQuestion{ID: id, Wanted: form.Get("wanted") == "true"})
	})
}

func (s *Site) ask(w http.ResponseWriter, r *http.Request) error {
	form, err := readForm(w, r)
	if err != nil {
		return err
	}
	cmd := engagement.AskQuestion{Code: chi.URLParam(r, "code"), Text: typed(form, "text")}
	d := roomData{Face: faceAudience, Asked: cmd.Text}
	return actInRoom(s, w, r, "asked", d, func(ctx context.Context, _ uuid.UUID, _ url.Values) (engagement.SeenQuestion, error) {
		if err := s.Engagement.AdmitQuestion(ctx); err != nil {
			return engagement.SeenQuestion{}, err
		}
		return s.Engagement.AskQuestion(ctx, cmd)
	})
}

// actInRoom sends a form of a room through a door and goes back to the face that it was on, which says what came of it;
// or shows that again, with what stood in the way.
func actInRoom[R any](s *Site, w http.ResponseWriter, r *http.Request, notice string, d roomData,
	door func(ctx context.Context, id uuid.UUID, form url.Values) (R, error),
) error {
	form, err := readForm(w, r)
	if err != nil {
		return err
	}
	var id uuid.UUID
	if chi.URLParam(r, "id") != "" {
		if id, err = pathID(r, "id"); err != nil {
			return err
		}
	}
	code := chi.URLParam(r, "code")
	next, err := act(r, form, func(ctx context.Context) (R, error) { return door(ctx, id, form) }, func(R) string {
		return faceAddress(code, d.Face, notice)
	})
	if err == nil {
		http.Redirect(w, r, next, http.StatusSeeOther)
		return nil
	}
	if fault.KindOf(err) == fault.PreconditionFailed {
		d.Alert = "Somebody else has changed it meanwhile. This is how it stands now; if you still mean it, send it again."
		return s.showRoom(w, r, http.StatusPreconditionFailed, d)
	}
	wrong, status, ours := complain(err)
	if !ours {
		return s.toJoin(w, r, code, err)
	}
	d.complaints = wrong
	return s.showRoom(w, r, status, d)
}

// faceAddress is the page of a face. The audience's is the room's own.
func faceAddress(code, face, notice string) string {
	address := roomAddress(code)
	if face != faceAudience {
		address += "/" + face
	}
	if notice != "" {
		address += "?notice=" + notice
	}
	return address
}
