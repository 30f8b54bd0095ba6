package live

import (
	"context"
	"time"
)

// step is how finely the pacer tells times apart: what is due within one goes together.
const step = 5 * time.Millisecond

// park keeps c for later if the room's state was read just now: a room that changes a thousand times a second is
// not read as often. What is urgent is not parked.
func (rm *room) park(c change, now time.Time) (parked bool, next time.Time) {
	rm.mu.Lock()
	defer rm.mu.Unlock()
	if c.urgent || now.Sub(rm.loadedAt) >= rm.hub.pause() {
		rm.loadedAt = now
		return false, time.Time{}
	}
	if rm.parked != nil {
		c.version, c.local = max(c.version, rm.parked.version), c.local || rm.parked.local
	}
	rm.parked = &c
	return true, rm.nextDue()
}

// unpark tells the other replicas of the parked change, now that it will not be looked at here.
func (rm *room) unpark() {
	rm.mu.Lock()
	defer rm.mu.Unlock()
	if rm.parked != nil && rm.parked.local {
		rm.hub.config.Exchange.Send(rm.name, rm.parked.version)
	}
	rm.parked = nil
}

// attend sends the parts that are due and returns the parked change if it is.
func (rm *room) attend(now time.Time) (due *change, next time.Time) {
	rm.mu.Lock()
	defer rm.mu.Unlock()
	for s := range rm.waiting {
		if now.Sub(s.sent) >= rm.hub.config.Interval {
			rm.send(s, s.part.Updated, now)
		}
	}
	if rm.parked != nil && now.Sub(rm.loadedAt) >= rm.hub.pause() {
		due, rm.parked = rm.parked, nil
	}
	return due, rm.nextDue()
}

// nextDue is called with mu held.
func (rm *room) nextDue() (next time.Time) {
	earlier := func(at time.Time) {
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	for s := range rm.waiting {
		earlier(s.sent.Add(rm.hub.config.Interval))
	}
	if rm.parked != nil {
		earlier(rm.loadedAt.Add(rm.hub.pause()))
	}
	return next
}

// pause is the least time between two reads of one room for what is not urgent.
func (h *Hub) pause() time.Duration { return h.config.Interval / 5 }

// remind has the pacer look at rm at next, if that is not zero.
func (h *Hub) remind(rm *room, next time.Time) {
	if next.IsZero() {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if at, ok := h.due[rm]; ok && !next.Before(at) || h.rooms[rm.name] != rm {
		return
	}
	h.due[rm] = next
	if h.armed.IsZero() || next.Before(h.armed) {
		select {
		case h.rearm <- struct{}{}:
		default:
		}
	}
}

// runPacer is the one goroutine that waits for what is due later, in whatever room.
func (h *Hub) runPacer(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.rearm:
		case <-timer.C:
		}
		rooms, next := h.takeDue(time.Now())
		for _, rm := range rooms {
			due, next := rm.attend(time.Now())
			if due != nil {
				h.changes.Enlist(committed{}, *due)
			}
			h.remind(rm, next)
		}
		timer.Stop()
		if !next.IsZero() {
			timer.Reset(max(step, time.Until(next)))
		}
	}
}

// takeDue returns the rooms whose time has come, and when the next one's will.
func (h *Hub) takeDue(now time.Time) (rooms []*room, next time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for rm, at := range h.due {
		switch {
		case !at.After(now):
			rooms = append(rooms, rm)
			delete(h.due, rm)
		case next.IsZero() || at.Before(next):
			next = at
		}
	}
	h.armed = next
	return rooms, next
}
