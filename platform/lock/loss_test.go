package lock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"example.com/plenary/platform/devpg/pgtest"
	"example.com/plenary/platform/lock"
	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/postgres/postgrestest"
)

// A holder froze, its lock went to another, and it wakes: what it writes does not commit, and what it releases is
// not the other one's lock.
func TestStalledHolderHasNoEffect(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	inB, endB, b2 := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	err := a.locks.Hold(context.Background(), "x", "row-a", lock.Options{TTL: long}, func(ctx context.Context) error {
		if err := a.write(ctx, "early"); err != nil {
			t.Error(err)
		}
		a.expire("x")
		go func() {
			b2 <- b.locks.Hold(context.Background(), "x", "row-b", lock.Options{TTL: long}, func(ctx context.Context) error {
				close(inB)
				<-endB
				return b.write(ctx, "second")
			})
		}()
		<-inB
		if err := a.write(ctx, "stale"); !errors.Is(err, lock.ErrLost) {
			t.Errorf("the stalled holder wrote: %v", err)
		}
		return nil // obstinate
	})
	if !errors.Is(err, lock.ErrLost) {
		t.Errorf("the stalled holder was told: %v", err)
	}
	if now, ok, err := b.locks.Current(context.Background(), "x"); err != nil || !ok || now.Owner != "row-b" {
		t.Errorf("it released what was not its own: %+v %v", now, err)
	}
	close(endB)
	if err := <-b2; err != nil || b.effects() != "early second" {
		t.Errorf("%v, effects %q", err, b.effects())
	}
	if !strings.Contains(a.log.String(), "a lock was lost") {
		t.Errorf("the loss went unnoticed:\n%s", a.log)
	}
}

func TestNobodyTakesALockOverWhileATransactionUnderItIsOpen(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	take := func(owner string) error {
		return b.locks.Hold(context.Background(), "x", owner, lock.Options{TTL: long}, nothing)
	}
	err := a.locks.Hold(context.Background(), "x", "row-a", lock.Options{TTL: long}, func(ctx context.Context) error {
		a.expire("x")
		err := a.source.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) error {
			for _, owner := range []string{"row-b", "row-a"} {
				taken, ok := errors.AsType[*lock.Taken](take(owner))
				if !ok || taken.Remaining < 100*time.Millisecond {
					t.Errorf("%s got it, or was told to ask again at once: %v", owner, taken)
				}
			}
			_, err := tx.Exec(ctx, `INSERT INTO desk.effect VALUES ('in time')`)
			return err
		})
		if err != nil {
			t.Errorf("the transaction: %v", err)
		}
		if err := take("row-b"); err != nil {
			t.Errorf("after the transaction: %v", err)
		}
		return nil
	})
	if !errors.Is(err, lock.ErrLost) || a.effects() != "in time" {
		t.Errorf("%v, effects %q", err, a.effects())
	}
}

func TestRenewalKeepsALock(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	err := a.locks.Hold(context.Background(), "x", "", lock.Options{TTL: 1500 * time.Millisecond}, func(ctx context.Context) error {
		err := b.locks.Hold(ctx, "x", "", lock.Options{TTL: long, Wait: 4 * time.Second}, nothing)
		if _, ok := errors.AsType[*lock.Taken](err); !ok {
			t.Errorf("after more than two TTLs the other one got %v", err)
		}
		return a.write(ctx, "a")
	})
	if err != nil || a.effects() != "a" {
		t.Errorf("%v, effects %q", err, a.effects())
	}
}

