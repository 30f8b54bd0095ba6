package live

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/coder/websocket"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/httpx"
)

// Join is who comes into which room. That they may is for the caller to have found out.
type Join struct {
	Room     string
	Audience Audience
	// Address is what Limits.PerAddress counts by; default: httpx.ClientNetwork of the request.
	Address netip.Prefix
	// Snapshot reads what the first frame shows to this client: as Config.Load, with the Snapshot. Its parts are those
	// that Load returns.
	Snapshot func(ctx context.Context) (State, error)
}

// Serve upgrades the request, sends the snapshot and then what changes, and returns nil when the connection has ended. It
// returns an error only as long as it has written nothing:
//
//   - Forbidden ("live.origin"): a page of a foreign origin, or neither an Origin nor a bearer;
//   - RateLimited ("live.address_full"): too many connections from one address;
//   - Unavailable ("live.full", "live.room_full", "live.busy", "live.stopping");
//   - *httpx.StatusError: no WebSocket request, or one with a mistake;
//   - what Snapshot returned.
//
// The route is a long-lived one, without a deadline in its context.
func (h *Hub) Serve(w http.ResponseWriter, r *http.Request, join Join) error {
	if err := h.origins.check(r); err != nil {
		return err
	}
	if !join.Address.IsValid() {
		join.Address = httpx.ClientNetwork(r.Context())
	}
	rm, err := h.admit(join.Room, join.Address)
	if err != nil {
		h.count.refused.Add(1)
		return err
	}
	defer h.release(rm, join.Address)
	state, err := h.snapshot(r.Context(), join)
	if err != nil {
		return err
	}
	first, err := encode("snapshot", Everyone, state.Snapshot)
	if err != nil {
		return err
	}
	ws, raw, err := upgrade(w, r)
	if err != nil {
		return err
	}
	c := newClient(h, ws, raw, join.Audience)
	h.count.joined.Add(1)
	h.remind(rm, rm.join(c, first, state, time.Now()))
	defer rm.leave(c)
	c.serve()
	return nil
}

// snapshot lets only a few read at once: when a replica has gone, all of its clients come here together, and the
// database has other work.
func (h *Hub) snapshot(ctx context.Context, join Join) (State, error) {
	ctx, cancel := context.WithTimeout(ctx, h.config.LoadTimeout)
	defer cancel()
	select {
	case h.snapshots <- struct{}{}:
		defer func() { <-h.snapshots }()
	case <-ctx.Done():
		h.count.refused.Add(1)
		return State{}, refuse(fault.Unavailable, "live.busy", "too many are joining at once")
	}
	return join.Snapshot(ctx)
}

// admit takes a place for one connection, which release gives back.
func (h *Hub) admit(name string, address netip.Prefix) (*room, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	rm, limits := h.rooms[name], h.config.Limits
	switch {
	case h.stopping:
		return nil, refuse(fault.Unavailable, "live.stopping", "the server stops")
	case h.places >= limits.Total:
		return nil, refuse(fault.Unavailable, "live.full", "too many are connected")
	case rm != nil && rm.places >= limits.PerRoom:
		return nil, refuse(fault.Unavailable, "live.room_full", "too many are in this room")
	case address.IsValid() && h.addresses[address] >= limits.PerAddress:
		return nil, refuse(fault.RateLimited, "live.address_full", "too many are connected from this address")
	}
	if rm == nil {
		rm = newRoom(h, name)
		h.rooms[name] = rm
	}
	rm.places++
	h.places++
	h.addresses[address]++
	h.serving.Add(1)
	return rm, nil
}

func (h *Hub) release(rm *room, address netip.Prefix) {
	defer h.serving.Done()
	if h.giveBack(rm, address) {
		rm.unpark() // the pacer does not look at it any more
	}
}

func (h *Hub) giveBack(rm *room, address netip.Prefix) (last bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.places--
	if h.addresses[address]--; h.addresses[address] == 0 {
		delete(h.addresses, address)
	}
	if rm.places--; rm.places == 0 {
		delete(h.rooms, rm.name)
		delete(h.due, rm)
		return true
	}
	return false
}

func refuse(kind fault.Kind, code, message string) error {
	err := fault.New(kind, code, message)
	err.RetryAfter = 5 * time.Second
	return err
}

// upgrade returns the connection and what is below it, or an error and nothing written.
func upgrade(w http.ResponseWriter, r *http.Request) (*websocket.Conn, net.Conn, error) {
	h := &handshake{ResponseWriter: w, header: http.Header{}}
	// The origin has been checked, more strictly. Compression would cost each client a window of its own.
	ws, err := websocket.Accept(h, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err == nil {
		return ws, h.raw, nil
	}
	if h.status == 0 || h.status >= http.StatusInternalServerError {
		return nil, nil, err
	}
	refusal := &httpx.StatusError{Status: h.status, Code: "live.handshake", Message: "this is not a valid WebSocket request"}
	if h.status == http.StatusUpgradeRequired {
		refusal.Header = http.Header{"Upgrade": {"websocket"}, "Connection": {"Upgrade"}}
	}
	return nil, nil, refusal
}

// handshake keeps refusals for the caller to write, and the connection, whose deadlines are ours to set.
type handshake struct {
	http.ResponseWriter
	header http.Header
	status int
	raw    net.Conn
}

// Header returns what the answer will have once it is known to be an upgrade.
func (h *handshake) Header() http.Header { return h.header }

// Write swallows the text of a refusal.
func (h *handshake) Write(p []byte) (int, error) { return len(p), nil }

// WriteHeader lets only the upgrade through.
func (h *handshake) WriteHeader(status int) {
	if h.status = status; status != http.StatusSwitchingProtocols {
		return
	}
	for name, values := range h.header {
		h.ResponseWriter.Header()[name] = values
	}
	h.ResponseWriter.WriteHeader(status)
}

// Hijack takes the connection over.
func (h *handshake) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	raw, buffered, err := http.NewResponseController(h.ResponseWriter).Hijack()
	h.raw = raw
	return raw, buffered, err
}
