package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// Component is a part of a program. All functions are optional.
type Component struct {
	// Name appears in the log and in /readyz; it is unique.
	Name string

	// Start returns once the component works, or with an error and nothing left behind. Its context ends when
	// the program is to stop, and is not to be kept beyond Start.
	Start func(ctx context.Context) error

	// Run does the component's work, in a goroutine that begins after Start and is waited for. It returns when
	// its context ends, which is when it is this component's turn to stop; before that, even returning nil is
	// a failure.
	Run func(ctx context.Context) error

	// Stop is called once Run's context has ended, and may rely on everything that started earlier. Its context
	// ends after nine tenths of the component's time: the rest is for giving up in order. A Stop that did so
	// returns an error that wraps context.DeadlineExceeded; that is logged, and still counts as a clean stop.
	Stop func(ctx context.Context) error

	// StopTimeout is how long Stop and the end of Run may take together. 0: an equal share of what the others
	// leave of Config.StopTimeout.
	StopTimeout time.Duration

	// Ready returns nil if the component can do its work. It is asked at most once a second, has two for its
	// answer, and is not asked again before it has returned. nil: ready from Start to Stop.
	Ready func(ctx context.Context) error
}

// The phases of a component, in order.
const (
	waiting int32 = iota // to be started
	working
	ended // stopped, or ended by itself
)

var errUnasked = errors.New("it ended without being asked to")

// unit is a component at work.
type unit struct {
	Component
	phase atomic.Int32

	endRun  context.CancelFunc
	runDone chan struct{} // closed once Run has returned
	runErr  error         // what Run returned after it was asked to; to be read after runDone

	// Owned by Host.probe.
	asked    <-chan error // where Ready will answer; nil: it has not been asked
	notReady bool         // as logged last
}

// begin starts Run. fail is called if it ends unasked.
func (u *unit) begin(ctx context.Context, fail func(error)) {
	u.runDone = make(chan struct{})
	ctx, u.endRun = context.WithCancel(context.WithoutCancel(ctx))
	u.phase.Store(working)
	if u.Run == nil {
		close(u.runDone)
		return
	}
	result := call(ctx, u.Run)
	go func() {
		defer close(u.runDone)
		err := <-result
		asked := ctx.Err() != nil
		switch {
		case asked && !errors.Is(err, context.Canceled):
			u.runErr = err
		case !asked:
			u.phase.Store(ended)
			fail(cmp.Or(err, errUnasked))
		}
	}()
}

// end stops the component. It returns when Stop and Run have returned, or after limit.
func (u *unit) end(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit*9/10)
	defer cancel()
	u.phase.Store(ended)
	u.endRun()
	result := call(ctx, func(ctx context.Context) error {
		var err error
		if u.Stop != nil {
			err = u.Stop(ctx)
		}
		<-u.runDone
		return errors.Join(err, u.runErr)
	})
	err, ok := await(result, limit)
	if !ok {
		return fmt.Errorf("it did not stop within %v and was left behind", limit)
	}
	return err
}

// call runs f in a goroutine of its own, which the caller need not outlast. A panic becomes an error.
func call(ctx context.Context, f func(context.Context) error) <-chan error {
	result := make(chan error, 1)
	go func() {
		err := errors.New("its goroutine was ended") // unless f returns or panics
		defer func() {
			if v := recover(); v != nil {
				err = &panicError{value: v, stack: debug.Stack()}
			}
			result <- err
		}()
		err = f(ctx)
	}()
	return result
}

// await returns the result, or false after limit.
func await(result <-chan error, limit time.Duration) (err error, inTime bool) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-result:
		return err, true
	case <-timer.C:
		return nil, false
	}
}

// panicError is a contained panic. Its stack is for the log.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }
