package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"example.com/plenary/modules/engagement"
)

const demoSession = "01936d10-0000-7000-8000-000000000401"

// watcher is a browser that looks at a room.
type watcher struct {
	t    *testing.T
	conn *websocket.Conn
	seq  int
}

type frame struct {
	Type string
	Seq  int
	Room *engagement.RoomView
	Poll *engagement.PollView
}

func (c client) watch(t *testing.T, code string) *watcher {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, strings.Replace(c.base, "http", "ws", 1)+"/api/v1/engagement/rooms/"+code+"/live", &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer " + c.token}},
	})
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(1 << 20)
	t.Cleanup(func() { _ = conn.CloseNow() })
	return &watcher{t: t, conn: conn}
}

// next reads one frame, whose number is the next one.
func (w *watcher) next() (f frame) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Second)
	defer cancel()
	_, data, err := w.conn.Read(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := json.Unmarshal(data, &f); err != nil {
		w.t.Fatal(err)
	}
	if w.seq++; f.Seq != w.seq {
		w.t.Errorf("frame %d has number %d", w.seq, f.Seq)
	}
	return f
}

// until reads frames until one is of the kind and meets the condition. Polls that go back are noticed on the way.
func (w *watcher) until(kind string, done func(frame) bool) frame {
	w.t.Helper()
	votes := -1
	for {
		f := w.next()
		if f.Poll != nil {
			if f.Poll.TotalVotes < votes {
				w.t.Errorf("%s: the tally goes back from %d to %d", f.Type, votes, f.Poll.TotalVotes)
			}
			votes = f.Poll.TotalVotes
		}
		if f.Type == kind && done(f) {
			return f
		}
	}
}

// The life of a poll as the audience of another replica sees it: opened, voted on, closed.
func TestAPollIsSeenOnEveryReplica(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		one, two := w.start("RATE_LIMIT_USER", "off"), w.start("RATE_LIMIT_USER", "off")
		sam, alice := one.as("sam@example.com"), two.as("alice@example.com")
		code := sam.roomCode()
		alice.do("POST", "/engagement/rooms/"+code+"/join", nil, http.StatusOK, nil)
		screen := alice.watch(t, strings.ToLower(code))
		if f := screen.next(); f.Type != "snapshot" || f.Room == nil || f.Room.Code != code {
			t.Fatalf("%+v", f)
		}
		var poll engagement.PollView
		sam.do("POST", "/engagement/rooms/"+code+"/polls", map[string]any{"question": "Tea?", "options": []string{"yes", "no"}}, http.StatusCreated, &poll)
		open := func(action string) {
			t.Helper()
			status, _, answer, err := sam.try("POST", "/engagement/polls/"+poll.ID.String()+"/"+action, nil, "If-Match", fmt.Sprintf(`"%d"`, poll.Version))
			if err != nil || status != http.StatusOK {
				t.Fatalf("%s: %d %s %v", action, status, answer, err)
			}
			poll.Version++
		}
		open("open")
		screen.until("poll.opened", func(f frame) bool { return f.Poll.ID == poll.ID })
		for i := range 20 { // voters without an account, on both replicas
			voter := client{t: t, base: []*replica{one, two}[i%2].base}
			var joined struct{ VoterToken string }
			voter.do("POST", "/engagement/rooms/"+code+"/join", nil, http.StatusOK, &joined)
			voter.token = joined.VoterToken
			voter.do("PUT", "/engagement/polls/"+poll.ID.String()+"/ballot", map[string]any{"options": []string{poll.Options[i%2].ID.String()}}, http.StatusOK, nil)
		}
		screen.until("poll.results-changed", func(f frame) bool { return f.Poll.TotalVotes == 20 && f.Poll.Options[0].Votes == 10 })
		open("close")
		closed := screen.until("poll.closed", func(f frame) bool { return true })
		if closed.Poll.TotalVotes != 20 || closed.Poll.MyBallot != nil {
			t.Errorf("%+v", closed.Poll)
		}
		// The comparison every five seconds would heal it all; here the transactions themselves have said so.
		for i, r := range []*replica{one, two} {
			if pushed := r.app.hub.Stats().Changes.Pushed; pushed < 10 {
				t.Errorf("replica %d has told its hub of %d changes", i, pushed)
			}
		}
		late := client{t: t, base: two.base, token: alice.token}
		if status, _, answer, _ := late.try("PUT", "/engagement/polls/"+poll.ID.String()+"/ballot", map[string]any{"options": []string{poll.Options[0].ID.String()}}); status != http.StatusConflict {
			t.Errorf("after the close: %d %s", status, answer)
		}
		// At the stop everybody is told to come back.
		two.stop()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		for {
			if _, _, err := screen.conn.Read(ctx); err != nil {
				if websocket.CloseStatus(err) != websocket.StatusGoingAway {
					t.Errorf("closed with %v", err)
				}
				break
			}
		}
	})
}

func TestWhoMayWatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	r := w.start()
	code := r.roomCode()
	dial := func(header http.Header) int {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		conn, response, err := websocket.Dial(ctx, strings.Replace(r.base, "http", "ws", 1)+"/api/v1/engagement/rooms/"+code+"/live", &websocket.DialOptions{HTTPHeader: header})
		if err == nil {
			_ = conn.CloseNow()
		}
		return response.StatusCode
	}
	alice, sam := r.as("alice@example.com"), r.as("sam@example.com")
	own := r.base
	cookie := func(c client) string { return "plenary_session=" + c.token }
	for name, c := range map[string]struct {
		header http.Header
		want   int
	}{
		"nobody":                            {http.Header{"Origin": {own}}, 401},
		"one who has not joined":            {http.Header{"Authorization": {"Bearer " + alice.token}}, 403},
		"the host, by bearer":               {http.Header{"Authorization": {"Bearer " + sam.token}}, 101},
		"the host, by cookie":               {http.Header{"Origin": {own}, "Cookie": {cookie(sam)}}, 101},
		"the host, from a foreign page":     {http.Header{"Origin": {"https://evil.example"}, "Cookie": {cookie(sam)}}, 403},
		"the host, by cookie, from no page": {http.Header{"Cookie": {cookie(sam)}}, 403},
		"a made-up bearer":                  {http.Header{"Authorization": {"Bearer voter.xyz"}}, 401},
	} {
		if got := dial(c.header); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
