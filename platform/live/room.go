package live

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// unread is the version of a room whose state has not been read yet.
const unread = -1

// room is what this replica knows of a room that somebody watches.
type room struct {
	hub    *Hub
	name   string
	places int          // clients that are here or on their way in; guarded by Hub.mu
	loaded atomic.Int64 // the version of what slots hold; rises under mu

	mu       sync.Mutex // held while a frame is put into the clients' queues; nobody waits under it
	clients  []*client
	slots    map[string]*slot
	waiting  map[*slot]bool // those with a change that is due later
	loadedAt time.Time
	parked   *change // what is to be looked at once the pause after loadedAt is over
	closed   bool
}

// slot is a part as it was read last, and what of it was sent.
type slot struct {
	part  Part
	stage string // as sent, or as it was when the first client came
	sent  time.Time
}

func newRoom(hub *Hub, name string) *room {
	rm := &room{hub: hub, name: name, slots: map[string]*slot{}, waiting: map[*slot]bool{}}
	rm.loaded.Store(unread)
	return rm
}

// take makes a state that was read the room's, unless a newer one is that already, and sends what has changed. It is
// told in any order by whoever has read: the versions decide, so that no client is ever shown an older state. next
// is when something is due that may not be sent yet; zero: nothing is.
func (rm *room) take(state State, now time.Time) (next time.Time) {
	rm.mu.Lock()
	defer rm.mu.Unlock()
	rm.merge(state, now)
	return rm.nextDue()
}

func (rm *room) merge(state State, now time.Time) {
	known := rm.loaded.Load()
	if state.Version <= known {
		return
	}
	rm.loaded.Store(state.Version)
	present := make(map[string]bool, len(state.Parts))
	for _, part := range state.Parts {
		present[part.Key] = true
		s := rm.slots[part.Key]
		switch {
		case s == nil:
			s = &slot{}
			rm.slots[part.Key] = s
		case part.Version <= s.part.Version:
			continue
		}
		isNew := s.part.Key == ""
		s.part = part
		switch {
		case known == unread: // nobody is here yet; whoever comes has it in the snapshot
			s.stage = part.Stage
		case isNew || part.Stage != s.stage:
			rm.send(s, part.Entered, now)
		case now.Sub(s.sent) >= rm.hub.config.Interval:
			rm.send(s, part.Updated, now)
		default:
			rm.waiting[s] = true
		}
	}
	for key, s := range rm.slots {
		if !present[key] {
			delete(rm.slots, key)
			delete(rm.waiting, s)
		}
	}
}

// send sends a part as it is. It is called with mu held.
func (rm *room) send(s *slot, eventType string, now time.Time) {
	s.stage, s.sent = s.part.Stage, now
	delete(rm.waiting, s)
	if eventType == "" || !rm.watched(s.part.Audience) {
		return
	}
	m, ok := rm.encode(eventType, s.part)
	if !ok {
		return
	}
	rm.hub.count.broadcast.Add(1)
	for i := len(rm.clients) - 1; i >= 0; i-- { // backwards: who is too slow leaves
		if c := rm.clients[i]; c.audience&m.audience != 0 && !c.offer(m) {
			rm.remove(c)
		}
	}
}

func (rm *room) watched(by Audience) bool {
	for _, c := range rm.clients {
		if c.audience&by != 0 {
			return true
		}
	}
	return false
}

// encode contains a part that cannot be written: that is a bug in one part, and the others are to be seen.
func (rm *room) encode(eventType string, part Part) (m *message, ok bool) {
	m, err := safely(func() (*message, error) { return encode(eventType, part.Audience, part.Body) })
	if err != nil {
		rm.hub.config.Logger.Error("a part of a room cannot be encoded",
			slog.String("room", rm.name), slog.String("type", eventType), slog.Any("error", err))
		return nil, false
	}
	return m, true
}

// join adds c, whose first frame shows state. What the room was told of since that was read, c is sent after it.
func (rm *room) join(c *client, first *message, state State, now time.Time) (next time.Time) {
	rm.mu.Lock()
	defer rm.mu.Unlock()
	rm.merge(state, now) // the others may see it, too
	c.offer(first)
	if state.Version < rm.loaded.Load() {
		rm.catchUp(c, state)
	}
	c.place = len(rm.clients)
	rm.clients = append(rm.clients, c)
	if rm.closed {
		c.end(goingAway)
	}
	return rm.nextDue()
}

// catchUp sends c what is newer than its snapshot, but for what will be sent to all.
func (rm *room) catchUp(c *client, shown State) {
	parts := make(map[string]Part, len(shown.Parts))
	for _, part := range shown.Parts {
		parts[part.Key] = part
	}
	for key, s := range rm.slots {
		seen, ok := parts[key]
		if ok && s.part.Version <= seen.Version || rm.waiting[s] || c.audience&s.part.Audience == 0 {
			continue
		}
		eventType := s.part.Updated
		if !ok || seen.Stage != s.part.Stage {
			eventType = s.part.Entered
		}
		if eventType == "" {
			continue
		}
		if m, ok := rm.encode(eventType, s.part); ok {
			c.offer(m)
		}
	}
}

// leave removes c if it is still there.
func (rm *room) leave(c *client) {
	rm.mu.Lock()
	defer rm.mu.Unlock()
	if c.place < len(rm.clients) && rm.clients[c.place] == c {
		rm.remove(c)
	}
}

func (rm *room) remove(c *client) {
	last := len(rm.clients) - 1
	rm.clients[c.place] = rm.clients[last]
	rm.clients[c.place].place = c.place
	rm.clients[last] = nil
	rm.clients = rm.clients[:last]
}

// close sends what is still due and then everybody away.
func (rm *room) close(now time.Time) {
	rm.mu.Lock()
	defer rm.mu.Unlock()
	rm.closed = true
	for s := range rm.waiting {
		rm.send(s, s.part.Updated, now)
	}
	for _, c := range rm.clients {
		c.end(goingAway)
	}
}
