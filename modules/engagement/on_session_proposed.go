package engagement

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"example.com/plenary/modules/conference/conferenceapi"
	"example.com/plenary/platform/postgres"
)

// codeTries is how often a code is drawn. Of 64 million codes it is taken once in a great while, twice never.
const codeTries = 10

// onSessionProposed gives a session its room. One that has a room keeps it, and its code.
func (m *Module) onSessionProposed(ctx context.Context, tx *postgres.Tx, event conferenceapi.SessionProposed) error {
	for range codeTries {
		tag, err := tx.Exec(ctx, `
			INSERT INTO engagement.rooms (id, session_id, event_id, title, code) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT DO NOTHING`,
			uuid.Must(uuid.NewV7()), event.SessionID, event.EventID, event.Title, m.newCode())
		if err != nil {
			return fmt.Errorf("store room: %w", err)
		}
		if tag.RowsAffected() == 1 {
			return nil
		}
		var there bool
		err = tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM engagement.rooms WHERE session_id = $1)`, event.SessionID).Scan(&there)
		if err != nil || there {
			return err
		}
	}
	return errors.New("every code that was drawn for a room is taken")
}
