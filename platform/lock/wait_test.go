package lock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.com/plenary/platform/lock"
	"example.com/plenary/platform/postgres/postgrestest"
)

// inVain waits until somebody has asked for a lock in vain and waits for its release.
func (r *replica) inVain() {
	r.t.Helper()
	r.within("the wait", func() bool { return lock.Waiters(r.locks) == 1 })
	r.pass(100 * time.Millisecond)
}

// Neither the expiry nor the safety net would be there in time.
func TestReleaseWakesWhoWaits(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	a.notify = b.locks.Wake
	for where, waiter := range map[string]*replica{"in another replica": b, "in the same process": a} {
		got := make(chan error, 1)
		var released time.Time
		err := a.locks.Hold(context.Background(), "x", "", lock.Options{TTL: long}, func(context.Context) error {
			go func() {
				got <- waiter.locks.Hold(context.Background(), "x", "", lock.Options{TTL: long, Wait: long}, nothing)
			}()
			waiter.inVain()
			released = time.Now()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := <-got; err != nil {
			t.Errorf("%s: %v", where, err)
		}
		if took := time.Since(released); took > 10*time.Second {
			t.Errorf("%s it was woken after %v", where, took)
		}
	}
}

// Whoever heard of every lock that may be free looks at its own.
func TestEmptyNameWakesEverybody(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	got := make(chan error, 1)
	var woken time.Time
	_ = a.locks.Hold(context.Background(), "x", "", lock.Options{TTL: long}, func(context.Context) error {
		go func() {
			got <- b.locks.Hold(context.Background(), "x", "", lock.Options{TTL: long, Wait: long}, nothing)
		}()
		b.inVain()
		b.locks.Wake("") // a false alarm
		b.locks.Wake("y")
		a.expire("x")
		woken = time.Now()
		b.locks.Wake("") // the listener has a connection again
		if err := <-got; err != nil || time.Since(woken) > 10*time.Second {
			t.Errorf("%v after %v", err, time.Since(woken))
		}
		return nil
	})
}

// The holder died; nobody tells.
func TestWaiterTakesALockAtItsExpiry(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	postgrestest.Exec(t, a.source, `INSERT INTO platform.locks (name, owner, fence, expires_on)
		VALUES ('x', 'dead', nextval('platform.lock_fences'), now() + interval '700 milliseconds')`)
	expiry := postgrestest.Value[time.Time](t, a.source, `SELECT expires_on FROM platform.locks`)
	err := b.locks.Hold(context.Background(), "x", "", lock.Options{TTL: long, Wait: long}, func(context.Context) error {
		late := postgrestest.Value[time.Duration](t, a.source, `SELECT taken_on - $1::timestamptz FROM platform.locks`, expiry)
		if late < 0 || late > 10*time.Second {
			t.Errorf("taken %v after its expiry", late)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestWaitEnds(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	_ = a.locks.Hold(context.Background(), "x", "", lock.Options{TTL: long}, func(context.Context) error {
		err := b.locks.Hold(context.Background(), "x", "", lock.Options{TTL: long, Wait: 50 * time.Millisecond}, nothing)
		if _, ok := errors.AsType[*lock.Taken](err); !ok {
			t.Errorf("after its patience: %v", err)
		}
		gone := errors.New("the caller went away")
		ctx, cancel := context.WithCancelCause(context.Background())
		got := make(chan error, 1)
		go func() { got <- b.locks.Hold(ctx, "x", "", lock.Options{TTL: long, Wait: long}, nothing) }()
		b.inVain()
		cancel(gone)
		if err := <-got; !errors.Is(err, gone) {
			t.Errorf("after its caller went away: %v", err)
		}
		return nil
	})
	if n := lock.Waiters(b.locks); n != 0 {
		t.Errorf("%d still wait", n)
	}
}
