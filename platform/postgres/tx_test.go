package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"example.com/plenary/platform/devpg/pgtest"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/postgres/postgrestest"
)

// open returns a source on a database with one table to write to.
func open(t testing.TB, opts ...postgrestest.Option) *postgres.Source {
	t.Helper()
	notes := postgres.Migrations{Source: "notes", Files: memory(map[string]string{
		"0001_notes.sql": `CREATE SCHEMA notes; CREATE TABLE notes.note (id int PRIMARY KEY, text text NOT NULL);
			CREATE TABLE notes.later (id int UNIQUE DEFERRABLE INITIALLY DEFERRED)`,
	})}
	return postgrestest.Open(t, append(opts, postgrestest.With(notes))...).Source("notes")
}

func insert(id int) func(context.Context, *postgres.Tx) error {
	return func(ctx context.Context, tx *postgres.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO notes.note VALUES ($1, 'x')`, id)
		return err
	}
}

func count(t testing.TB, s *postgres.Source) int {
	t.Helper()
	return postgrestest.Value[int](t, s, `SELECT count(*) FROM notes.note`)
}

func TestCommitKeepsAndRunsHooksInOrder(t *testing.T) {
	t.Parallel()
	s := open(t)
	var ran []string
	err := s.InTx(context.Background(), func(ctx context.Context, tx *postgres.Tx) error {
		tx.AfterCommit(func(context.Context) { ran = append(ran, "first") })
		tx.AfterCommit(func(context.Context) { panic("a hook's own trouble") })
		tx.AfterCommit(func(context.Context) { ran = append(ran, "second") })
		tx.AfterCommitOrUnknown(func(context.Context) { ran = append(ran, "wake") })
		if len(ran) != 0 {
			t.Error("a hook ran before the commit")
		}
		return insert(1)(ctx, tx)
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"wake", "first", "second"}; !slices.Equal(ran, want) {
		t.Errorf("hooks ran as %v, want %v", ran, want)
	}
	if count(t, s) != 1 {
		t.Error("the row is not there")
	}
}

func TestHookMayUseTheDatabase(t *testing.T) {
	t.Parallel()
	s := open(t)
	var hookErr error
	err := s.InTx(context.Background(), func(ctx context.Context, tx *postgres.Tx) error {
		// The hook even gets by with the context of the transaction, which has ended by then.
		tx.AfterCommit(func(context.Context) { hookErr = s.InTx(ctx, insert(2)) })
		return insert(1)(ctx, tx)
	})
	if err != nil || hookErr != nil || count(t, s) != 2 {
		t.Errorf("err %v, in the hook %v, rows %d", err, hookErr, count(t, s))
	}
}

func TestErrorPanicAndCancelRollBackAndLeakNothing(t *testing.T) {
	t.Parallel()
	s := open(t, postgrestest.Configured(func(c *postgres.Config) { c.MaxConns = 1 }))
	hook := func(context.Context) { t.Error("a hook ran without a commit") }
	boom := errors.New("boom")
	session := postgrestest.Value[int](t, s, `SELECT pg_backend_pid()`)

	err := s.InTx(context.Background(), func(ctx context.Context, tx *postgres.Tx) error {
		tx.AfterCommit(hook)
		return errors.Join(insert(1)(ctx, tx), boom)
	})
	if !errors.Is(err, boom) {
		t.Errorf("err = %v", err)
	}

	func() {
		defer func() { _ = recover() }()
		_ = s.InTx(context.Background(), func(ctx context.Context, tx *postgres.Tx) error {
			tx.AfterCommitOrUnknown(hook)
			_ = insert(2)(ctx, tx)
			panic("boom")
		})
	}()

	ctx, cancel := context.WithCancel(context.Background())
	err = s.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) error {
		tx.AfterCommit(hook)
		if err := insert(3)(ctx, tx); err != nil {
			return err
		}
		cancel()
		_, err := tx.Exec(ctx, `SELECT pg_sleep(60)`)
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
	// With a pool of one, a connection that leaked would leave nothing to read with.
	if n := count(t, s); n != 0 {
		t.Errorf("%d rows survived a rollback", n)
	}
	if got := s.Database().Stat().Acquired; got != 0 {
		t.Errorf("%d connections are still out", got)
	}
	if now := postgrestest.Value[int](t, s, `SELECT pg_backend_pid()`); now != session {
		t.Error("a session was thrown away instead of being rolled back")
	}
}

func TestCommitOutlivesItsCaller(t *testing.T) {
	t.Parallel()
	s := open(t)
	ctx, cancel := context.WithCancel(context.Background())
	hooked := false
	err := s.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) error {
		tx.AfterCommit(func(ctx context.Context) { hooked = ctx.Err() == nil })
		err := insert(1)(ctx, tx)
		cancel() // the caller leaves after the work is done
		return err
	})
	if err != nil || !hooked || count(t, s) != 1 {
		t.Errorf("err %v, hook %v, rows %d", err, hooked, count(t, s))
	}
}

func TestSecondConnectionInsideATransactionIsRefused(t *testing.T) {
	t.Parallel()
	s := open(t)
	err := s.InTx(context.Background(), func(ctx context.Context, tx *postgres.Tx) error {
		if err := s.InTx(ctx, insert(1)); !fault.Is(err, "nested_transaction") {
			t.Errorf("a nested transaction: %v", err)
		}
		if _, err := s.Query(ctx, `SELECT 1`); !fault.Is(err, "nested_transaction") {
			t.Errorf("a read beside the transaction: %v", err)
		}
		var one int
		return tx.QueryRow(ctx, `SELECT 1`).Scan(&one)
	})
	if err != nil {
		t.Error(err)
	}
}

func TestTxIsUselessOnceItHasEnded(t *testing.T) {
	t.Parallel()
	s := open(t)
	var kept *postgres.Tx
	if err := s.InTx(context.Background(), func(_ context.Context, tx *postgres.Tx) error { kept = tx; return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := kept.Exec(context.Background(), `INSERT INTO notes.note VALUES (1, 'late')`); err == nil {
		t.Error("a kept transaction still writes")
	}
}

func TestSwallowedErrorIsNotReportedAsCommitted(t *testing.T) {
	t.Parallel()
	s := open(t)
	err := s.InTx(context.Background(), func(ctx context.Context, tx *postgres.Tx) error {
		tx.AfterCommit(func(context.Context) { t.Error("a hook ran") })
		_, _ = tx.Exec(ctx, `SELECT no_such_function()`)
		return nil
	})
	if !fault.Is(err, "transaction_aborted") {
		t.Errorf("err = %v", err)
	}
}

func TestContentionRunsTheFunctionAgainWithFreshHooks(t *testing.T) {
	t.Parallel()
	s := open(t)
	postgrestest.Exec(t, s, `INSERT INTO notes.note VALUES (1, '0'), (2, '0')`)
	// Two transactions that lock two rows in opposite order: one of them is a deadlock's victim and runs again.
	var both sync.WaitGroup
	var hooks, runs atomic.Int32
	met := make(chan struct{}, 2)
	work := func(first, second int) error {
		return s.InTx(context.Background(), func(ctx context.Context, tx *postgres.Tx) error {
			tx.AfterCommit(func(context.Context) { hooks.Add(1) })
			if _, err := tx.Exec(ctx, `UPDATE notes.note SET text = text || 'a' WHERE id = $1`, first); err != nil {
				return err
			}
			if runs.Add(1) <= 2 {
				met <- struct{}{}
				for len(met) < 2 && ctx.Err() == nil {
					if _, err := tx.Exec(ctx, `SELECT pg_sleep(0.01)`); err != nil {
						return err
					}
				}
			}
			_, err := tx.Exec(ctx, `UPDATE notes.note SET text = text || 'b' WHERE id = $1`, second)
			return err
		})
	}
	errs := make([]error, 2)
	both.Go(func() { errs[0] = work(1, 2) })
	both.Go(func() { errs[1] = work(2, 1) })
	both.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if runs.Load() != 3 || hooks.Load() != 2 {
		t.Errorf("%d runs and %d hooks, want 3 and 2", runs.Load(), hooks.Load())
	}
}

func TestSerializationFailureAtCommitRunsAgain(t *testing.T) {
	t.Parallel()
	s := open(t)
	postgrestest.Exec(t, s, `INSERT INTO notes.note VALUES (1, 'a'), (2, 'b')`)
	runs := 0
	// Write skew between two serializable transactions: the first to commit wins, and COMMIT itself tells the other.
	err := s.InTx(context.Background(), func(ctx context.Context, tx *postgres.Tx) error {
		runs++
		if _, err := tx.Exec(ctx, `SET TRANSACTION ISOLATION LEVEL SERIALIZABLE`); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `SELECT count(*) FROM notes.note WHERE text = 'b'`); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE notes.note SET text = 'b' WHERE id = 1`); err != nil || runs > 1 {
			return err
		}
		return s.InTx(context.Background(), func(ctx context.Context, other *postgres.Tx) error {
			if _, err := other.Exec(ctx, `SET TRANSACTION ISOLATION LEVEL SERIALIZABLE`); err != nil {
				return err
			}
			if _, err := other.Exec(ctx, `SELECT count(*) FROM notes.note WHERE text = 'a'`); err != nil {
				return err
			}
			_, err := other.Exec(ctx, `UPDATE notes.note SET text = 'a' WHERE id = 2`)
			return err
		})
	})
	if err != nil || runs != 2 {
		t.Errorf("err %v after %d runs, want success after 2", err, runs)
	}
}

