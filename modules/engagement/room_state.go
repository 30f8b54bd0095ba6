package engagement

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/postgres"
)

// roomState is a room as it stood at one moment, with everything that anybody may see of it.
type roomState struct {
	Room
	polls     []Poll     // in the order of their creation
	questions []Question // by upvotes, then time
}

// version rises with every change of the room. It is a sum of counters that only rise, each beside what it counts: so it
// does not matter in which order transactions commit, as it would with numbers that are drawn before, and there is no
// row that all of them would have to write.
func (s roomState) version() int64 {
	var sum int64
	for _, p := range s.polls {
		sum += p.Version + p.Changes
	}
	for _, q := range s.questions {
		sum += q.Version + q.Changes
	}
	return sum
}

// pending is how many questions wait for a moderator. moderated is the version of that number.
func (s roomState) pending() (count int, moderated int64) {
	for _, q := range s.questions {
		if q.Status == QuestionPending {
			count++
		}
		moderated += q.Version
	}
	return count, moderated
}

// loadRoomState reads a room in one snapshot of the database.
func (m *Module) loadRoomState(ctx context.Context, code string) (roomState, error) {
	var s roomState
	err := m.source.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) (err error) {
		if _, err := tx.Exec(ctx, `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY`); err != nil {
			return fmt.Errorf("begin snapshot: %w", err)
		}
		s = roomState{}
		if s.Room, err = roomByCode(ctx, tx, code); err != nil {
			return err
		}
		if s.polls, err = readPolls(ctx, tx, s.ID); err != nil {
			return err
		}
		s.questions, err = readQuestions(ctx, tx, s.ID)
		return err
	})
	return s, err
}

func readPolls(ctx context.Context, r postgres.Reader, room uuid.UUID) ([]Poll, error) {
	rows, err := r.Query(ctx, `
		SELECT `+pollColumns+`, `+roomColumns+` FROM engagement.polls p JOIN engagement.rooms r ON r.id = p.room_id
		WHERE p.room_id = $1 ORDER BY p.id`, room)
	if err != nil {
		return nil, fmt.Errorf("read polls: %w", err)
	}
	polls, err := pgx.CollectRows(rows, scanPoll)
	if err != nil {
		return nil, fmt.Errorf("read polls: %w", err)
	}
	return polls, attachTallies(ctx, r, polls)
}

func readQuestions(ctx context.Context, r postgres.Reader, room uuid.UUID) ([]Question, error) {
	rows, err := r.Query(ctx, `
		SELECT `+questionColumns+`, `+roomColumns+` FROM `+questionTables+`
		WHERE q.room_id = $1 ORDER BY u.upvotes DESC, q.created_on, q.id`, room)
	if err != nil {
		return nil, fmt.Errorf("read questions: %w", err)
	}
	questions, err := pgx.CollectRows(rows, scanQuestion)
	if err != nil {
		return nil, fmt.Errorf("read questions: %w", err)
	}
	return questions, nil
}

// Versions returns the versions of rooms, by code. Those that do not exist are missing.
func (m *Module) Versions(ctx context.Context, rooms []string) (map[string]int64, error) {
	rows, err := m.source.Query(ctx, `
		SELECT r.code, (
			(SELECT coalesce(sum(p.version), 0) FROM engagement.polls p WHERE p.room_id = r.id)
			+ (SELECT coalesce(sum(b.changes), 0) FROM engagement.polls p JOIN engagement.ballots b ON b.poll_id = p.id WHERE p.room_id = r.id)
			+ (SELECT coalesce(sum(q.version), 0) FROM engagement.questions q WHERE q.room_id = r.id)
			+ (SELECT coalesce(sum(u.changes), 0) FROM engagement.questions q JOIN engagement.upvotes u ON u.question_id = q.id WHERE q.room_id = r.id)
		)::bigint
		FROM engagement.rooms r WHERE r.code = ANY($1)`, rooms)
	if err != nil {
		return nil, fmt.Errorf("read versions of rooms: %w", err)
	}
	versions := make(map[string]int64, len(rooms))
	var code string
	var version int64
	_, err = pgx.ForEachRow(rows, []any{&code, &version}, func() error { versions[code] = version; return nil })
	if err != nil {
		return nil, fmt.Errorf("read versions of rooms: %w", err)
	}
	return versions, nil
}
