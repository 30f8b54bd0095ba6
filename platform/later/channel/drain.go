package channel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"
)

// ErrSecondReader is returned to whoever wants to take items out while somebody else does. Two readers would
// put the items out of order.
var ErrSecondReader = errors.New("channel: somebody else is reading")

// Handler does the work of one item. Its ctx ends after Config.Timeout, and when a stopped Drain has used up its
// time; a handler that does not return then holds up the reader, and nobody else.
type Handler[T any] func(ctx context.Context, item T) error

// Drain hands items over, one after the other, until ctx ends. Then it goes on for at most FlushTimeout with what
// is pending and returns how much is left, which stays in the channel. The item that is being handled when ctx
// ends has until then, too.
//
// No failure of handle ends Drain; see the package comment. The only error is ErrSecondReader, at once.
func (c *DropOldest[T]) Drain(ctx context.Context, handle Handler[T]) (left int, err error) {
	if !c.reading.CompareAndSwap(false, true) {
		return 0, ErrSecondReader
	}
	defer c.reading.Store(false)

	work, end := context.WithCancel(context.WithoutCancel(ctx))
	var watch sync.WaitGroup
	watch.Go(func() { c.endAfterFlush(ctx, work, end) })
	defer watch.Wait()
	defer end()

	for stopped := false; ; {
		for c.pass(work, handle) > 0 {
		}
		if stopped {
			break
		}
		select {
		case <-ctx.Done():
			stopped = true // and once more: something may have come just before
		case <-c.ready:
		}
	}
	s := c.Stats()
	if s.Depth > 0 {
		c.config.Logger.WarnContext(ctx, "stopped with items left in the channel", slog.Int("left", s.Depth),
			slog.Int64("dropped", s.Dropped), slog.Int64("protected_dropped", s.ProtectedDropped))
	}
	return s.Depth, nil
}

func (c *DropOldest[T]) endAfterFlush(ctx, work context.Context, end func()) {
	select {
	case <-work.Done():
		return
	case <-ctx.Done():
	}
	timer := time.NewTimer(c.config.FlushTimeout)
	defer timer.Stop()
	select {
	case <-work.Done():
	case <-timer.C:
		end()
	}
}

// RunOnce hands over what is pending, Capacity items at most, and returns how many there were. It begins with no
// further item once ctx has ended. The only error is ErrSecondReader.
func (c *DropOldest[T]) RunOnce(ctx context.Context, handle Handler[T]) (n int, err error) {
	if !c.reading.CompareAndSwap(false, true) {
		return 0, ErrSecondReader
	}
	defer c.reading.Store(false)
	return c.pass(ctx, handle), nil
}

func (c *DropOldest[T]) pass(ctx context.Context, handle Handler[T]) (n int) {
	for n < c.config.Capacity && ctx.Err() == nil {
		var e entry[T]
		if !c.take(&e) {
			break
		}
		c.handOver(ctx, &e, handle)
		n++
	}
	return n
}

func (c *DropOldest[T]) take(e *entry[T]) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	queue, ok := c.pending.next()
	if ok {
		c.pending.remove(queue, e)
	}
	return ok
}

func (c *DropOldest[T]) handOver(ctx context.Context, e *entry[T], handle Handler[T]) {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	err := safely(ctx, e.item, handle)

	c.mu.Lock()
	if err == nil {
		c.count.Handled++
	} else {
		c.count.Failed++
	}
	failed := c.count.Failed
	c.mu.Unlock()
	if err == nil || !c.reported.allow() {
		return
	}
	attrs := []slog.Attr{slog.String("kind", e.kind), slog.Any("error", err), slog.Int64("failed", failed)}
	level := slog.LevelWarn
	if p, ok := errors.AsType[*panicked](err); ok {
		level, attrs = slog.LevelError, append(attrs, slog.String("stack", string(p.stack)))
	}
	c.config.Logger.LogAttrs(ctx, level, "an item of the channel failed and is dropped", attrs...)
}

// panicked is what a panic of a handler is to the rest: an error.
type panicked struct {
	value any
	stack []byte
}

func (e *panicked) Error() string { return fmt.Sprintf("panic: %v", e.value) }

func safely[T any](ctx context.Context, item T, handle Handler[T]) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicked{value: p, stack: debug.Stack()}
		}
	}()
	return handle(ctx, item)
}
