package lock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/lock"
	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/postgres/postgrestest"
)

func TestOneReplicaAtATimeHoldsALock(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	ctx := context.Background()
	err := a.locks.Hold(ctx, "x", "row-a", lock.Options{TTL: long}, func(ctx context.Context) error {
		err := b.locks.Hold(context.Background(), "x", "row-b", lock.Options{TTL: long}, func(context.Context) error {
			t.Error("two hold it")
			return nil
		})
		taken, ok := errors.AsType[*lock.Taken](err)
		if !ok || taken.Holder != "row-a" || taken.Remaining > long || taken.Remaining < long-time.Minute {
			t.Errorf("the other one got %v", err)
		}
		if fault.KindOf(err) != fault.Conflict || !fault.Is(err, "lock_taken") {
			t.Errorf("%v is a %v", err, fault.KindOf(err))
		}
		if err := b.locks.Hold(context.Background(), "y", "row-b", lock.Options{TTL: long}, nothing); err != nil {
			t.Errorf("another lock: %v", err)
		}
		return a.write(ctx, "a")
	})
	if err != nil || a.effects() != "a" || a.rows() != 0 {
		t.Errorf("%v, effects %q, %d rows", err, a.effects(), a.rows())
	}
	if err := b.locks.Hold(ctx, "x", "row-b", lock.Options{TTL: long}, nothing); err != nil {
		t.Errorf("after the release: %v", err)
	}
}

func nothing(context.Context) error { return nil }

func TestWhateverEndsTheFunctionReleasesTheLock(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	options := lock.Options{TTL: long}
	free := func(when string) {
		t.Helper()
		if err := b.locks.Hold(context.Background(), "x", "", options, nothing); err != nil {
			t.Errorf("after %s: %v", when, err)
		}
	}
	broken := errors.New("broken")
	if err := a.locks.Hold(context.Background(), "x", "", options, func(context.Context) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("the error came back as %v", err)
	}
	free("an error")

	func() {
		defer func() {
			if p := recover(); p != "boom" {
				t.Errorf("the panic came back as %v", p)
			}
		}()
		_ = a.locks.Hold(context.Background(), "x", "", options, func(context.Context) error { panic("boom") })
	}()
	free("a panic")

	ctx, cancel := context.WithCancel(context.Background())
	err := a.locks.Hold(ctx, "x", "", options, func(ctx context.Context) error {
		cancel()
		<-ctx.Done()
		return context.Cause(ctx)
	})
	if !errors.Is(err, context.Canceled) || errors.Is(err, lock.ErrLost) {
		t.Errorf("the cancellation came back as %v", err)
	}
	free("a cancellation")
}

// A command that another replica takes up after a crash does not wait for the lock of its former self.
func TestOwnerTakesItsOwnLockAgain(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	err := a.locks.Hold(context.Background(), "x", "row-1", lock.Options{TTL: long}, func(former context.Context) error {
		return b.locks.Hold(context.Background(), "x", "row-1", lock.Options{TTL: long}, func(ctx context.Context) error {
			if lock.Fence(ctx) <= lock.Fence(former) {
				t.Errorf("fence %d after %d", lock.Fence(ctx), lock.Fence(former))
			}
			if err := a.write(former, "stale"); !errors.Is(err, lock.ErrLost) {
				t.Errorf("the former self wrote: %v", err)
			}
			return b.write(ctx, "fresh")
		})
	})
	if !errors.Is(err, lock.ErrLost) || b.effects() != "fresh" {
		t.Errorf("%v, effects %q", err, b.effects())
	}
	if lock.Fence(context.Background()) != 0 {
		t.Error("a fence without a lock")
	}
}

