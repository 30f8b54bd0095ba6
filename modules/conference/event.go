package conference

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/postgres"
)

// Event is a conference.
type Event struct {
	ID       uuid.UUID `json:"id"`
	Slug     string    `json:"slug"`
	Name     string    `json:"name"`
	StartsOn time.Time `json:"startsOn"`
	EndsOn   time.Time `json:"endsOn"`
	TimeZone string    `json:"timeZone" doc:"The IANA name of the zone that its days are in"`
}

const eventColumns = `id, slug, name, starts_on, ends_on, time_zone`

func scanEvent(row pgx.CollectableRow) (Event, error) {
	var e Event
	err := row.Scan(&e.ID, &e.Slug, &e.Name, &e.StartsOn, &e.EndsOn, &e.TimeZone)
	return e, err
}

var errNoEvent = fault.New(fault.NotFound, "conference.event_not_found", "there is no such event")

// loadEvent reads an event. NotFound ("conference.event_not_found").
func loadEvent(ctx context.Context, r postgres.Reader, id uuid.UUID) (Event, error) {
	return postgres.One(ctx, r, "read event", scanEvent, errNoEvent, `SELECT `+eventColumns+` FROM conference.events WHERE id = $1`, id)
}
