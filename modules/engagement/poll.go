package engagement

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/postgres"
)

// PollStatus is where a poll stands: draft → open → closed, and no way back.
type PollStatus string

// The statuses, as they are stored and shown.
const (
	PollDraft  PollStatus = "draft"
	PollOpen   PollStatus = "open"
	PollClosed PollStatus = "closed"
)

// Poll is a question that a host asks the room. Its methods are the only way to change it; they know nothing of the
// database. A change that its state forbids is a Conflict and changes nothing.
type Poll struct {
	ID          uuid.UUID
	Room        Room
	Question    string
	Multiple    bool // a ballot may name several options
	Status      PollStatus
	ClosesAfter *int       // seconds after the opening; nil: the host closes it
	ClosesOn    *time.Time // planned, from the opening on
	ClosedOn    *time.Time
	Version     int64 // rises with the poll, not with its votes
	Tally
}

// Tally is what the ballots of a poll come to. It is never stored, but counted when it is asked for.
type Tally struct {
	Options []Option // in their order
	Voters  int      // how many ballots there are
	Changes int64    // rises with every change of a ballot, in whatever order they commit
}

// Option is an answer that can be chosen.
type Option struct {
	ID    uuid.UUID
	Text  string
	Votes int
}

// Open lets the room vote.
func (p *Poll) Open() error {
	if p.Status != PollDraft {
		return p.refuse()
	}
	p.Status = PollOpen
	return nil
}

// Close ends the vote.
func (p *Poll) Close() error {
	if p.Status != PollOpen {
		return p.refuse()
	}
	p.Status = PollClosed
	return nil
}

var errPollClosed = fault.New(fault.Conflict, "engagement.poll_closed", "the poll is closed")

func (p *Poll) refuse() error {
	switch p.Status {
	case PollDraft:
		return errPollNotOpen
	case PollClosed:
		return errPollClosed
	default:
		return fault.New(fault.Conflict, "engagement.poll_open", "the poll is open already")
	}
}

var (
	errPollNotOpen = fault.New(fault.Conflict, "engagement.poll_not_open", "the poll is not open yet")
	errNoPoll      = fault.New(fault.NotFound, "engagement.poll_not_found", "there is no such poll")
)

const pollColumns = `p.id, p.question, p.multiple, p.status, p.closes_after_seconds, p.closes_on, p.closed_on, p.version`

func scanPoll(row pgx.CollectableRow) (Poll, error) {
	var p Poll
	err := row.Scan(&p.ID, &p.Question, &p.Multiple, &p.Status, &p.ClosesAfter, &p.ClosesOn, &p.ClosedOn, &p.Version,
		&p.Room.ID, &p.Room.SessionID, &p.Room.Code)
	return p, err
}

// loadPoll reads a poll with its tally. NotFound ("engagement.poll_not_found").
func loadPoll(ctx context.Context, r postgres.Reader, id uuid.UUID) (Poll, error) {
	return readPoll(ctx, r, id, "")
}

// lockPoll is loadPoll that keeps others from changing the poll until tx ends. It does not keep anybody from voting.
func lockPoll(ctx context.Context, tx *postgres.Tx, id uuid.UUID) (Poll, error) {
	return readPoll(ctx, tx, id, " FOR NO KEY UPDATE OF p")
}

func readPoll(ctx context.Context, r postgres.Reader, id uuid.UUID, lock string) (Poll, error) {
	p, err := postgres.One(ctx, r, "read poll", scanPoll, errNoPoll, `
		SELECT `+pollColumns+`, `+roomColumns+` FROM engagement.polls p JOIN engagement.rooms r ON r.id = p.room_id
		WHERE p.id = $1`+lock, id)
	if err != nil {
		return Poll{}, err
	}
	polls := []Poll{p}
	err = attachTallies(ctx, r, polls)
	return polls[0], err
}

// attachTallies counts the ballots of several polls, in one statement and therefore at one moment.
func attachTallies(ctx context.Context, r postgres.Reader, polls []Poll) error {
	ids := make([]uuid.UUID, len(polls))
	at := make(map[uuid.UUID]*Poll, len(polls))
	for i := range polls {
		ids[i], at[polls[i].ID] = polls[i].ID, &polls[i]
	}
	rows, err := r.Query(ctx, `
		SELECT o.poll_id, o.id, o.text, coalesce(b.votes, 0), coalesce(b.changes, 0), coalesce(v.voters, 0)
		FROM engagement.poll_options o
		LEFT JOIN (
			SELECT poll_id, option_id, count(*) FILTER (WHERE stands) AS votes, sum(changes) AS changes
			FROM engagement.ballots WHERE poll_id = ANY($1) GROUP BY poll_id, option_id
		) b ON b.poll_id = o.poll_id AND b.option_id = o.id
		LEFT JOIN (
			SELECT poll_id, count(DISTINCT voter) AS voters
			FROM engagement.ballots WHERE poll_id = ANY($1) AND multiple AND stands GROUP BY poll_id
		) v ON v.poll_id = o.poll_id
		WHERE o.poll_id = ANY($1) ORDER BY o.poll_id, o.position`, ids)
	if err != nil {
		return fmt.Errorf("count ballots: %w", err)
	}
	var poll uuid.UUID
	var o Option
	var changes int64
	var voters int
	_, err = pgx.ForEachRow(rows, []any{&poll, &o.ID, &o.Text, &o.Votes, &changes, &voters}, func() error {
		p := at[poll]
		p.Options = append(p.Options, o)
		p.Changes += changes
		if !p.Multiple {
			voters = p.Voters + o.Votes // one vote is one voter
		}
		p.Voters = voters
		return nil
	})
	if err != nil {
		return fmt.Errorf("count ballots: %w", err)
	}
	return nil
}

// savePoll writes what the methods of a poll that was locked have changed, and counts the version up. closes_on is
// planned when it opens; closed_on is when it closed, by the same clock as the ballots' changes.
func savePoll(ctx context.Context, tx *postgres.Tx, p *Poll) error {
	err := tx.QueryRow(ctx, `
		UPDATE engagement.polls SET status = $2, version = version + 1,
			closes_on = CASE WHEN $2 = 'open' THEN clock_timestamp() + closes_after_seconds * interval '1 second' ELSE closes_on END,
			closed_on = CASE WHEN $2 = 'closed' THEN clock_timestamp() END
		WHERE id = $1 RETURNING version, closes_on, closed_on`, p.ID, p.Status).Scan(&p.Version, &p.ClosesOn, &p.ClosedOn)
	if err != nil {
		return fmt.Errorf("save poll: %w", err)
	}
	return nil
}
