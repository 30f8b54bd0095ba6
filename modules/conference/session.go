package conference

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/postgres"
)

// Status is where a session stands.
type Status string

// The statuses, as they are stored and shown.
const (
	Proposed Status = "proposed"
	Selected Status = "selected"
	Declined Status = "declined"
)

// Session is a talk that somebody has proposed.
type Session struct {
	ID          uuid.UUID  `json:"id"`
	EventID     uuid.UUID  `json:"eventId"`
	Title       string     `json:"title"`
	Abstract    string     `json:"abstract"`
	SpeakerName string     `json:"speakerName"`
	Status      Status     `json:"status" enum:"proposed,selected,declined"`
	StartsOn    *time.Time `json:"startsOn" doc:"Null until it is on the agenda"`
}

const sessionColumns = `s.id, s.event_id, s.title, s.abstract, s.speaker_name, s.status, s.starts_on`

func scanSession(row pgx.CollectableRow) (Session, error) {
	var s Session
	err := row.Scan(&s.ID, &s.EventID, &s.Title, &s.Abstract, &s.SpeakerName, &s.Status, &s.StartsOn)
	return s, err
}

var errNoSession = fault.New(fault.NotFound, "conference.session_not_found", "there is no such session")

func loadSession(ctx context.Context, r postgres.Reader, id uuid.UUID) (Session, error) {
	return postgres.One(ctx, r, "read session", scanSession, errNoSession, `SELECT `+sessionColumns+` FROM conference.sessions s WHERE s.id = $1`, id)
}