func TestDeferredConstraintIsAnAnswerNotAMystery(t *testing.T) {
	t.Parallel()
	s := open(t)
	err := s.InTx(context.Background(), func(ctx context.Context, tx *postgres.Tx) error {
		tx.AfterCommitOrUnknown(func(context.Context) { t.Error("a hook ran") })
		_, err := tx.Exec(ctx, `INSERT INTO notes.later VALUES (1), (1)`)
		return err
	})
	if fault.KindOf(err) != fault.Conflict {
		t.Errorf("err = %v", err)
	}
}

func TestGuardGoesFirstAndEachTime(t *testing.T) {
	t.Parallel()
	s := open(t)
	refuse := errors.New("refused")
	guard := postgres.Guard{First: []postgres.Statement{
		{SQL: `INSERT INTO notes.note VALUES ($1, 'guard') ON CONFLICT DO NOTHING`, Args: []any{7}, Check: func(tag pgconn.CommandTag) error {
			if tag.RowsAffected() == 0 {
				return refuse
			}
			return nil
		}},
	}}
	last := postgres.Statement{SQL: `UPDATE notes.note SET text = 'done' WHERE id = $1`, Args: []any{7}}
	err := s.InGuardedTx(context.Background(), guard, func(_ context.Context, tx *postgres.Tx) error {
		tx.WithCommit(last)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := postgrestest.Value[string](t, s, `SELECT text FROM notes.note WHERE id = 7`); got != "done" {
		t.Errorf("text = %q", got)
	}
	err = s.InGuardedTx(context.Background(), guard, func(context.Context, *postgres.Tx) error {
		t.Error("ran though its guard refused")
		return nil
	})
	if !errors.Is(err, refuse) {
		t.Errorf("err = %v", err)
	}
	// What the guard wrote vanishes with a failed function.
	guard.First[0].Args = []any{8}
	_ = s.InGuardedTx(context.Background(), guard, func(context.Context, *postgres.Tx) error { return errors.New("no") })
	if n := postgrestest.Value[int](t, s, `SELECT count(*) FROM notes.note WHERE id = 8`); n != 0 {
		t.Error("the guard's row outlived the rollback")
	}
}

func TestFenceHoldsForEveryTransactionOfItsDatabase(t *testing.T) {
	t.Parallel()
	s, other := open(t), open(t)
	postgrestest.Exec(t, s, `INSERT INTO notes.note VALUES (1, 'lease')`)
	lost := errors.New("lost")
	ctx := postgres.WithFence(context.Background(), s.Database(), postgres.Statement{
		SQL: `SELECT 1 FROM notes.note WHERE id = 1 FOR KEY SHARE`,
		Check: func(tag pgconn.CommandTag) error {
			if tag.RowsAffected() == 0 {
				return lost
			}
			return nil
		},
	})
	if err := s.InTx(ctx, insert(2)); err != nil {
		t.Errorf("the lease holds, yet: %v", err)
	}
	postgrestest.Exec(t, s, `DELETE FROM notes.note WHERE id = 1`)
	if err := s.InTx(ctx, insert(3)); !errors.Is(err, lost) {
		t.Errorf("wrote without the lease: %v", err)
	}
	if err := other.InTx(ctx, insert(3)); err != nil {
		t.Errorf("a database that the fence is not about: %v", err)
	}
	if n := count(t, s); n != 1 {
		t.Errorf("%d rows, want only the one written under the lease", n)
	}
}

func TestBusyPoolIsUnavailableWithinItsLimit(t *testing.T) {
	t.Parallel()
	s := open(t, postgrestest.Configured(func(c *postgres.Config) { c.MaxConns, c.AcquireTimeout = 2, 50*time.Millisecond }))
	err := s.InTx(context.Background(), func(_ context.Context, _ *postgres.Tx) error {
		return s.InTx(context.Background(), func(_ context.Context, _ *postgres.Tx) error {
			return s.InTx(context.Background(), insert(1))
		})
	})
	if !fault.Is(err, "database_busy") || fault.As(err).RetryAfter == 0 {
		t.Errorf("err = %v", err)
	}
}

// A lost connection at COMMIT is provoked by a deferred trigger that ends its own session while it commits.
func lostCommits(t *testing.T) *postgres.Source {
	t.Helper()
	s := open(t)
	super := postgrestest.Connect(t, postgres.Config{URL: pgtest.AsSuperuser(t, s.Database().URL())})
	postgrestest.Exec(t, super.Source("notes"), `
		CREATE FUNCTION notes.end_session() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
			$$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(10); RETURN NULL; END $$`)
	postgrestest.Exec(t, super.Source("notes"), `
		CREATE CONSTRAINT TRIGGER end_session AFTER INSERT ON notes.note DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW WHEN (NEW.text = 'lost') EXECUTE FUNCTION notes.end_session()`)
	return s
}

func insertLost(hooks *[]string) func(context.Context, *postgres.Tx) error {
	return func(ctx context.Context, tx *postgres.Tx) error {
		*hooks = append(*hooks, "run")
		tx.AfterCommit(func(context.Context) { *hooks = append(*hooks, "committed") })
		tx.AfterCommitOrUnknown(func(context.Context) { *hooks = append(*hooks, "harmless") })
		_, err := tx.Exec(ctx, `INSERT INTO notes.note VALUES (1, 'lost')`)
		return err
	}
}

func TestLostCommitWithoutWitnessIsUnknownAndNotRepeated(t *testing.T) {
	t.Parallel()
	s := lostCommits(t)
	var hooks []string
	err := s.InTx(context.Background(), insertLost(&hooks))
	if !fault.Is(err, "commit_unknown") || fault.KindOf(err) != fault.Unavailable {
		t.Errorf("err = %v", err)
	}
	if want := []string{"run", "harmless"}; !slices.Equal(hooks, want) {
		t.Errorf("ran %v, want %v", hooks, want)
	}
}

func TestLostCommitIsResolvedByItsWitness(t *testing.T) {
	t.Parallel()
	for _, landed := range []bool{false, true} {
		t.Run(fmt.Sprintf("landed=%v", landed), func(t *testing.T) {
			t.Parallel()
			s := lostCommits(t)
			var hooks []string
			guard := postgres.Guard{Witness: func(ctx context.Context, tx *postgres.Tx) (bool, error) {
				var n int
				err := tx.QueryRow(ctx, `SELECT count(*) FROM notes.note`).Scan(&n)
				if n != 0 {
					t.Error("the ended session committed after all")
				}
				return landed, err
			}}
			err := s.InGuardedTx(context.Background(), guard, insertLost(&hooks))
			want := []string{"run", "harmless"}
			if landed {
				want = append(want, "committed")
			}
			if !slices.Equal(hooks, want) {
				t.Errorf("ran %v, want %v", hooks, want)
			}
			if landed != (err == nil) || (!landed && !fault.Is(err, "commit_lost")) {
				t.Errorf("err = %v", err)
			}
		})
	}
}

func TestEndedSessionsLeakNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	super := postgrestest.Connect(t, postgres.Config{URL: pgtest.AsSuperuser(t, s.Database().URL()), Application: "killer"})
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			_ = s.InTx(context.Background(), func(ctx context.Context, tx *postgres.Tx) error {
				if err := insert(i)(ctx, tx); err != nil {
					return err
				}
				_, err := tx.Exec(ctx, `SELECT pg_sleep(30)`)
				return err
			})
		})
	}
	for s.Database().Stat().Acquired < 8 {
		postgrestest.Value[bool](t, super.Source("x"), `SELECT true FROM pg_sleep(0.01)`)
	}
	done := make(chan struct{})
	go func() { group.Wait(); close(done) }()
	for ended := false; !ended; {
		postgrestest.Value[int](t, super.Source("x"), `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
			WHERE application_name = 'plenary' AND datname = current_database() AND query LIKE '%pg_sleep(30)%'`)
		select {
		case <-done:
			ended = true
		case <-time.After(10 * time.Millisecond):
		}
	}
	if n, out := count(t, s), s.Database().Stat().Acquired; n != 0 || out != 0 {
		t.Errorf("%d rows half written, %d connections still out", n, out)
	}
}
