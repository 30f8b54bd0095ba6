package live_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"

	"github.com/coder/websocket"

	"example.com/plenary/platform/live"
)

// counter is a room with one part, a number of votes. A module would have it in its tables.
type counter struct{ votes atomic.Int64 }

func (c *counter) state(context.Context, string) (live.State, error) {
	votes := c.votes.Load()
	return live.State{
		Version:  votes, // rises with each change
		Snapshot: map[string]any{"room": map[string]int64{"votes": votes}},
		Parts: []live.Part{{
			Key: "poll:7", Version: votes, Stage: "open", Audience: live.Everyone,
			Entered: "poll.opened", Updated: "poll.results-changed",
			Body: map[string]any{"poll": map[string]int64{"votes": votes}},
		}},
	}, nil
}

func (c *counter) versions(_ context.Context, rooms []string) (map[string]int64, error) {
	versions := map[string]int64{}
	for _, room := range rooms {
		versions[room] = c.votes.Load()
	}
	return versions, nil
}

func Example() {
	var lunch counter
	hub, err := live.New(live.Config{Load: lunch.state, Versions: lunch.versions})
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = hub.Run(ctx) })
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		join := live.Join{Room: "lunch", Audience: live.Everyone}
		join.Snapshot = func(ctx context.Context) (live.State, error) { return lunch.state(ctx, join.Room) }
		if err := hub.Serve(w, r, join); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
		}
	}))

	conn, _, err := websocket.Dial(ctx, server.URL, &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {server.URL}}})
	if err != nil {
		panic(err)
	}
	show := func() {
		_, frame, err := conn.Read(context.Background())
		if err != nil {
			fmt.Println(websocket.CloseStatus(err))
			return
		}
		fmt.Println(string(frame))
	}
	show()
	// In the transaction of a vote, where tx is a *postgres.Tx; here one that has been committed.
	hub.Changed(done{}, live.Change{Room: "lunch", Version: lunch.votes.Add(1)})
	show()
	cancel()
	show()

	running.Wait()
	server.Close()
	// Output:
	// {"type":"snapshot","seq":1,"room":{"votes":0}}
	// {"type":"poll.results-changed","seq":2,"poll":{"votes":1}}
	// StatusGoingAway
}
