package live

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"example.com/plenary/platform/later/channel"
)

// Change says that a room has changed and is at Version now.
type Change struct {
	Room    string
	Version int64
	// Urgent changes, such as the end of a poll, are read at once, and go last if the channel is full.
	Urgent bool
}

// change is an item of the channel: to read the state of a room, unless that is known.
type change struct {
	room    string
	key     string
	version int64
	urgent  bool
	local   bool // it happened here: the others do not know
}

func newChange(room string, version int64, urgent, local bool) change {
	key := "heard " + room
	if local {
		key = "told " + room
	}
	return change{room: room, key: key, version: version, urgent: urgent, local: local}
}

// committed is the transaction of what is known to have been committed.
type committed struct{}

func (committed) AfterCommit(fn func(context.Context)) { fn(context.Background()) }

// Changed has the room's clients shown the room's state, here and in the other replicas, once tx has committed. It
// never waits. What is lost, with a process or for want of room, is found out by the next comparison.
func (h *Hub) Changed(tx channel.Tx, c Change) {
	h.changes.Enlist(tx, newChange(c.Room, c.Version, c.Urgent, true))
}

func (h *Hub) newChannel() (*channel.DropOldest[change], error) {
	return channel.New(channel.Config[change]{
		Name: h.config.Name, Capacity: h.config.Capacity, Logger: h.config.Logger, Meter: h.config.Meter,
		Key:          func(c change) (string, bool) { return c.key, true },
		Newer:        func(c, pending change) bool { return c.version > pending.version },
		Protected:    func(c change) bool { return c.urgent },
		Timeout:      h.config.LoadTimeout,
		FlushTimeout: flushLimit,
	})
}

// handle is the drain: one goroutine a replica, one change after the other.
func (h *Hub) handle(ctx context.Context, c change) error {
	rm := h.room(c.room)
	known := rm == nil || rm.loaded.Load() >= c.version
	if !known {
		parked, next := rm.park(c, time.Now())
		h.remind(rm, next)
		if parked {
			return nil
		}
	}
	if c.local {
		h.config.Exchange.Send(c.room, c.version)
	}
	if known {
		return nil
	}
	state, err := h.config.Load(ctx, c.room)
	if err != nil {
		return fmt.Errorf("read the state of room %s: %w", c.room, err)
	}
	h.remind(rm, rm.take(state, time.Now()))
	return nil
}

// hear takes a hint. What nobody here watches, or knows already, is none.
func (h *Hub) hear(name string, version int64) {
	if name == "" {
		select {
		case h.compareNow <- struct{}{}:
		default:
		}
		return
	}
	if rm := h.room(name); rm != nil && rm.loaded.Load() < version {
		h.changes.Enlist(committed{}, newChange(name, version, false, false))
	}
}

// CompareOnce asks for the versions of the rooms that have clients, and has those read that were left behind. It
// returns how many they were.
func (h *Hub) CompareOnce(ctx context.Context) (behind int, err error) {
	ctx, cancel := context.WithTimeout(ctx, h.config.LoadTimeout)
	defer cancel()
	h.mu.Lock()
	names := make([]string, 0, len(h.rooms))
	for name := range h.rooms {
		names = append(names, name)
	}
	h.mu.Unlock()
	if len(names) == 0 {
		return 0, nil
	}
	versions, err := safely(func() (map[string]int64, error) { return h.config.Versions(ctx, names) })
	if err != nil {
		return 0, fmt.Errorf("read the versions of rooms: %w", err)
	}
	for name, version := range versions {
		if rm := h.room(name); rm != nil && rm.loaded.Load() < version {
			h.changes.Enlist(committed{}, newChange(name, version, false, false))
			behind++
		}
	}
	return behind, nil
}

func (h *Hub) runComparison(ctx context.Context) {
	ticker := time.NewTicker(h.config.Compare)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-h.compareNow:
		}
		if _, err := h.CompareOnce(ctx); err != nil && ctx.Err() == nil {
			h.config.Logger.WarnContext(ctx, "rooms could not be compared", slog.Any("error", err))
		}
	}
}

// safely makes a panic of fn its error.
func safely[T any](fn func() (T, error)) (value T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return fn()
}
