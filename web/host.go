package web

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"example.com/plenary/modules/engagement"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/httpx"
)

// draft is the form for a poll, as it was typed.
type draft struct {
	Question string
	Options  string // one a line
	Multiple bool
	Minutes  string // after which it closes by itself; "" for never
	Key      string
}

func newDraft() draft { return draft{Key: newKey()} }

// draftPoll takes options as lines: ten fields would be a form of which most is empty.
func (s *Site) draftPoll(w http.ResponseWriter, r *http.Request) error {
	form, err := readForm(w, r)
	if err != nil {
		return err
	}
	d := roomData{Face: faceHost, Draft: draft{
		Question: typed(form, "question"), Options: typed(form, "options"), Multiple: form.Get("multiple") == "true", Minutes: typed(form, "minutes"),
		Key: newKey(),
	}}
	cmd := engagement.CreatePoll{Code: chi.URLParam(r, "code"), Question: d.Draft.Question, Multiple: d.Draft.Multiple}
	for line := range strings.Lines(d.Draft.Options) {
		if line = strings.TrimSpace(line); line != "" {
			cmd.Options = append(cmd.Options, line)
		}
	}
	return actInRoom(s, w, r, "drafted", d, func(ctx context.Context, _ uuid.UUID, _ url.Values) (engagement.SeenPoll, error) {
		if cmd.ClosesAfter, err = secondsOf(d.Draft.Minutes); err != nil {
			return engagement.SeenPoll{}, err
		}
		poll, err := s.Engagement.CreatePoll(ctx, cmd)
		return poll, byLine(err)
	})
}

// secondsOf reads how many minutes a poll stays open; nil for as long as its host likes.
func secondsOf(minutes string) (*int, error) {
	if minutes == "" {
		return nil, nil
	}
	n, err := strconv.Atoi(minutes)
	var v fault.Violations
	v.Check(err == nil && n >= 1 && n <= 24*60, "minutes", "out_of_range", "must be 1 to 1440, or empty")
	n *= 60
	return &n, v.Err()
}

// byLine says of options what is wrong with them at the one field that they were typed into.
func byLine(err error) error {
	e := fault.As(err)
	if fault.KindOf(err) != fault.Invalid || len(e.Fields) == 0 {
		return err
	}
	var v fault.Violations
	for _, f := range e.Fields {
		path, message := f.Path, f.Message
		if at, found := strings.CutPrefix(path, "options["); found {
			n, _ := strconv.Atoi(strings.TrimSuffix(at, "]"))
			path, message = "options", "line "+strconv.Itoa(n+1)+": "+message
		}
		v.Add(path, f.Code, message)
	}
	return v.Err()
}

func (s *Site) openPoll(w http.ResponseWriter, r *http.Request) error {
	return s.movePoll(w, r, "opened", func(ctx context.Context, id uuid.UUID, seen httpx.IfMatch) (engagement.SeenPoll, error) {
		return s.Engagement.OpenPoll(ctx, engagement.OpenPoll{ID: id, IfMatch: seen})
	})
}

func (s *Site) closePoll(w http.ResponseWriter, r *http.Request) error {
	return s.movePoll(w, r, "closed", func(ctx context.Context, id uuid.UUID, seen httpx.IfMatch) (engagement.SeenPoll, error) {
		return s.Engagement.EndPoll(ctx, engagement.EndPoll{ID: id, IfMatch: seen})
	})
}

// movePoll opens or closes the version of a poll that the host has seen, and no other one.
func (s *Site) movePoll(w http.ResponseWriter, r *http.Request, notice string,
	door func(ctx context.Context, id uuid.UUID, seen httpx.IfMatch) (engagement.SeenPoll, error),
) error {
	return actInRoom(s, w, r, notice, roomData{Face: faceHost, Draft: newDraft()}, func(ctx context.Context, id uuid.UUID, form url.Values) (engagement.SeenPoll, error) {
		version, err := strconv.ParseInt(form.Get("version"), 10, 64)
		if err != nil {
			return engagement.SeenPoll{}, fault.New(fault.Invalid, "invalid_form", "the form is not complete; send it again")
		}
		var seen httpx.IfMatch
		if err := seen.UnmarshalText([]byte(httpx.ETag(version))); err != nil {
			return engagement.SeenPoll{}, err
		}
		return door(ctx, id, seen)
	})
}

func (s *Site) moderate(w http.ResponseWriter, r *http.Request) error {
	d := roomData{Face: faceHost, Draft: newDraft()}
	return actInRoom(s, w, r, "", d, func(ctx context.Context, id uuid.UUID, form url.Values) (engagement.SeenQuestion, error) {
		return s.Engagement.ModerateQuestion(ctx, engagement.ModerateQuestion{ID: id, Action: form.Get("action")})
	})
}