// Rows come and go with each take; fences rise all the same, in the order of the takes.
func TestManyHoldersOneAfterTheOther(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	a.notify, b.notify = b.locks.Wake, a.locks.Wake
	var inside atomic.Int32
	var mu sync.Mutex
	var fences []int64
	var all sync.WaitGroup
	for i := range 6 {
		r := []*replica{a, b}[i%2]
		all.Go(func() {
			for range 8 {
				err := r.locks.Hold(context.Background(), "x", "", lock.Options{TTL: long, Wait: time.Minute}, func(ctx context.Context) error {
					if inside.Add(1) != 1 {
						t.Error("two hold it")
					}
					mu.Lock()
					fences = append(fences, lock.Fence(ctx))
					mu.Unlock()
					inside.Add(-1)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if len(fences) != 48 || !slices.IsSorted(fences) || len(slices.Compact(fences)) != 48 {
		t.Errorf("fences %v", fences)
	}
}

func TestWhatCannotBeALockIsRefused(t *testing.T) {
	t.Parallel()
	a, _ := two(t)
	for name, hold := range map[string]struct {
		name, owner string
		ttl         time.Duration
	}{
		"no name":     {"", "o", long},
		"long name":   {strings.Repeat("x", 300), "o", long},
		"bad text":    {"a\x00b", "o", long},
		"long owner":  {"x", strings.Repeat("o", 201), long},
		"no TTL":      {"x", "o", 0},
		"TTL a year":  {"x", "o", 365 * 24 * time.Hour},
		"TTL too low": {"x", "o", time.Millisecond},
	} {
		err := a.locks.Hold(context.Background(), hold.name, hold.owner, lock.Options{TTL: hold.ttl}, nothing)
		if fault.KindOf(err) != fault.Invalid || !fault.Is(err, "lock_invalid") {
			t.Errorf("%s: %v", name, err)
		}
	}
	err := a.source.InTx(context.Background(), func(ctx context.Context, _ *postgres.Tx) error {
		return a.locks.Hold(ctx, "x", "o", lock.Options{TTL: long}, nothing)
	})
	if !fault.Is(err, "nested_transaction") {
		t.Errorf("inside a transaction: %v", err)
	}
	if a.rows() != 0 {
		t.Errorf("%d rows", a.rows())
	}
}

func TestOperatorsSeeWhoHoldsWhat(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	err := a.locks.Hold(context.Background(), "x", "row-1", lock.Options{TTL: long}, func(ctx context.Context) error {
		seen, ok, err := b.locks.Current(context.Background(), "x")
		if err != nil || !ok || seen.Owner != "row-1" || seen.Fence != lock.Fence(ctx) || seen.Remaining > long || seen.Remaining < long-time.Minute {
			t.Errorf("%+v %v %v", seen, ok, err)
		}
		return b.locks.Hold(context.Background(), "a", "row-2", lock.Options{TTL: long}, func(context.Context) error {
			all, err := a.locks.All(context.Background(), 10)
			if err != nil || len(all) != 2 || all[0].Owner != "row-2" || all[1].Name != "x" {
				t.Errorf("%+v %v", all, err)
			}
			a.expire("x")
			if _, ok, err := b.locks.Current(context.Background(), "x"); ok || err != nil {
				t.Errorf("an expired lock is shown: %v", err)
			}
			return nil
		})
	})
	if err != nil { // it had expired, but nobody wanted it
		t.Error(err)
	}
}

func TestWhatTheDeadLeftBehindIsCleanedUp(t *testing.T) {
	t.Parallel()
	a, _ := two(t)
	postgrestest.Exec(t, a.source, `INSERT INTO platform.locks (name, owner, fence, expires_on) VALUES
		('old', 'o', nextval('platform.lock_fences'), now() - interval '2 hours'),
		('recent', 'o', nextval('platform.lock_fences'), now() - interval '10 minutes')`)
	if err := a.locks.Hold(context.Background(), "x", "", lock.Options{TTL: long}, nothing); err != nil {
		t.Fatal(err)
	}
	if left := postgrestest.Value[string](t, a.source, `SELECT string_agg(name, ' ') FROM platform.locks`); left != "recent" {
		t.Errorf("left: %s", left)
	}
}
