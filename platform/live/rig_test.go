package live_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/live"
	"example.com/plenary/platform/telemetry/logtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 20 * time.Second

const (
	audience   live.Audience = 1 << iota
	moderators               // see everything
)

// poll is what a part of the tests shows.
type poll struct {
	ID    string `json:"id"`
	Stage string `json:"stage"`
	N     int    `json:"n"`
	Text  string `json:"text"`
}

// store stands for the tables, which all replicas share.
type store struct {
	mu    sync.Mutex
	rooms map[string]live.State
}

func newStore() *store { return &store{rooms: map[string]live.State{}} }

// set changes a part and returns the room's new version.
func (s *store) set(room string, p poll, who live.Audience) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.rooms[room]
	state.Version++
	part := live.Part{
		Key: "poll:" + p.ID, Version: state.Version, Stage: p.Stage, Audience: who,
		Entered: "poll." + p.Stage, Updated: "poll.results-changed",
		Body: struct {
			Poll poll `json:"poll"`
		}{p},
	}
	parts := []live.Part{part}
	for _, other := range state.Parts {
		if other.Key != part.Key {
			parts = append(parts, other)
		}
	}
	state.Parts = parts
	s.rooms[room] = state
	return state.Version
}

type shown struct {
	Room struct {
		Version int64 `json:"version"`
		Polls   []any `json:"polls"`
	} `json:"room"`
}

func (s *store) load(_ context.Context, room string) (live.State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.rooms[room]
	var v shown
	v.Room.Version = state.Version
	for _, part := range state.Parts {
		v.Room.Polls = append(v.Room.Polls, part.Body)
	}
	state.Snapshot = v
	return state, nil
}

func (s *store) versions(_ context.Context, rooms []string) (map[string]int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]int64{}
	maps.Copy(all, map[string]int64{"not asked for": 9})
	for _, room := range rooms {
		all[room] = s.rooms[room].Version
	}
	return all, nil
}

// done is a transaction that has been committed.
type done struct{}

func (done) AfterCommit(fn func(context.Context)) { fn(context.Background()) }

// replica is one process.
type replica struct {
	*live.Hub
	*store
	t    testing.TB
	url  string
	log  *logtest.Buffer
	left chan struct{} // told when a connection has ended and is forgotten
	stop func()
	// snapshot replaces the store's load for who joins.
	snapshot func(ctx context.Context, room string) (live.State, error)
}

func newReplica(t testing.TB, s *store, settings ...func(*live.Config)) *replica {
	t.Helper()
	r := &replica{store: s, t: t, log: &logtest.Buffer{}, left: make(chan struct{}, 5000), snapshot: s.load}
	config := live.Config{
		Load: s.load, Versions: s.versions, Compare: time.Hour, Interval: time.Nanosecond,
		Logger: slog.New(slog.NewTextHandler(r.log, nil)), TrustedOrigins: []string{"https://app.example.test"},
	}
	for _, set := range settings {
		set(&config)
	}
	hub, err := live.New(config)
	if err != nil {
		t.Fatal(err)
	}
	r.Hub = hub
	server := httptest.NewServer(r.api())
	r.url = server.URL
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- hub.Run(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("Run: %v", err)
			}
		case <-time.After(patience):
			t.Error("Run does not end")
		}
	})
	t.Cleanup(func() { r.stop(); server.Close() })
	return r
}

// api serves the hub as a program would, behind all layers.
func (r *replica) api() http.Handler {
	type in struct {
		Code string `path:"code"`
		As   string `query:"as"`
	}
	api := httpx.NewAPI(httpx.Config{Log: slog.New(slog.NewTextHandler(r.log, nil))})
	route := httpx.Route{Method: "GET", Path: "/rooms/{code}/live", ID: "live", Summary: "live", LongLived: true}
	httpx.HandleRaw(api, route, func(w http.ResponseWriter, req *http.Request, in in) error {
		defer func() { r.left <- struct{}{} }()
		join := live.Join{Room: in.Code, Audience: audience}
		if in.As == "moderator" {
			join.Audience |= moderators
		}
		join.Snapshot = func(ctx context.Context) (live.State, error) { return r.snapshot(ctx, in.Code) }
		return r.Serve(w, req, join)
	})
	return api
}

// change changes a part and tells the hub of it.
func (r *replica) change(room string, p poll, urgent bool) {
	r.Changed(done{}, live.Change{Room: room, Version: r.set(room, p, live.Everyone), Urgent: urgent})
}

// viewer is a client. It requires the frames to be numbered one by one.
type viewer struct {
	*websocket.Conn
	t   testing.TB
	seq int
}

type frame struct {
	Type string `json:"type"`
	Seq  int    `json:"seq"`
	Poll poll   `json:"poll"`
	Room struct {
		Version int64 `json:"version"`
		Polls   []struct {
			Poll poll `json:"poll"`
		} `json:"polls"`
	} `json:"room"`
}

func (f frame) String() string { return fmt.Sprintf("%s %s %d", f.Type, f.Poll.ID, f.Poll.N) }

func (r *replica) dial(room string, header http.Header) (*websocket.Conn, *http.Response, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return websocket.Dial(ctx, r.url+"/api/v1/rooms/"+room, &websocket.DialOptions{HTTPHeader: header})
}

// join connects and takes the snapshot; room may be followed by a query.
func (r *replica) join(room string) (*viewer, frame) {
	r.t.Helper()
	v := r.connect(room)
	f := v.next()
	if f.Type != "snapshot" {
		r.t.Fatalf("the first frame is %s", f)
	}
	return v, f
}

func (r *replica) connect(room string) *viewer {
	r.t.Helper()
	path, query, _ := strings.Cut(room, "?")
	conn, _, err := r.dial(path+"/live?"+query, http.Header{"Origin": {r.url}})
	if err != nil {
		r.t.Fatal(err)
	}
	conn.SetReadLimit(10 << 20)
	r.t.Cleanup(func() { _ = conn.CloseNow() })
	return &viewer{Conn: conn, t: r.t}
}

func (v *viewer) read() (f frame, text string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	kind, data, err := v.Read(ctx)
	if err != nil {
		return f, "", err
	}
	if err := json.Unmarshal(data, &f); err != nil || kind != websocket.MessageText {
		v.t.Errorf("%s: %v", data, err)
	}
	if f.Type != "pong" {
		if v.seq++; f.Seq != v.seq {
			v.t.Errorf("number %d after %d", f.Seq, v.seq-1)
		}
	}
	return f, string(data), nil
}

func (v *viewer) next() frame {
	v.t.Helper()
	f, _, err := v.read()
	if err != nil {
		v.t.Fatal(err)
	}
	return f
}

func (v *viewer) sees(want ...string) {
	v.t.Helper()
	for _, w := range want {
		if got := v.next().String(); got != w {
			v.t.Fatalf("got %s, want %s", got, w)
		}
	}
}

// closes reads until the connection is closed and requires the code.
func (v *viewer) closes(code websocket.StatusCode) {
	v.t.Helper()
	for {
		if _, _, err := v.read(); err != nil {
			if websocket.CloseStatus(err) != code {
				v.t.Errorf("closed with %v, want %v", err, code)
			}
			return
		}
	}
}

func (v *viewer) say(kind websocket.MessageType, text string) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := v.Write(ctx, kind, []byte(text)); err != nil {
		v.t.Fatal(err)
	}
}

// leaves waits until a connection has ended on the server's side.
func (r *replica) leaves(within time.Duration) {
	r.t.Helper()
	select {
	case <-r.left:
	case <-time.After(within):
		r.t.Fatalf("no connection ended within %v", within)
	}
}
