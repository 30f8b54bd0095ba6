package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

// DefaultStopTimeout leaves a little of the 20 seconds after which a program that was told to stop may be
// killed.
const DefaultStopTimeout = 18 * time.Second

// Config says how a program is run. The zero value will do.
type Config struct {
	// Logger gets one line for each component that starts or stops, and for each failure. nil: slog.Default().
	Logger *slog.Logger
	// StopTimeout is the longest that stopping may take altogether. 0: DefaultStopTimeout.
	StopTimeout time.Duration
	// DrainDelay is how long the program goes on working while /readyz already says that it stops, so that load
	// balancers see it before connections are refused. It is part of StopTimeout.
	DrainDelay time.Duration
}

// Host runs the components of one program once.
type Host struct {
	cfg   Config
	units []*unit
	state atomic.Int32
	probes

	// Owned by Run's goroutine.
	stopBy time.Time // zero until stopping begins
	onStop func()    // called then, before it is logged; may be nil
}

// The states of a host, in order.
const (
	fresh int32 = iota
	starting
	ready
	stopping
	stopped
)

// New returns a host without components.
func New(cfg Config) *Host {
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.StopTimeout <= 0 {
		cfg.StopTimeout = DefaultStopTimeout
	}
	return &Host{cfg: cfg}
}

// Add appends components in the order in which they are to start. It is called before Run.
func (h *Host) Add(components ...Component) {
	for _, c := range components {
		h.units = append(h.units, &unit{Component: c})
	}
}

// RunUntilSignal is Run until SIGINT or SIGTERM arrives. From then on the process has no handler for them any
// more: a second one ends it at once.
func (h *Host) RunUntilSignal(ctx context.Context) error {
	ctx, release := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer release()
	context.AfterFunc(ctx, release)
	h.onStop = func() {
		if ctx.Err() != nil {
			release() // AfterFunc has its own time; this comes before anyone can see that the program stops
		}
	}
	return h.Run(ctx)
}

// Run starts the components in order, works until ctx ends or a Run fails, and stops what it has started in
// reverse order. It returns nil if it was ctx that ended the program and all stopped in order, also when that
// happened during the start; otherwise the failures. Each of them has been logged by then.
//
// It returns at most Config.StopTimeout after stopping has begun, whatever the components do. A host runs once.
func (h *Host) Run(ctx context.Context) error {
	if err := h.validate(); err != nil {
		h.cfg.Logger.ErrorContext(ctx, "cannot run", "error", err)
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	n, err := h.start(ctx, cancel)
	if err == nil && ctx.Err() == nil {
		h.state.Store(ready)
		h.cfg.Logger.InfoContext(ctx, "ready")
		<-ctx.Done()
		h.beginStop(ctx)
		time.Sleep(h.cfg.DrainDelay)
	}
	h.beginStop(ctx)
	if failed, ok := errors.AsType[*runError](context.Cause(ctx)); ok {
		err = errors.Join(err, failed)
	}
	err = errors.Join(err, h.stop(context.WithoutCancel(ctx), n))
	h.state.Store(stopped)
	return err
}

// start returns how many components have started, and why the next one has not; nil if ctx has ended.
func (h *Host) start(ctx context.Context, cancel context.CancelCauseFunc) (n int, err error) {
	for n, u := range h.units {
		if ctx.Err() != nil {
			return n, nil
		}
		began := time.Now()
		err := h.startOne(ctx, n)
		switch {
		case ctx.Err() != nil && errors.Is(err, context.Canceled):
			return n, nil
		case err != nil:
			h.logFailure(ctx, "start failed", u.Name, err)
			return n, fmt.Errorf("start %s: %w", u.Name, err)
		}
		h.cfg.Logger.InfoContext(ctx, "started", "component", u.Name, "took", time.Since(began))
		u.begin(ctx, func(err error) {
			h.logFailure(ctx, "failed", u.Name, err)
			cancel(&runError{u.Name, err})
		})
	}
	return len(h.units), nil
}

// startOne gives a Start that goes on after ctx has ended as much time as the component would have had to stop.
func (h *Host) startOne(ctx context.Context, i int) error {
	u := h.units[i]
	if u.Start == nil {
		return nil
	}
	result := call(ctx, u.Start)
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		h.beginStop(ctx)
	}
	err, ok := await(result, h.timeFor(i))
	if !ok {
		return errors.New("it was to stop while it started, and did not return")
	}
	return err
}

// stop stops the first n components, the last one first.
func (h *Host) stop(ctx context.Context, n int) error {
	var failures []error
	for i := n - 1; i >= 0; i-- {
		u, began := h.units[i], time.Now()
		err := u.end(ctx, h.timeFor(i))
		switch {
		case err == nil:
			h.cfg.Logger.InfoContext(ctx, "stopped", "component", u.Name, "took", time.Since(began))
		case errors.Is(err, context.DeadlineExceeded):
			h.cfg.Logger.WarnContext(ctx, "stopped before it had finished", "component", u.Name, "error", err)
		default:
			h.logFailure(ctx, "stop failed", u.Name, err)
			failures = append(failures, fmt.Errorf("stop %s: %w", u.Name, err))
		}
	}
	return errors.Join(failures...)
}

// beginStop makes /readyz fail and lets the budget run, once.
func (h *Host) beginStop(ctx context.Context) {
	if !h.stopBy.IsZero() {
		return
	}
	h.stopBy = time.Now().Add(h.cfg.StopTimeout)
	h.state.Store(stopping)
	if h.onStop != nil {
		h.onStop()
	}
	h.cfg.Logger.InfoContext(ctx, "stopping", "reason", context.Cause(ctx), "within", h.cfg.StopTimeout)
}

// timeFor returns how long the i-th component may take to stop now, if those before it are to stop after it.
func (h *Host) timeFor(i int) time.Duration {
	left := time.Until(h.stopBy)
	if own := h.units[i].StopTimeout; own > 0 {
		return min(own, max(left, 0))
	}
	sharing := time.Duration(1)
	for _, u := range h.units[:i] {
		left -= u.StopTimeout
		if u.StopTimeout == 0 {
			sharing++
		}
	}
	return max(left, 0) / sharing
}

// validate claims the host for one run and finds mistakes before anything starts.
func (h *Host) validate() error {
	if !h.state.CompareAndSwap(fresh, starting) {
		return errors.New("the host has run before")
	}
	left, sharing := h.cfg.StopTimeout-h.cfg.DrainDelay, false
	names := map[string]bool{}
	for _, u := range h.units {
		if u.Name == "" || names[u.Name] {
			return fmt.Errorf("component %q needs a name of its own", u.Name)
		}
		names[u.Name] = true
		left -= u.StopTimeout
		sharing = sharing || u.StopTimeout == 0
	}
	if left < 0 || (left == 0 && sharing) {
		return fmt.Errorf("the components' stop timeouts and the drain delay leave nothing of the stop timeout of %v",
			h.cfg.StopTimeout)
	}
	return nil
}

func (h *Host) logFailure(ctx context.Context, msg, component string, err error) {
	attrs := []any{"component", component, "error", err}
	if p, ok := errors.AsType[*panicError](err); ok {
		attrs = append(attrs, "stack", string(p.stack))
	}
	h.cfg.Logger.ErrorContext(ctx, msg, attrs...)
}

// runError is why a run ended that nobody asked to end.
type runError struct {
	component string
	err       error
}

func (e *runError) Error() string { return fmt.Sprintf("run %s: %v", e.component, e.err) }

func (e *runError) Unwrap() error { return e.err }
