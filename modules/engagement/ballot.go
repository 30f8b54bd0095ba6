package engagement

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/postgres"
)

// A vote takes two locks that end with its transaction: a shared one of the poll, which only its closing excludes, and
// one of the voter in the poll, so that two windows of one voter take turns. Neither is a row: the row of a poll
// that a thousand voters lock, even in a shared way, is a queue, and the one who closes the poll stands at its end.

func pollLock(poll uuid.UUID) int64 { return lockKey("poll", poll[:]) }

func ballotLock(poll, voter uuid.UUID) int64 { return lockKey("ballot", poll[:], voter[:]) }

// lockKey makes the number of an advisory lock. Two locks that share one by chance wait for each other, and no more.
func lockKey(what string, parts ...[]byte) int64 {
	sum := sha256.Sum256(append([]byte("engagement."+what+"\x00"), slices.Concat(parts...)...))
	return int64(binary.BigEndian.Uint64(sum[:8]))
}

// pollFacts is what never changes about a poll. Every vote needs it, so it is read once a process.
type pollFacts struct {
	room     Room
	multiple bool
	options  []uuid.UUID
}

// factsOf returns the facts about a poll. NotFound ("engagement.poll_not_found").
func (m *Module) factsOf(ctx context.Context, r postgres.Reader, poll uuid.UUID) (pollFacts, error) {
	if known, ok := m.facts.Load(poll); ok {
		return known.(pollFacts), nil
	}
	var f pollFacts
	err := r.QueryRow(ctx, `
		SELECT `+roomColumns+`, p.multiple, ARRAY(SELECT o.id FROM engagement.poll_options o WHERE o.poll_id = p.id ORDER BY o.id)
		FROM engagement.polls p JOIN engagement.rooms r ON r.id = p.room_id WHERE p.id = $1`, poll).
		Scan(&f.room.ID, &f.room.SessionID, &f.room.Code, &f.multiple, &f.options)
	if errors.Is(err, pgx.ErrNoRows) {
		return pollFacts{}, errNoPoll
	}
	if err != nil {
		return pollFacts{}, fmt.Errorf("read poll: %w", err)
	}
	m.facts.Store(poll, f)
	return f, nil
}

// ballotOf returns what a voter has chosen, in the order of the ids; nil for none.
func ballotOf(ctx context.Context, r postgres.Reader, poll, voter uuid.UUID) ([]uuid.UUID, error) {
	rows, err := r.Query(ctx, `
		SELECT option_id FROM engagement.ballots WHERE poll_id = $1 AND voter = $2 AND stands ORDER BY option_id`, poll, voter)
	if err != nil {
		return nil, fmt.Errorf("read ballot: %w", err)
	}
	mine, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return nil, fmt.Errorf("read ballot: %w", err)
	}
	return mine, nil
}

// replaceBallot makes wanted, a sorted set of the poll's options, the voter's ballot. The same ballot again changes
// nothing. Conflict ("engagement.poll_closed", "engagement.poll_not_open") unless the poll is open, and will be until
// tx has committed.
func (m *Module) replaceBallot(ctx context.Context, tx *postgres.Tx, f pollFacts, poll, voter uuid.UUID, wanted []uuid.UUID) error {
	// A statement of its own: what the next one sees is as of its beginning, which must be after the wait.
	_, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock_shared($1), pg_advisory_xact_lock($2)`, pollLock(poll), ballotLock(poll, voter))
	if err != nil {
		return fmt.Errorf("lock ballot: %w", err)
	}
	standing, err := openBallot(ctx, tx, poll, voter)
	if err != nil || slices.Equal(standing, wanted) {
		return err
	}
	if len(standing) > 0 {
		_, err = tx.Exec(ctx, `
			UPDATE engagement.ballots SET stands = false, changes = changes + 1, changed_on = clock_timestamp()
			WHERE poll_id = $1 AND voter = $2 AND stands AND option_id <> ALL($3)`, poll, voter, wanted)
		if err != nil {
			return fmt.Errorf("take votes back: %w", err)
		}
	}
	if len(wanted) > 0 {
		_, err = tx.Exec(ctx, `
			INSERT INTO engagement.ballots AS b (poll_id, voter, multiple, option_id) SELECT $1, $2, $3, unnest($4::uuid[])
			ON CONFLICT (poll_id, voter, option_id) DO UPDATE SET stands = true, changes = b.changes + 1, changed_on = clock_timestamp()
			WHERE NOT b.stands`, poll, voter, f.multiple, wanted)
		if err != nil {
			return fmt.Errorf("store votes: %w", err)
		}
	}
	m.changedSoon(tx, f.room)
	return nil
}

// openBallot returns the voter's ballot if the poll takes votes. Past its time it takes none, even if nobody has closed
// it yet.
func openBallot(ctx context.Context, tx *postgres.Tx, poll, voter uuid.UUID) ([]uuid.UUID, error) {
	var status PollStatus
	var late bool
	var standing []uuid.UUID
	err := tx.QueryRow(ctx, `
		SELECT p.status, coalesce(p.closes_on <= clock_timestamp(), false), ARRAY(
			SELECT b.option_id FROM engagement.ballots b WHERE b.poll_id = p.id AND b.voter = $2 AND b.stands ORDER BY b.option_id)
		FROM engagement.polls p WHERE p.id = $1`, poll, voter).Scan(&status, &late, &standing)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, errNoPoll
	case err != nil:
		return nil, fmt.Errorf("read ballot: %w", err)
	case status == PollDraft:
		return nil, errPollNotOpen
	case status == PollClosed || late:
		return nil, errPollClosed
	}
	return standing, nil
}

var errNoOption = fault.New(fault.NotFound, "engagement.option_not_found", "the poll has no such option")
