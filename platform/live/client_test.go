package live_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"example.com/plenary/platform/live"
)

// flood sends long frames until a client is too slow for them, which good is not.
func (r *replica) flood(good *viewer) {
	r.t.Helper()
	text := strings.Repeat("x", 256<<10)
	for n := 0; r.Stats().Slow == 0; n++ {
		if n > 2000 {
			r.t.Fatal("nobody is too slow")
		}
		r.change("a", poll{ID: "1", Stage: "opened", N: n, Text: text}, true)
		if got := good.next().Poll.N; got != n {
			r.t.Fatalf("got %d, want %d", got, n)
		}
	}
}

func TestSlowClientIsClosedAndHoldsUpNobody(t *testing.T) {
	t.Parallel()
	r := newReplica(t, newStore(), func(c *live.Config) { c.QueueFrames, c.QueueBytes = 4, 1<<40 })
	slow, _ := r.join("a")
	good, _ := r.join("a")
	r.flood(good)
	slow.closes(websocket.StatusTryAgainLater)
	r.leaves(5 * time.Second)
	r.change("a", poll{ID: "2", Stage: "opened"}, true)
	good.sees("poll.opened 2 0")
	if s := r.Stats(); s.Slow != 1 || s.Clients != 1 {
		t.Errorf("%+v", s)
	}
}

func TestClientThatReadsNothingAtAllIsGoneWithin5s(t *testing.T) {
	t.Parallel()
	r := newReplica(t, newStore(), func(c *live.Config) { c.QueueFrames = 4 })
	r.join("a") // and never reads again
	good, _ := r.join("a")
	r.flood(good)
	r.leaves(5 * time.Second)
}

func TestQueueIsBoundedByBytesToo(t *testing.T) {
	t.Parallel()
	r := newReplica(t, newStore(), func(c *live.Config) { c.QueueBytes, c.QueueFrames = 100, 1<<20 })
	slow, _ := r.join("a") // whose snapshot may be longer
	good, _ := r.join("a")
	r.flood(good)
	slow.closes(websocket.StatusTryAgainLater)
}

func TestClientWithoutPongIsCut(t *testing.T) {
	t.Parallel()
	r := newReplica(t, newStore(), func(c *live.Config) { c.Ping, c.PongTimeout = 50*time.Millisecond, 25*time.Millisecond })
	r.join("a") // the library answers pings only while somebody reads
	r.leaves(5 * time.Second)
}

func TestClientWithPongsStays(t *testing.T) {
	t.Parallel()
	pings := make(chan struct{}, 100)
	r := newReplica(t, newStore(), func(c *live.Config) { c.Ping, c.PongTimeout = 400*time.Millisecond, 300*time.Millisecond })
	conn, _, err := websocket.Dial(t.Context(), r.url+"/api/v1/rooms/a/live", &websocket.DialOptions{
		HTTPHeader:     http.Header{"Origin": {r.url}},
		OnPingReceived: func(context.Context, []byte) bool { pings <- struct{}{}; return true },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	v := &viewer{Conn: conn, t: t}
	v.next()
	seen := make(chan frame, 1)
	go func() { seen <- v.next() }()
	for range 3 {
		<-pings
	}
	r.change("a", poll{ID: "1", Stage: "opened"}, true)
	if f := <-seen; f.Poll.ID != "1" {
		t.Errorf("got %s", f)
	}
}

func TestWhatAClientMaySay(t *testing.T) {
	t.Parallel()
	r := newReplica(t, newStore())
	for _, test := range []struct {
		kind websocket.MessageType
		text string
		code websocket.StatusCode
	}{
		{websocket.MessageText, `{"type":"subscribe"}`, websocket.StatusPolicyViolation},
		{websocket.MessageText, `{"type":"ping","room":"b"}`, websocket.StatusPolicyViolation},
		{websocket.MessageText, `ping`, websocket.StatusPolicyViolation},
		{websocket.MessageText, ``, websocket.StatusPolicyViolation},
		{websocket.MessageText, "{\"type\":\"ping\xff\"}", websocket.StatusPolicyViolation},
		{websocket.MessageBinary, `{"type":"ping"}`, websocket.StatusPolicyViolation},
		{websocket.MessageText, strings.Repeat(" ", 4097), websocket.StatusMessageTooBig},
		{websocket.MessageText, strings.Repeat(" ", 1<<20), websocket.StatusMessageTooBig},
	} {
		v, _ := r.join("a")
		v.say(test.kind, test.text)
		v.closes(test.code)
		r.leaves(5 * time.Second)
	}

	v, _ := r.join("a")
	v.say(websocket.MessageText, ` { "type" : "ping" } `)
	v.say(websocket.MessageText, `{"type":"ping"}`+strings.Repeat(" ", 4096-15))
	for range 2 {
		if _, text, err := v.read(); text != `{"type":"pong"}` || err != nil {
			t.Errorf("answered %s %v", text, err)
		}
	}
	r.change("a", poll{ID: "1", Stage: "opened"}, true)
	v.sees("poll.opened 1 0")
	_ = v.Close(websocket.StatusNormalClosure, "")
	r.leaves(5 * time.Second)
}

// A client that pings without reading the answers is neither read on nor stored.
func TestPingsWithoutReadingFillNothing(t *testing.T) {
	t.Parallel()
	r := newReplica(t, newStore())
	v, _ := r.join("a")
	for range 2000 {
		v.say(websocket.MessageText, `{"type":"ping"}`)
	}
	for range 2000 {
		if f := v.next(); f.Type != "pong" {
			t.Fatalf("got %s", f)
		}
	}
}

func TestStopTellsClientsToGoAndLetsNobodyIn(t *testing.T) {
	t.Parallel()
	r := newReplica(t, newStore(), func(c *live.Config) { c.Interval = time.Hour })
	var viewers []*viewer
	for range 20 {
		v, _ := r.join("a")
		viewers = append(viewers, v)
	}
	for n := 1; n <= 2; n++ { // the second ones would wait for an hour
		for id := range 10 {
			r.change("a", poll{ID: fmt.Sprint(id), Stage: "opened", N: n}, true)
			for _, v := range viewers {
				if n == 1 {
					v.sees(fmt.Sprintf("poll.opened %d 1", id))
				}
			}
		}
	}
	r.change("a", poll{ID: "last", Stage: "opened"}, true)
	for _, v := range viewers {
		v.sees("poll.opened last 0")
	}
	stopped := make(chan struct{})
	go func() { r.stop(); close(stopped) }()
	for _, v := range viewers {
		for range 10 {
			if f := v.next(); f.Type != "poll.results-changed" || f.Poll.N != 2 {
				t.Errorf("got %s", f)
			}
		}
		v.closes(websocket.StatusGoingAway)
	}
	<-stopped
	if s := r.Stats(); s.Clients != 0 || s.Rooms != 0 || s.Slow != 0 {
		t.Errorf("%+v", s)
	}
	_, response, err := r.dial("a/live", http.Header{"Origin": {r.url}})
	if err == nil || response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") == "" {
		t.Errorf("who comes after the end gets %v %v", response, err)
	}
	if err := r.Run(context.Background()); err == nil {
		t.Error("it runs again")
	}
}
