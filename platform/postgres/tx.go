package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	maxTries      = 6               // runs of one function before contention is reported
	rollbackLimit = 5 * time.Second // for ROLLBACK on a context that may be cancelled
)

// Tx is an open transaction. It belongs to the goroutine that runs the function it was handed to, and to
// nobody after that function has returned.
type Tx struct {
	conn   *pgx.Conn
	source *Source
	open   *atomic.Bool
	last   []Statement
	hooks  []hook
}

// Statement is one statement of a Guard, or one that rides along with COMMIT.
type Statement struct {
	SQL  string
	Args []any
	// Check judges the outcome; an error rolls the transaction back. Nil accepts whatever PostgreSQL accepts.
	Check func(tag pgconn.CommandTag) error
}

// Guard is what must stand or fall together with a transaction. The zero value guards nothing.
type Guard struct {
	// First is sent together with BEGIN, and again with each repetition, before the function runs.
	First []Statement
	// Witness tells, in a transaction that is rolled back afterwards, whether the guarded one was committed.
	// It is asked only when the answer to COMMIT was lost, and must wait for a session that may still be
	// committing: by locking the row that First wrote, or by writing it again.
	Witness func(ctx context.Context, tx *Tx) (committed bool, err error)
}

type hook struct {
	harmless bool
	run      func(ctx context.Context)
}

// InTx runs fn in a READ COMMITTED transaction and commits it. fn gets a context of its own, which it must
// pass on, and may be run several times.
//
// An error of fn rolls back and is returned as it is, with a fault kind where PostgreSQL's code tells one
// (see Fault). Unavailable with code "commit_unknown" means that the answer to COMMIT was lost.
func (s *Source) InTx(ctx context.Context, fn func(ctx context.Context, tx *Tx) error) error {
	return s.InGuardedTx(ctx, Guard{}, fn)
}

// InGuardedTx is InTx with statements that stand or fall with the transaction.
func (s *Source) InGuardedTx(ctx context.Context, guard Guard, fn func(ctx context.Context, tx *Tx) error) error {
	dead := 0
	for try := 1; ; try++ {
		err := s.try(ctx, guard, fn)
		if _, stillborn := errors.AsType[*notBegun](err); stillborn && dead <= s.db.config.MaxConns {
			dead, try = dead+1, try-1
			continue
		}
		if err == nil || try == maxTries || !repeatable(err) {
			return Fault(err)
		}
		if err := pause(ctx, try); err != nil {
			return err
		}
	}
}

// notBegun says that a pooled connection turned out to be dead when BEGIN was sent. Nothing has run, so the
// next connection is tried: after a restart of the server every idle one is like that.
type notBegun struct{ cause error }

func (e *notBegun) Error() string { return e.cause.Error() }
func (e *notBegun) Unwrap() error { return e.cause }

// pause keeps two transactions that stepped on each other from doing it again in step.
func pause(ctx context.Context, try int) error {
	limit := 5 * time.Millisecond << try
	timer := time.NewTimer(rand.N(limit))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *Source) try(ctx context.Context, guard Guard, fn func(ctx context.Context, tx *Tx) error) error {
	conn, err := s.db.acquire(ctx, s.pool)
	if err != nil {
		return err
	}
	tx := &Tx{conn: conn.Conn(), source: s, open: new(atomic.Bool)}
	tx.open.Store(true)
	committed := false
	// Deferred, so that a panic of fn, too, rolls back on its way up.
	defer func() {
		tx.open.Store(false)
		if !committed {
			tx.rollback(ctx)
		}
		conn.Release()
	}()

	inside := context.WithValue(ctx, openKey{}, tx.open)
	if err := tx.begin(ctx, append(fences(ctx, s.db), guard.First...)); err != nil {
		if tx.conn.IsClosed() && ctx.Err() == nil {
			return &notBegun{err}
		}
		return err
	}
	if err := fn(inside, tx); err != nil {
		return err
	}
	err = tx.commit(ctx)
	tx.open.Store(false)
	if lost := (*lostCommit)(nil); errors.As(err, &lost) {
		conn.Release()
		err = s.resolve(ctx, guard, tx, lost)
		committed = true // or unknown; there is nothing left to roll back either way
		return err
	}
	if err != nil {
		return err
	}
	committed = true
	conn.Release()
	tx.runHooks(ctx, false)
	return nil
}

