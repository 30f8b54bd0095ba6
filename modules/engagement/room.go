package engagement

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/postgres"
)

// Room is where the audience of one session votes and asks. Nothing about it ever changes.
type Room struct {
	ID        uuid.UUID
	SessionID uuid.UUID
	Code      string
}

// codeLetters are those that nobody takes for another one: no 0 O, 1 I L, 2 Z, 5 S, 8 B, no 6 beside G, no U and V; and no vowels,
// so that no code is a word.
const (
	codeLetters = "CDFGHJKMNPQRTWXY3479"
	codeLength  = 6
)

func newCode() string {
	code := make([]byte, 0, codeLength)
	random := make([]byte, 4*codeLength)
	for len(code) < codeLength {
		_, _ = rand.Read(random) // it never fails
		for _, b := range random {
			// What would make the first letters likelier than the last ones is thrown away.
			if limit := 256 - 256%len(codeLetters); int(b) < limit && len(code) < codeLength {
				code = append(code, codeLetters[int(b)%len(codeLetters)])
			}
		}
	}
	return string(code)
}

// normalizeCode takes a code as people write it: in any case, with spaces and hyphens.
func normalizeCode(code string) string {
	return strings.ToUpper(strings.NewReplacer(" ", "", "-", "").Replace(code))
}

var errNoRoom = fault.New(fault.NotFound, "engagement.room_not_found", "there is no such room")

const roomColumns = `r.id, r.session_id, r.code`

// roomByCode finds the room that people call by code. NotFound ("engagement.room_not_found").
func roomByCode(ctx context.Context, r postgres.Reader, code string) (Room, error) {
	return readRoom(ctx, r, `SELECT `+roomColumns+` FROM engagement.rooms r WHERE r.code = $1`, errNoRoom, normalizeCode(code))
}

// readRoom returns the one room that sql selects, or otherwise if there is none.
func readRoom(ctx context.Context, r postgres.Reader, sql string, otherwise error, args ...any) (Room, error) {
	var room Room
	err := r.QueryRow(ctx, sql, args...).Scan(&room.ID, &room.SessionID, &room.Code)
	if errors.Is(err, pgx.ErrNoRows) {
		return Room{}, otherwise
	}
	if err != nil {
		return Room{}, fmt.Errorf("read room: %w", err)
	}
	return room, nil
}
