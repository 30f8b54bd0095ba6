package engagement

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Everybody gets what was read after they asked; a hundred who ask at once need two reads.
func TestSharedRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var committed, reads atomic.Int64
		s := newSharedReads(time.Minute, func(context.Context, string) (int64, error) {
			reads.Add(1)
			seen := committed.Load()
			time.Sleep(time.Second) // the bubble's clock
			return seen, nil
		})
		var group sync.WaitGroup
		for range 100 {
			group.Go(func() {
				mine := committed.Add(1)
				if got, err := s.read(t.Context(), "a"); got < mine || err != nil {
					t.Errorf("after %d it reads %d, %v", mine, got, err)
				}
			})
			synctest.Wait() // the first one reads by now
		}
		group.Wait()
		if reads.Load() != 2 || len(s.lanes) != 0 {
			t.Errorf("%d reads, %d lanes", reads.Load(), len(s.lanes))
		}
	})
}

func TestSharedReadOutlivesWhoeverBeganIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSharedReads(time.Minute, func(ctx context.Context, _ string) (int, error) {
			time.Sleep(time.Second) // the bubble's clock
			return 1, ctx.Err()
		})
		var group sync.WaitGroup
		for i := range 5 {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			group.Go(func() {
				got, err := s.read(ctx, "a")
				// The first two read for the others; of the others, one has gone.
				if gone := i == 3; gone != errors.Is(err, context.Canceled) || !gone && got != 1 {
					t.Errorf("caller %d: %d, %v", i, got, err)
				}
			})
			synctest.Wait()
			if i == 0 || i == 1 || i == 3 {
				cancel()
			}
		}
		group.Wait()
	})
}

func TestSharedReadThatPanicsHoldsUpNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reads := 0
		s := newSharedReads(time.Minute, func(context.Context, string) (int, error) {
			reads++
			time.Sleep(time.Second) // the bubble's clock
			if reads == 2 {
				panic("boom")
			}
			return reads, nil
		})
		var group sync.WaitGroup
		errs := make([]error, 3)
		for i := range errs {
			group.Go(func() {
				defer func() { _ = recover() }()
				_, errs[i] = s.read(t.Context(), "a")
			})
			synctest.Wait()
		}
		group.Wait()
		if errs[0] != nil || !errors.Is(errs[2], errReadLost) {
			t.Errorf("%v", errs)
		}
		if got, err := s.read(t.Context(), "a"); got != 3 || err != nil {
			t.Errorf("afterwards: %d, %v", got, err)
		}
	})
}