// begin sends BEGIN and the first statements in one round trip.
func (tx *Tx) begin(ctx context.Context, first []Statement) error {
	if len(first) == 0 {
		_, err := tx.conn.Exec(ctx, "begin")
		return err
	}
	return tx.sendBatch(ctx, "begin", first, "")
}

// sendBatch sends statements in one round trip, between two optional commands, and judges each outcome.
func (tx *Tx) sendBatch(ctx context.Context, before string, statements []Statement, after string) error {
	batch := &pgx.Batch{}
	if before != "" {
		batch.Queue(before)
	}
	for _, statement := range statements {
		batch.Queue(statement.SQL, statement.Args...)
	}
	if after != "" {
		batch.Queue(after)
	}
	results := tx.conn.SendBatch(ctx, batch)
	defer results.Close()
	if before != "" {
		if _, err := results.Exec(); err != nil {
			return err
		}
	}
	for _, statement := range statements {
		tag, err := results.Exec()
		if err != nil {
			return err
		}
		if statement.Check != nil {
			if err := statement.Check(tag); err != nil {
				return err
			}
		}
	}
	return results.Close()
}

// rollback works on a cancelled context, too. If it cannot be done the connection is closed, which does it.
func (tx *Tx) rollback(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackLimit)
	defer cancel()
	if tx.conn.IsClosed() {
		return
	}
	if _, err := tx.conn.Exec(ctx, "rollback"); err != nil {
		_ = tx.conn.Close(ctx) // the pool discards a closed connection; the server rolls back
	}
}

// Source returns the place that the transaction writes to.
func (tx *Tx) Source() *Source { return tx.source }

// Exec runs a statement.
func (tx *Tx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	if !tx.open.Load() {
		return pgconn.CommandTag{}, errClosed
	}
	return tx.conn.Exec(ctx, sql, args...)
}

// Query reads inside the transaction.
func (tx *Tx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if !tx.open.Load() {
		return nil, errClosed
	}
	return tx.conn.Query(ctx, sql, args...)
}

// QueryRow reads one row inside the transaction. Errors come from Scan.
func (tx *Tx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	if !tx.open.Load() {
		return &row{err: errClosed}
	}
	return tx.conn.QueryRow(ctx, sql, args...)
}

var errClosed = errors.New("the transaction has ended; what it was handed to must not keep it")

// WithCommit adds a statement that is sent together with COMMIT.
func (tx *Tx) WithCommit(statement Statement) { tx.last = append(tx.last, statement) }

// AfterCommit runs fn once the transaction is known to be committed, in the order of the calls, on a context
// that no caller cancels. What was added before a rollback or a repetition is forgotten.
func (tx *Tx) AfterCommit(fn func(ctx context.Context)) {
	tx.hooks = append(tx.hooks, hook{run: fn})
}

// AfterCommitOrUnknown is AfterCommit for what does no harm if nothing was committed, such as a wake-up or
// an eviction: it also runs when the answer to COMMIT was lost, and before the other hooks.
func (tx *Tx) AfterCommitOrUnknown(fn func(ctx context.Context)) {
	tx.hooks = append(tx.hooks, hook{harmless: true, run: fn})
}

func (tx *Tx) runHooks(ctx context.Context, onlyHarmless bool) {
	ctx = context.WithoutCancel(ctx)
	for _, harmless := range []bool{true, false} {
		if onlyHarmless && !harmless {
			return
		}
		for _, h := range tx.hooks {
			if h.harmless == harmless {
				tx.runHook(ctx, h)
			}
		}
	}
}

func (tx *Tx) runHook(ctx context.Context, h hook) {
	defer func() {
		if p := recover(); p != nil {
			tx.source.db.config.Logger.ErrorContext(ctx, "a hook panicked after a commit",
				slog.String("source", tx.source.name), slog.String("panic", fmt.Sprint(p)),
				slog.String("stack", string(debug.Stack())))
		}
	}()
	h.run(ctx)
}

type openKey struct{}

// transactionOpen reports whether ctx belongs to a transaction that has not ended.
func transactionOpen(ctx context.Context) bool {
	open, _ := ctx.Value(openKey{}).(*atomic.Bool)
	return open != nil && open.Load()
}
