package live

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"example.com/plenary/platform/strictjson"
)

const (
	maxMessage = 4096                    // bytes, from a client
	closeLimit = 1500 * time.Millisecond // for what is left to say, and the closing handshake
)

// cause is why a connection ends. Without a code it is gone already.
type cause struct {
	code   websocket.StatusCode
	reason string
	flush  bool // what is queued is sent before
}

var (
	gone       = &cause{}
	goingAway  = &cause{code: websocket.StatusGoingAway, reason: "the server stops", flush: true}
	tooSlow    = &cause{code: websocket.StatusTryAgainLater, reason: "too slow"}
	tooBig     = &cause{code: websocket.StatusMessageTooBig, reason: "the message is too big"}
	unexpected = &cause{code: websocket.StatusPolicyViolation, reason: "only pings are expected"}
)

// client is one connection. Its writer owns seq; the goroutine that serves the request reads.
type client struct {
	hub      *Hub
	ws       *websocket.Conn
	raw      net.Conn // below ws; only for deadlines
	audience Audience
	place    int // in room.clients; guarded by room.mu

	queue  chan *message
	queued atomic.Int64 // bytes in queue
	pongs  chan struct{}
	ended  chan struct{} // closed once why is set
	why    *cause
	once   sync.Once
	seq    int64
}

func newClient(hub *Hub, ws *websocket.Conn, raw net.Conn, audience Audience) *client {
	return &client{
		hub: hub, ws: ws, raw: raw, audience: audience,
		queue: make(chan *message, hub.config.QueueFrames), pongs: make(chan struct{}), ended: make(chan struct{}),
	}
}

// offer queues m and never waits. A client whose queue is full is sent away: it reports false.
func (c *client) offer(m *message) bool {
	before := c.queued.Add(m.size()) - m.size()
	if before == 0 || before+m.size() <= c.hub.config.QueueBytes { // one frame always fits
		select {
		case c.queue <- m:
			return true
		default:
		}
	}
	c.end(tooSlow)
	return false
}

// end lets the writer close the connection. The first cause counts.
func (c *client) end(why *cause) {
	c.once.Do(func() {
		if why == tooSlow {
			c.hub.count.slow.Add(1)
		}
		c.why = why
		close(c.ended)
	})
}

// serve returns when the connection has been closed and nothing of it is left.
func (c *client) serve() {
	var writer sync.WaitGroup
	writer.Go(c.write)
	c.read()
	writer.Wait()
}

// read answers what the client says. While nobody reads, no pong is noticed either.
func (c *client) read() {
	c.ws.SetReadLimit(maxMessage)
	for {
		kind, data, err := c.ws.Read(context.Background()) // the writer's deadlines end it
		switch {
		case errors.Is(err, websocket.ErrMessageTooBig):
			c.end(tooBig)
			return
		case err != nil:
			c.end(gone)
			return
		case kind != websocket.MessageText || !isPing(data):
			c.end(unexpected)
			return
		}
		select {
		case c.pongs <- struct{}{}: // who pings faster than it reads the answers is not read meanwhile
		case <-c.ended:
			return
		}
	}
}

func isPing(data []byte) bool {
	var said struct {
		Type string `json:"type"`
	}
	return strictjson.Decode(data, &said) == nil && said.Type == "ping"
}

var pong = []byte(`{"type":"pong"}`)

// write is the only one that writes frames. It closes the connection when that ends.
func (c *client) write() {
	var pinging sync.WaitGroup
	defer pinging.Wait()
	defer c.finish()
	ping := time.NewTimer(c.untilPing())
	defer ping.Stop()
	for {
		select {
		case <-c.ended:
			return
		default: // before whatever else is ready
		}
		var err error
		select {
		case <-c.ended:
			return
		case m := <-c.queue:
			c.limitWrite()
			err = c.send(m)
		case <-c.pongs:
			c.limitWrite()
			err = c.ws.Write(context.Background(), websocket.MessageText, pong)
		case <-ping.C:
			pinging.Go(c.ping) // it waits for the answer; one at a time, because it waits less long than the timer
			ping.Reset(c.untilPing())
		}
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			c.end(tooSlow)
		case err != nil:
			c.end(gone)
		}
	}
}

// limitWrite bounds the next write. It is cheaper than a context with a timer for each frame.
func (c *client) limitWrite() { _ = c.raw.SetWriteDeadline(time.Now().Add(c.hub.config.WriteTimeout)) }

var buffers = sync.Pool{New: func() any { return new([]byte) }}

func (c *client) send(m *message) error {
	c.queued.Add(-m.size())
	c.seq++
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	*buffer = append((*buffer)[:0], m.head...)
	*buffer = strconv.AppendInt(*buffer, c.seq, 10)
	*buffer = append(*buffer, m.tail...)
	return c.ws.Write(context.Background(), websocket.MessageText, *buffer)
}

// untilPing varies, so that clients that came together are not pinged together for ever.
func (c *client) untilPing() time.Duration {
	d := c.hub.config.Ping
	return d - d/10 + rand.N(d/5+1)
}

func (c *client) ping() {
	ctx, cancel := context.WithTimeout(context.Background(), c.hub.config.PongTimeout)
	defer cancel()
	if err := c.ws.Ping(ctx); err != nil {
		c.end(gone)
	}
}

// finish closes the connection. Nobody needs to help: every read and write ends within closeLimit.
func (c *client) finish() {
	_ = c.raw.SetDeadline(time.Now().Add(closeLimit))
	if c.why.flush {
		c.flush()
	}
	if c.why.code != 0 {
		_ = c.ws.Close(c.why.code, c.why.reason)
		return
	}
	_ = c.ws.CloseNow()
}

func (c *client) flush() {
	for {
		select {
		case m := <-c.queue:
			if c.send(m) != nil {
				return
			}
		default:
			return
		}
	}
}
