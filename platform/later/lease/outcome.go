package lease

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/postgres"
)

// Reasons why a row is dead-lettered, besides the name of a fault kind that is not worth another attempt.
const (
	ReasonExhausted    = "attempts_exhausted"
	ReasonPayload      = "payload_invalid"
	ReasonUnresolvable = "type_unresolvable"
	ReasonCrashLoop    = "crash_loop"
)

// ErrLost says that a run no longer holds its row. Its outcome is dropped: the row belongs to another claim.
var ErrLost error = fault.New(fault.Conflict, "lease_lost", "the lease was lost")

// errStopping is why contexts of runs end when the process stops.
var errStopping = errors.New("the process is stopping")

// PayloadError marks a payload that this process can never read. It ends in a dead letter at once.
type PayloadError struct{ Err error }

func (e *PayloadError) Error() string { return "payload: " + e.Err.Error() }
func (e *PayloadError) Unwrap() error { return e.Err }

func (m *Mechanism) prepareOutcomes(fill func(string) string) {
	const mine = ` WHERE t.id = @id AND t.claim = @claim AND t.claimed_until IS NOT NULL `
	const note = `
		INSERT INTO platform.attempts (work_id, claim, started_on, finished_on, outcome, error, replica)
		SELECT id, claim, claimed_on, clock_timestamp(), `
	const after = ` FROM ended ON CONFLICT DO NOTHING`
	m.sql.succeed = fill(`
		WITH ended AS (
			UPDATE {table} t SET processed_on = now(), attempts = t.attempts + 1, last_error = NULL, claimed_until = NULL` + mine + `
			RETURNING t.id, t.claim, t.claimed_on, t.claimed_by)` + note + `'succeeded', NULL, claimed_by` + after)
	m.sql.fail = fill(`
		WITH ended AS (
			UPDATE {table} t SET attempts = t.attempts + 1, put_off = false, last_error = @error::text, claimed_until = NULL,
				next_attempt_on = now() + @pause::interval,
				dead_lettered_on = CASE WHEN @reason::text <> '' THEN now() END,
				dead_letter_reason = nullif(@reason::text, '')` + mine + `
			RETURNING t.id, t.claim, t.claimed_on, t.claimed_by)` + note + `
			CASE WHEN @reason::text <> '' THEN 'dead_lettered' ELSE 'failed' END, @error::text, claimed_by` + after)
	m.sql.putOff = fill(`
		WITH ended AS (
			UPDATE {table} t SET put_offs = t.put_offs + 1, put_off = true, claimed_until = NULL,
				next_attempt_on = now() + @pause::interval` + mine + `
			RETURNING t.id, t.claim, t.claimed_on, t.claimed_by)` + note + `'put_off', @error::text, claimed_by` + after)
	m.sql.release = fill(`
		WITH ended AS (
			UPDATE {table} t SET claimed_until = NULL` + mine + `
			RETURNING t.id, t.claim, t.claimed_on, t.claimed_by)` + note + `'released', NULL, claimed_by` + after)
}

// Stamp returns what a transactional run puts into its transaction: the row is done, provided that the claim
// still holds. Otherwise the transaction ends with ErrLost before anything runs.
func (m *Mechanism) Stamp(w Work) command.Guard {
	const stamp = `UPDATE {table} SET processed_on = now(), attempts = attempts + 1, last_error = NULL, claimed_until = NULL
		WHERE id = $1 AND claim = $2 AND claimed_until IS NOT NULL`
	const witness = `SELECT processed_on IS NOT NULL FROM {table} WHERE id = $1 AND claim = $2 FOR UPDATE`
	fill := func(sql string) string { return strings.ReplaceAll(sql, "{table}", m.Table) }
	note := postgres.Statement{
		SQL: `INSERT INTO platform.attempts (work_id, claim, started_on, finished_on, outcome, replica)
			SELECT id, claim, claimed_on, clock_timestamp(), 'succeeded', claimed_by FROM ` + m.Table + ` WHERE id = $1`,
		Args: []any{w.ID},
	}
	return command.Guard{
		Guard: postgres.Guard{
			First: []postgres.Statement{{SQL: fill(stamp), Args: []any{w.ID, w.Claim}, Check: exactlyOne}},
			Witness: func(ctx context.Context, tx *postgres.Tx) (done bool, err error) {
				err = tx.QueryRow(ctx, fill(witness), w.ID, w.Claim).Scan(&done)
				if errors.Is(err, pgx.ErrNoRows) { // claimed anew, which a committed stamp would have prevented
					return false, nil
				}
				return done, err
			},
		},
		Last: func(any) ([]postgres.Statement, error) { return []postgres.Statement{note}, nil },
	}
}

// Fence returns the statement with which each transaction of any other run begins: it ends with ErrLost
// unless the lease still holds, and keeps others from ending the lease until the transaction is over.
func (m *Mechanism) Fence(w Work) postgres.Statement {
	return postgres.Statement{
		SQL:  `SELECT 1 FROM ` + m.Table + ` WHERE id = $1 AND claim = $2 AND claimed_until > now() FOR KEY SHARE`,
		Args: []any{w.ID, w.Claim}, Check: exactlyOne,
	}
}

