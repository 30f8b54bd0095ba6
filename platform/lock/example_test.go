package lock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/plenary/platform/lock"
)

// busy stands for a lock that another replica has.
func busy() error {
	return &lock.Taken{Name: "scoring:42", Holder: "row 17", Remaining: 40 * time.Second}
}

func Example() {
	score := func(ctx context.Context, locks *lock.Locks, eventID, runID string) error {
		return locks.Hold(ctx, "scoring:"+eventID, runID, lock.Options{TTL: time.Minute}, func(context.Context) error {
			return nil // ask the model; save what it says in transactions of this function's context
		})
	}
	_ = score // real ones come from lock.New(lock.Config{Source: …})

	// Whoever finds the lock taken knows when to come back.
	if taken, ok := errors.AsType[*lock.Taken](busy()); ok {
		fmt.Println("again in", taken.Remaining)
		fmt.Println(taken)
	}
	// Output:
	// again in 40s
	// the lock "scoring:42" is taken by "row 17" for another 40s
}
