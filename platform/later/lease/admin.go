package lease

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/postgres"
)

// State is how operators see a row.
type State string

// The states. A row is retrying between two attempts, and due when it could start and has not been tried yet. One
// that was put off is scheduled, and then due, as if it had never been tried.
const (
	Scheduled    State = "scheduled"
	Due          State = "due"
	Running      State = "running"
	Retrying     State = "retrying"
	Succeeded    State = "succeeded"
	DeadLettered State = "dead_lettered"
)

// triedRow is the condition that a row has failed or crashed, and was not put off since.
const triedRow = `(t.attempts > 0 OR t.crashes > 0) AND NOT t.put_off`

// StateSQL is the expression of a row's state, for the table as t.
const StateSQL = `CASE
	WHEN t.processed_on IS NOT NULL THEN 'succeeded'
	WHEN t.dead_lettered_on IS NOT NULL THEN 'dead_lettered'
	WHEN t.claimed_until IS NOT NULL THEN 'running'
	WHEN ` + triedRow + ` THEN 'retrying'
	WHEN t.next_attempt_on > now() THEN 'scheduled'
	ELSE 'due' END`

// InSQL returns the condition that a row, as t, is in the state; every row is in the empty one. It is put so that
// the few rows that are open or dead are found by their own indexes: a list of them must not read through all
// that was ever done.
func (s State) InSQL() string {
	const untried = freeRow + ` AND NOT (` + triedRow + `) AND t.next_attempt_on `
	switch s {
	case "":
		return `true`
	case Scheduled:
		return untried + `> now()`
	case Due:
		return untried + `<= now()`
	case Running:
		return `t.claimed_until IS NOT NULL`
	case Retrying:
		return freeRow + ` AND ` + triedRow
	case Succeeded:
		return `t.processed_on IS NOT NULL`
	case DeadLettered:
		return `t.dead_lettered_on IS NOT NULL`
	default:
		return `false`
	}
}

// Row is what operators see of a row of any mechanism. Payloads are not part of it.
type Row struct {
	ID               uuid.UUID
	Source           string
	Name             string
	State            State
	Attempts         int
	MaxAttempts      int
	Crashes          int
	ScheduledOn      time.Time
	NextAttemptOn    time.Time
	CreatedOn        time.Time
	ProcessedOn      *time.Time
	DeadLetteredOn   *time.Time
	DeadLetterReason *string
	LastError        *string
	CorrelationID    *string
	Subject          uuid.UUID // what the row is about: the event of a delivery, the row itself for a command
}

// Attempt is one claim of a row that has ended.
type Attempt struct {
	StartedOn  time.Time `json:"startedOn"`
	FinishedOn time.Time `json:"finishedOn"`
	Outcome    string    `json:"outcome" enum:"succeeded,failed,dead_lettered,crashed,released,put_off"`
	Error      *string   `json:"error"`
	Replica    uuid.UUID `json:"replica"`
}

