package conference

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"example.com/plenary/modules/conference/conferenceapi"
	"example.com/plenary/platform/command"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/postgres"
)

// ProposeSession offers a talk to a conference.
type ProposeSession struct {
	EventID     uuid.UUID
	Title       string
	Abstract    string
	SpeakerName string
}

// Policy leaves the decision to the handler: everybody who is signed in may propose.
func (ProposeSession) Policy() command.Policy {
	return command.Policy{Name: "conference.propose_session"}
}

// Bounds of a proposal, in characters.
const (
	maxTitle    = 200
	maxAbstract = 5000
	maxSpeaker  = 200
)

// Validate wants each text, and none without end.
func (c ProposeSession) Validate() error {
	var v fault.Violations
	for _, f := range []struct {
		path, text string
		most       int
	}{{"title", c.Title, maxTitle}, {"abstract", c.Abstract, maxAbstract}, {"speakerName", c.SpeakerName, maxSpeaker}} {
		v.Check(strings.TrimSpace(f.text) != "", f.path, "required", "must not be empty")
		v.Check(utf8.RuneCountInString(f.text) <= f.most, f.path, "too_long", fmt.Sprintf("must have at most %d characters", f.most))
	}
	return v.Err()
}

func (m *Module) proposeSession(ctx context.Context, tx *postgres.Tx, cmd ProposeSession) (Session, error) {
	by, ok := identity.PrincipalOf(ctx).UserID()
	if !ok {
		return Session{}, fault.New(fault.Unauthenticated, "unauthenticated", "sign in first")
	}
	if _, err := loadEvent(ctx, tx, cmd.EventID); err != nil {
		return Session{}, err
	}
	s := Session{
		ID: uuid.Must(uuid.NewV7()), EventID: cmd.EventID, Title: strings.TrimSpace(cmd.Title), Abstract: strings.TrimSpace(cmd.Abstract),
		SpeakerName: strings.TrimSpace(cmd.SpeakerName), Status: Proposed,
	}
	return s, m.addSession(ctx, tx, s, by)
}

// addSession stores a session and tells whoever cares.
func (m *Module) addSession(ctx context.Context, tx *postgres.Tx, s Session, by uuid.UUID) error {
	tag, err := tx.Exec(ctx, `
		INSERT INTO conference.sessions (id, event_id, title, abstract, speaker_name, proposed_by, status, starts_on)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (id) DO NOTHING`,
		s.ID, s.EventID, s.Title, s.Abstract, s.SpeakerName, by, s.Status, s.StartsOn)
	if err != nil {
		return fmt.Errorf("store session: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return nil
	}
	_, err = m.events.Publish(ctx, tx, conferenceapi.SessionProposed{SessionID: s.ID, EventID: s.EventID, Title: s.Title})
	return err
}

type postSessionInput struct {
	byID
	Body struct {
		Title       string `json:"title" maxLength:"200"`
		Abstract    string `json:"abstract" maxLength:"5000"`
		SpeakerName string `json:"speakerName" maxLength:"200"`
	}
}

func (m *Module) postSession(ctx context.Context, in postSessionInput) (httpx.Response[Session], error) {
	cmd := ProposeSession{EventID: in.ID, Title: in.Body.Title, Abstract: in.Body.Abstract, SpeakerName: in.Body.SpeakerName}
	return httpx.Act(ctx, m.ProposeSession, cmd, func(s Session) httpx.Response[Session] {
		return httpx.Created("/api/v1/conference/sessions/"+s.ID.String(), s)
	})
}
