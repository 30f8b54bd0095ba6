package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"example.com/plenary/platform/fault"
)

const (
	commitLimit  = 10 * time.Second // for COMMIT itself, whatever became of the caller
	witnessLimit = 10 * time.Second // for finding out what became of a lost COMMIT
)

// lostCommit is a COMMIT without an answer.
type lostCommit struct{ cause error }

func (e *lostCommit) Error() string { return "the answer to COMMIT was lost: " + e.cause.Error() }
func (e *lostCommit) Unwrap() error { return e.cause }

// commit sends the last statements and COMMIT in one round trip, on a context that nobody else cancels. Only
// a connection that broke leaves the outcome open; it is then a *lostCommit.
func (tx *Tx) commit(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitLimit)
	defer cancel()
	for _, statement := range tx.last {
		if statement.Check != nil {
			// A check could only be judged after COMMIT had gone out; so these go ahead of it.
			if err := tx.sendBatch(ctx, "", tx.last, ""); err != nil {
				return err
			}
			tx.last = nil
			break
		}
	}
	batch := &pgx.Batch{}
	for _, statement := range tx.last {
		batch.Queue(statement.SQL, statement.Args...)
	}
	batch.Queue("commit")
	results := tx.conn.SendBatch(ctx, batch)
	defer results.Close()
	for range tx.last {
		if _, err := results.Exec(); err != nil {
			return judgeCommit(err)
		}
	}
	tag, err := results.Exec()
	if err == nil {
		err = results.Close()
	}
	if err != nil {
		return judgeCommit(err)
	}
	if tag.String() == "ROLLBACK" {
		return fault.New(fault.Internal, "transaction_aborted",
			"a statement of the transaction failed and its error was swallowed; nothing was committed")
	}
	return nil
}

// judgeCommit tells an answer ("this cannot be committed") from the lack of one.
func judgeCommit(err error) error {
	var answer *pgconn.PgError
	if errors.As(err, &answer) && !connectionLost(answer) {
		return err
	}
	return &lostCommit{cause: err}
}

// errAsked rolls back the transaction of a witness that has answered.
var errAsked = errors.New("the witness has answered")

// resolve finds out what became of a lost COMMIT. Without a witness, or if that cannot be asked either, the
// outcome stays unknown; the harmless hooks run all the same.
func (s *Source) resolve(ctx context.Context, guard Guard, tx *Tx, lost *lostCommit) error {
	unknown := fault.Wrap(lost, fault.Unavailable, "commit_unknown",
		"the connection broke during the commit; whether the change was made is not known")
	unknown.RetryAfter = time.Second
	if guard.Witness == nil {
		tx.runHooks(ctx, true)
		return unknown
	}
	ask, cancel := context.WithTimeout(context.WithoutCancel(ctx), witnessLimit)
	defer cancel()
	for try := 1; ; try++ {
		committed := false
		err := s.InTx(withoutFence(ask), func(ctx context.Context, tx *Tx) (err error) {
			if committed, err = guard.Witness(ctx, tx); err == nil {
				err = errAsked
			}
			return err
		})
		asked := errors.Is(err, errAsked)
		switch {
		case asked && committed:
			tx.runHooks(ctx, false)
			return nil
		case asked:
			tx.runHooks(ctx, true)
			return fault.Wrap(lost, fault.Unavailable, "commit_lost",
				"the connection broke before the commit; nothing was changed")
		case ask.Err() != nil:
			tx.runHooks(ctx, true)
			return fmt.Errorf("ask the witness: %w", errors.Join(unknown, err))
		}
		if pause(ask, min(try, 6)) != nil {
			continue // the next round reports that the time is up
		}
	}
}
