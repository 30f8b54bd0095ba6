package channel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/metric"
)

// Config describes a channel. Its functions are called by producers, from many goroutines at once, some of them
// under the channel's lock: they must be quick and must not use the channel.
type Config[T any] struct {
	Name     string // for logs and metrics
	Capacity int    // the most items that wait; at least 1
	// Kind names what sort of item it is, in logs and metrics: one of a few constants. Default: "item".
	Kind func(item T) string
	// Key returns what the item is the latest state of; it then replaces the pending item with this key, in
	// place. Protected items replace only protected ones, and the others only others. Default: no item has a key.
	Key func(item T) (key string, ok bool)
	// Newer reports whether item, which has just come, is to replace pending, or is itself what is out of date:
	// two transactions may commit in one order and get here in the other. Default: always.
	Newer func(item, pending T) bool
	// Protected reports whether the item goes last. Default: no item does.
	Protected func(item T) bool
	// Lost is told of each protected item that had to go, by the goroutine of the producer that pushed it out
	// and outside of the lock.
	Lost   func(item T)
	Logger *slog.Logger
	Meter  metric.Meter
	// Timeout bounds the handling of one item; default 2 s.
	Timeout time.Duration
	// FlushTimeout bounds what Drain still does once it is stopped; default 5 s.
	FlushTimeout time.Duration
}

// Tx is the part of an open transaction that a channel needs: *postgres.Tx, or any other that calls fn after
// its commit and not otherwise.
type Tx interface {
	AfterCommit(fn func(ctx context.Context))
}

// Stats is how a channel stands. Pushed is the sum of Depth, Coalesced, Dropped, ProtectedDropped, Handled and
// Failed, but for an item that is being handled.
type Stats struct {
	Name             string
	Capacity         int
	Depth            int   // items that wait
	Pushed           int64 // items that came
	Coalesced        int64 // of these, replaced by one with the same key, or out of date when they came
	Dropped          int64 // lost for want of room
	ProtectedDropped int64 // as Dropped, which does not include them
	Handled          int64
	Failed           int64
}

// DropOldest is a channel. Any number of goroutines may put in, one takes out.
type DropOldest[T any] struct {
	config  Config[T]
	ready   chan struct{} // has a token when an item has come into the empty channel
	reading atomic.Bool
	// Drops and failures, as far as they are logged.
	warned, reported limiter

	mu      sync.Mutex // guards everything below; held for a few steps, never while anything is handled or logged
	pending pending[T]
	count   Stats // without Name, Capacity and Depth
	kinds   map[string]*losses
}

// New returns an empty channel. It fails on a configuration that cannot work, such as one without room.
func New[T any](config Config[T]) (*DropOldest[T], error) {
	if config.Name == "" {
		return nil, errors.New("channel: a channel needs a name")
	}
	if config.Capacity < 1 || config.Capacity > math.MaxInt32/4 {
		return nil, fmt.Errorf("channel %s: a capacity of %d is not possible", config.Name, config.Capacity)
	}
	if config.Timeout < 0 || config.FlushTimeout < 0 {
		return nil, fmt.Errorf("channel %s: a limit of time is negative", config.Name)
	}
	if config.Timeout == 0 {
		config.Timeout = 2 * time.Second
	}
	if config.FlushTimeout == 0 {
		config.FlushTimeout = 5 * time.Second
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	config.Logger = config.Logger.With(slog.String("channel", config.Name))
	c := &DropOldest[T]{
		config: config, ready: make(chan struct{}, 1),
		pending: newPending[T](config.Capacity), kinds: map[string]*losses{},
	}
	c.warned.begun, c.reported.begun = time.Now(), time.Now()
	if err := c.measure(config.Meter); err != nil {
		return nil, fmt.Errorf("channel %s: %w", config.Name, err)
	}
	return c, nil
}

// Enlist puts items into the channel, in this order, once tx has committed. It does nothing if tx is rolled back,
// and counts once if the transaction is repeated.
func (c *DropOldest[T]) Enlist(tx Tx, items ...T) {
	items = slices.Clone(items) // the caller's slice may change before the commit
	tx.AfterCommit(func(ctx context.Context) {
		for _, item := range items {
			c.push(ctx, item)
		}
	})
}

// Stats returns how the channel stands.
func (c *DropOldest[T]) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.count
	s.Name, s.Capacity, s.Depth = c.config.Name, c.config.Capacity, c.pending.depth
	return s
}

// push allocates nothing and waits for nobody. A panic of a function of the configuration costs this item only.
func (c *DropOldest[T]) push(ctx context.Context, item T) {
	defer func() {
		if p := recover(); p != nil {
			c.panicked(ctx, p)
		}
	}()
	e := entry[T]{item: item, kind: "item"}
	if c.config.Kind != nil {
		e.kind = c.config.Kind(item)
	}
	if c.config.Key != nil {
		e.key, e.keyed = c.config.Key(item)
	}
	if c.config.Protected != nil {
		e.protected = c.config.Protected(item)
	}
	var lost loss[T]
	c.insert(&e, &lost)
	if lost.any && c.warned.allow() {
		c.config.Logger.LogAttrs(ctx, slog.LevelWarn, "the channel is full; its oldest items are dropped",
			slog.String("kind", lost.kind), slog.Int64("dropped", lost.dropped),
			slog.Int64("protected_dropped", lost.protectedDropped), slog.Int("capacity", c.config.Capacity))
	}
	if lost.any && lost.protected && c.config.Lost != nil {
		c.config.Lost(lost.item)
	}
}

// loss is the item that had to go, if any had to, and what is to be said about it.
type loss[T any] struct {
	entry[T]
	any                       bool
	dropped, protectedDropped int64
}

func (c *DropOldest[T]) insert(e *entry[T], lost *loss[T]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.pending.find(e); at != none {
		waiting := &c.pending.slots[at].entry
		if c.config.Newer == nil || c.config.Newer(e.item, waiting.item) {
			waiting.item, waiting.kind = e.item, e.kind
		}
		c.count.Pushed++
		c.count.Coalesced++
		return
	}
	c.count.Pushed++
	if c.pending.depth == c.config.Capacity {
		switch {
		case c.pending.queues[ordinary].first != none:
			c.pending.remove(ordinary, &lost.entry)
		case e.protected:
			c.pending.remove(protected, &lost.entry)
		default: // it is the only ordinary item that there is
			lost.entry = *e
			c.lose(lost)
			return
		}
		c.lose(lost)
	}
	c.pending.add(e)
	if c.pending.depth == 1 {
		select {
		case c.ready <- struct{}{}:
		default:
		}
	}
}

// lose counts a loss. It is called with mu held.
func (c *DropOldest[T]) lose(lost *loss[T]) {
	lost.any = true
	c.countLoss(lost.kind, lost.protected)
	lost.dropped, lost.protectedDropped = c.count.Dropped, c.count.ProtectedDropped
}

func (c *DropOldest[T]) panicked(ctx context.Context, p any) {
	if c.reported.allow() {
		c.config.Logger.ErrorContext(ctx, "a function of the channel's configuration panicked",
			slog.String("panic", fmt.Sprint(p)), slog.String("stack", string(debug.Stack())))
	}
}

// limiter keeps a log from being flooded when it is needed most. It may be used by any number of goroutines.
type limiter struct {
	begun time.Time
	next  atomic.Int64 // when it allows something again, in nanoseconds after begun
}

const quiet = 10 * time.Second

func (l *limiter) allow() bool {
	now, next := time.Since(l.begun), l.next.Load()
	return now >= time.Duration(next) && l.next.CompareAndSwap(next, int64(now+quiet))
}