// The renewal cannot have the row while a transaction under the lock is open; it is not lost for that, and nobody
// else can have it either. Afterwards renewals go on.
func TestRowThatARenewalSkipsIsNotLost(t *testing.T) {
	t.Parallel()
	a, _ := two(t)
	const ttl = 1500 * time.Millisecond
	err := a.locks.Hold(context.Background(), "x", "", lock.Options{TTL: ttl}, func(ctx context.Context) error {
		err := a.source.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) error {
			_, err := tx.Exec(ctx, `INSERT INTO desk.effect SELECT 'slow' FROM pg_sleep(3.5)`)
			return err
		})
		if err != nil {
			return err
		}
		a.within("a renewal", func() bool {
			return postgrestest.Value[bool](t, a.source, `SELECT expires_on > now() FROM platform.locks`)
		})
		return context.Cause(ctx)
	})
	if err != nil || a.effects() != "slow" {
		t.Errorf("%v, effects %q\n%s", err, a.effects(), a.log)
	}
}

func TestHolderIsToldThatItsLockWentToAnother(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	err := a.locks.Hold(context.Background(), "x", "row-a", lock.Options{TTL: 2 * time.Second}, func(ctx context.Context) error {
		postgrestest.Exec(t, b.source, `UPDATE platform.locks SET owner = 'row-b', fence = nextval('platform.lock_fences')`)
		until(t, "told", ctx.Done())
		if cause := context.Cause(ctx); !errors.Is(cause, lock.ErrLost) {
			t.Errorf("cancelled by %v", cause)
		}
		return ctx.Err()
	})
	if !errors.Is(err, lock.ErrLost) || !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}

// The database accepts connections and answers no renewal.
func TestHolderIsToldWhenTheDatabaseIsSilent(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t, desk)
	a := newReplica(t, url, "first")
	super := superuser(t, url)
	held, silent, told := make(chan struct{}), make(chan struct{}), make(chan struct{})
	got := make(chan error, 1)
	go func() {
		got <- a.locks.Hold(context.Background(), "x", "row-a", lock.Options{TTL: 800 * time.Millisecond}, func(ctx context.Context) error {
			close(held)
			<-silent
			defer close(told)
			until(t, "told", ctx.Done())
			return context.Cause(ctx)
		})
	}()
	<-held
	err := super.InTx(context.Background(), func(ctx context.Context, tx *postgres.Tx) error {
		if _, err := tx.Exec(ctx, `LOCK TABLE platform.locks IN ACCESS EXCLUSIVE MODE`); err != nil {
			return err
		}
		close(silent)
		<-told
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-got; !errors.Is(err, lock.ErrLost) {
		t.Errorf("it ended with %v", err)
	}
	if a.rows() != 0 {
		t.Error("the lock was not released")
	}
}

// All connections die, while the lock is held and once more before its end: it is kept, and then released.
func TestLostConnectionsLoseNoLock(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t, desk)
	a, super := newReplica(t, url, "first"), superuser(t, url)
	watcher := &replica{t: t, source: super, log: a.log}
	storm := func() {
		postgrestest.Value[int](t, super, `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	}
	renewed := func() bool {
		return postgrestest.Value[bool](t, super, `SELECT expires_on > now() AND expires_on > taken_on + interval '4 seconds' FROM platform.locks`)
	}
	err := a.locks.Hold(context.Background(), "x", "", lock.Options{TTL: 2 * time.Second}, func(ctx context.Context) error {
		storm()
		watcher.within("renewals over more than a TTL", renewed)
		if err := a.write(ctx, "a"); err != nil {
			return err
		}
		storm()
		return context.Cause(ctx)
	})
	if err != nil || watcher.rows() != 0 || watcher.effects() != "a" {
		t.Errorf("%v, %d rows, effects %q\n%s", err, watcher.rows(), watcher.effects(), a.log)
	}
	storm()
	if err := a.locks.Hold(context.Background(), "x", "", lock.Options{TTL: long}, nothing); err != nil {
		t.Errorf("taken over dead connections: %v", err)
	}
}

func superuser(t *testing.T, url string) *postgres.Source {
	t.Helper()
	return postgrestest.Connect(t, postgres.Config{URL: pgtest.AsSuperuser(t, url), Application: "superuser"}).Source("super")
}
