package cache

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"example.com/plenary/platform/fault"
)

// flight is one load on its way, with all who wait for it.
type flight struct {
	waiting int                // guarded by Cache.mu
	cancel  context.CancelFunc // ends the load
	landed  chan struct{}      // closed once value and err are set
	value   any
	err     error
}

func (c *Cache) get(
	ctx context.Context, key string, ttl time.Duration, fetch func(context.Context) (any, error),
) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	kept, f, started := c.find(ctx, key, ttl, fetch)
	if c.cfg.Observe != nil {
		c.cfg.Observe(key, !started)
	}
	if f == nil {
		return kept, nil
	}
	select {
	case <-f.landed:
		return f.value, f.err
	case <-ctx.Done():
		c.leave(key, f)
		return nil, ctx.Err()
	}
}

// find returns what is kept under key, or else the flight to wait for, which it started if there was none.
func (c *Cache) find(
	ctx context.Context, key string, ttl time.Duration, fetch func(context.Context) (any, error),
) (kept any, f *flight, started bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if kept, ok := c.lookup(key); ok {
		return kept, nil, false
	}
	f, joined := c.flights[key]
	if !joined {
		f = c.takeOff(ctx, key, ttl, fetch)
	}
	f.waiting++
	return nil, f, !joined
}

// takeOff is called with mu held.
func (c *Cache) takeOff(
	ctx context.Context, key string, ttl time.Duration, fetch func(context.Context) (any, error),
) *flight {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f := &flight{cancel: cancel, landed: make(chan struct{})}
	c.flights[key] = f
	go func() {
		defer cancel()
		// Deferred, so that it happens whatever fetch does; a flight that never lands would block its key.
		defer func() {
			c.mu.Lock()
			if c.flights[key] == f { // otherwise the key was evicted meanwhile, or all have left
				delete(c.flights, key)
				if f.err == nil {
					c.store(key, f.value, ttl)
				}
			}
			c.mu.Unlock()
			close(f.landed)
		}()
		f.err = errors.New("cache: the load ended its goroutine") // unless it returns or panics
		f.value, f.err = protected(ctx, fetch)
	}()
	return f
}

// leave gives up waiting. With the last waiter goes the load; it is taken out of the map first, so that a
// newcomer does not inherit its cancellation.
func (c *Cache) leave(key string, f *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f.waiting--
	if f.waiting > 0 {
		return
	}
	if c.flights[key] == f {
		delete(c.flights, key)
	}
	f.cancel()
}

func protected(ctx context.Context, fetch func(context.Context) (any, error)) (value any, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fault.Wrap(fmt.Errorf("panic: %v\n%s", v, debug.Stack()), fault.Internal, "load_panicked",
				"the value could not be loaded")
		}
	}()
	return fetch(ctx)
}