// Attempts lists the ended claims of a row, oldest first.
func Attempts(ctx context.Context, r postgres.Reader, id uuid.UUID) ([]Attempt, error) {
	rows, err := r.Query(ctx, `
		SELECT started_on, finished_on, outcome, error, coalesce(replica, '00000000-0000-0000-0000-000000000000')
		FROM platform.attempts WHERE work_id = $1 ORDER BY claim`, id)
	if err != nil {
		return nil, fmt.Errorf("read attempts: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Attempt])
}

// Filter narrows down a list of rows, or a requeue. Zero fields narrow nothing.
type Filter struct {
	State         State
	Name          string
	Source        string
	CorrelationID string
}

// Table is the part of a mechanism that operators need: where its rows are, and how to name what a filter asks
// for. Source and Correlation are SQL expressions for the table as t, joined with From.
type Table struct {
	Name        string
	From        string // "JOIN platform.events e ON e.id = t.event_id", or ""
	Source      string
	Scheduled   string
	Correlation string
	Subject     string
	AlsoNamed   string // another column by whose value a filter's name may mean a row, or ""
}

func (t Table) where(f Filter) string {
	named := `t.name = $1`
	if t.AlsoNamed != "" {
		named = `(` + named + ` OR ` + t.AlsoNamed + ` = $1)`
	}
	return fmt.Sprintf(`%s AND ($1 = '' OR %s) AND ($2 = '' OR %s = $2) AND ($3 = '' OR %s = $3)`,
		f.State.InSQL(), named, t.Source, t.Correlation)
}

func (f Filter) args() []any { return []any{f.Name, f.Source, f.CorrelationID} }

// List returns rows by descending id, which is newest first, from before on; the zero id begins at the top.
func (t Table) List(ctx context.Context, r postgres.Reader, f Filter, before uuid.UUID, limit int) ([]Row, error) {
	if before == uuid.Nil {
		before = uuid.Max
	}
	return t.read(ctx, r, t.where(f)+` AND t.id < $4 ORDER BY t.id DESC LIMIT $5`, append(f.args(), before, limit)...)
}

// About returns the rows of the given subjects, oldest first.
func (t Table) About(ctx context.Context, r postgres.Reader, subjects []uuid.UUID) ([]Row, error) {
	return t.read(ctx, r, t.Subject+` = ANY($1) ORDER BY t.created_on, t.id`, subjects)
}

// Get returns one row, or false.
func (t Table) Get(ctx context.Context, r postgres.Reader, id uuid.UUID) (Row, bool, error) {
	rows, err := t.read(ctx, r, `t.id = $1`, id)
	if err != nil || len(rows) == 0 {
		return Row{}, false, err
	}
	return rows[0], true, nil
}

func (t Table) read(ctx context.Context, r postgres.Reader, where string, args ...any) ([]Row, error) {
	rows, err := r.Query(ctx, fmt.Sprintf(`
		SELECT t.id, %s, t.name, %s, t.attempts, t.max_attempts, t.crashes, %s, t.next_attempt_on, t.created_on,
			t.processed_on, t.dead_lettered_on, t.dead_letter_reason, t.last_error, %s, %s
		FROM %s t %s WHERE %s`, t.Source, StateSQL, t.Scheduled, t.Correlation, t.Subject, t.Name, t.From, where), args...)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", t.Name, err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Row])
}

// Requeue gives dead letters among ids another life and returns how many there were: attempts, crashes and
// put-offs start over, the last error is kept. Everything else, and what is not there, is left alone and not counted.
func (t Table) Requeue(ctx context.Context, tx *postgres.Tx, ids []uuid.UUID) (int, error) {
	return t.revive(ctx, tx, `id = ANY($1)`, ids)
}

// CountDead returns how many dead letters a filter means.
func (t Table) CountDead(ctx context.Context, r postgres.Reader, f Filter) (n int, err error) {
	f.State = DeadLettered
	err = r.QueryRow(ctx, fmt.Sprintf(`SELECT count(*) FROM %s t %s WHERE %s`, t.Name, t.From, t.where(f)), f.args()...).Scan(&n)
	return n, err
}

// RequeueAll gives every dead letter that a filter means another life. It changes nothing, and returns a
// Conflict ("unexpected_count"), if there are not as many as expected.
func (t Table) RequeueAll(ctx context.Context, tx *postgres.Tx, f Filter, expected int) (int, error) {
	f.State = DeadLettered
	n, err := t.revive(ctx, tx, fmt.Sprintf(`id IN (SELECT t.id FROM %s t %s WHERE %s)`, t.Name, t.From, t.where(f)), f.args()...)
	if err == nil && n != expected {
		return 0, fault.New(fault.Conflict, "unexpected_count", "the number of dead letters is not the expected one")
	}
	return n, err
}

func (t Table) revive(ctx context.Context, tx *postgres.Tx, which string, args ...any) (int, error) {
	tag, err := tx.Exec(ctx, fmt.Sprintf(`
		UPDATE %s SET attempts = 0, crashes = 0, put_offs = 0, put_off = false, dead_lettered_on = NULL, dead_letter_reason = NULL,
			unclaimable_since = NULL, next_attempt_on = now()
		WHERE dead_lettered_on IS NOT NULL AND %s`, t.Name, which), args...)
	if err != nil {
		return 0, fmt.Errorf("requeue in %s: %w", t.Name, err)
	}
	return int(tag.RowsAffected()), nil
}