func exactlyOne(tag pgconn.CommandTag) error {
	if tag.RowsAffected() != 1 {
		return ErrLost
	}
	return nil
}

// maxPutOffs bounds how often a row may be put off: what is never ready must end where an operator looks.
const maxPutOffs = 20

// PutOff returns what a handler returns that cannot do its work yet: Unavailable, with code "put_off" and its
// RetryAfter. reason is a message as that of any fault.
func PutOff(after time.Duration, reason string) error {
	e := fault.New(fault.Unavailable, command.CodePutOff, reason)
	e.RetryAfter = max(0, after)
	return e
}

func isPutOff(w Work, err error) bool {
	return fault.Is(err, command.CodePutOff) && w.PutOffs < maxPutOffs
}

// tooOften makes a failure of what was put off once too often.
func tooOften(err error) error {
	e := fault.Wrap(err, fault.Unavailable, "put_off_too_often", "it was put off too often")
	e.RetryAfter = fault.As(err).RetryAfter
	return e
}

// verdict decides what a failure means for the row: try again after a pause, or a dead letter for a reason.
func verdict(w Work, retry Retry, err error) (pause time.Duration, reason string) {
	if _, bad := errors.AsType[*PayloadError](err); bad {
		return 0, ReasonPayload
	}
	if !fault.Retryable(err) {
		return 0, fault.KindOf(err).String()
	}
	if w.Attempts+1 >= w.MaxAttempts {
		return 0, ReasonExhausted
	}
	pause = retry.Pause(w.Attempts + 1)
	if f := fault.As(err); f != nil {
		pause = max(pause, min(f.RetryAfter, time.Hour))
	}
	return pause, ""
}

const maxErrorText = 4000

// errorText makes an error fit to be stored: bounded, valid text.
func errorText(err error) string {
	text := strings.ToValidUTF8(strings.ReplaceAll(err.Error(), "\x00", "�"), "�")
	if runes := []rune(text); len(runes) > maxErrorText {
		text = string(runes[:maxErrorText])
	}
	return text
}

// finish records what came of a run. The record matters more than the stop of the process or a moment without
// a database: an effect outside the database has happened and must not be repeated for want of a stamp. So it
// keeps trying until it is written or the claim is lost.
func (r *Runner) finish(item *item, stamped bool, err error) {
	w, m := item.work, item.mechanism
	log := r.config.Logger.With(slog.String("mechanism", m.Name), slog.String("name", w.Name), slog.String("id", w.ID.String()))
	args := pgx.NamedArgs{"id": w.ID, "claim": w.Claim}
	sql, outcome := m.sql.succeed, "succeeded"
	switch {
	case err == nil && stamped:
		r.observe(item, outcome)
		return
	case err == nil:
	case errors.Is(err, ErrLost) || item.lost.Load():
		log.Warn("the lease was lost while the work ran; its outcome is dropped", slog.Int64("claim", w.Claim))
		r.observe(item, "lost")
		return
	case isPutOff(w, err):
		args["error"], args["pause"] = errorText(err), fault.As(err).RetryAfter
		sql, outcome = m.sql.putOff, command.CodePutOff
	case item.stopped():
		sql, outcome = m.sql.release, "released"
	default:
		if fault.Is(err, command.CodePutOff) {
			err = tooOften(err)
			log.Warn("failed", slog.String("fault", fault.KindOf(err).String()), slog.Any("error", err))
		}
		pause, reason := verdict(w, m.Retry(w.Name), err)
		args["error"], args["pause"], args["reason"] = errorText(err), pause, reason
		sql, outcome = m.sql.fail, "failed"
		if reason != "" {
			outcome = "dead_lettered"
			log.Error("dead letter", slog.String("reason", reason), slog.Int("attempts", w.Attempts+1))
		}
	}
	if !r.record(item, sql, args) {
		log.Warn("the lease was lost before the outcome could be recorded", slog.String("outcome", outcome), slog.Int64("claim", w.Claim))
		outcome = "lost"
	}
	r.observe(item, outcome)
	if outcome == "released" {
		r.config.Announce()
	}
}

// record writes an outcome and reports whether the claim still held.
func (r *Runner) record(item *item, sql string, args pgx.NamedArgs) bool {
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		recorded := false
		err := r.source.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) error {
			tag, err := tx.Exec(ctx, sql, args)
			recorded = tag.RowsAffected() == 1
			return err
		})
		cancel()
		if err == nil {
			return recorded
		}
		r.config.Logger.Warn("an outcome could not be recorded yet", slog.String("name", item.work.Name),
			slog.String("id", item.work.ID.String()), slog.Any("error", err))
		if item.lost.Load() || r.leaseOver(item) {
			return false
		}
		select {
		case <-time.After(pause):
		case <-r.abandon: // the process has no more time
			return false
		}
	}
}
