package live_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/plenary/platform/live"
	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/postgres/postgrestest"
	"example.com/plenary/platform/wake"
)

// process is a replica with a database connection and a bus of its own.
type process struct {
	*replica
	db *postgres.Database
}

func newProcess(t *testing.T, s *store, url string) *process {
	t.Helper()
	db := postgrestest.Connect(t, postgres.Config{URL: url})
	bus := wake.New(wake.Config{Database: db})
	r := newReplica(t, s, func(c *live.Config) { c.Exchange = live.OverBus(bus, "live") })
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = bus.Run(ctx) })
	t.Cleanup(func() { r.stop(); cancel(); running.Wait() })
	<-bus.Listening()
	return &process{replica: r, db: db}
}

func TestReplicasSeeEachOthersCommits(t *testing.T) {
	t.Parallel()
	s, url := newStore(), postgrestest.URL(t)
	one, two, idle := newProcess(t, s, url), newProcess(t, s, url), newProcess(t, s, url)
	here, _ := one.join("a")
	there, _ := two.join("a")

	errRefused := errors.New("refused")
	err := one.db.Source("engagement").InTx(t.Context(), func(_ context.Context, tx *postgres.Tx) error {
		one.Changed(tx, live.Change{Room: "a", Version: s.set("a", poll{ID: "0", Stage: "opened"}, moderators), Urgent: true})
		return errRefused
	})
	if !errors.Is(err, errRefused) || one.Stats().Changes.Pushed != 0 {
		t.Errorf("rolled back, and yet: %v %+v", err, one.Stats().Changes)
	}
	for n, from := range []*process{one, two, idle, one} { // idle has nobody in the room
		err := from.db.Source("engagement").InTx(t.Context(), func(_ context.Context, tx *postgres.Tx) error {
			from.Changed(tx, live.Change{Room: "a", Version: s.set("a", poll{ID: "1", Stage: "opened", N: n}, live.Everyone)})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		kind := map[bool]string{true: "opened", false: "results-changed"}[n == 0]
		here.sees(fmt.Sprintf("poll.%s 1 %d", kind, n))
		there.sees(fmt.Sprintf("poll.%s 1 %d", kind, n))
	}
}

func TestExchangeOverABus(t *testing.T) {
	t.Parallel()
	bus := wake.New(wake.Config{})
	one, two := live.OverBus(bus, "live"), live.OverBus(bus, "live")
	var heard []string
	one.Subscribe(func(room string, version int64) { heard = append(heard, fmt.Sprintf("one %q %d", room, version)) })
	two.Subscribe(func(room string, version int64) { heard = append(heard, fmt.Sprintf("two %q %d", room, version)) })
	one.Send("a room", 12)
	two.Send("b", 0)
	for _, strange := range []string{"x", "x 1", "x y z", "x 1 ", "x 99999999999999999999 b", ""} {
		bus.Send("live", strange)
	}
	if want := `[two "a room" 12 one "b" 0 one "" 0 two "" 0]`; fmt.Sprint(heard) != want {
		t.Errorf("heard %v, want %s", heard, want)
	}
}

// network is an exchange that loses, doubles, delays and shuffles what the replicas say.
type network struct {
	mu      sync.Mutex
	ears    []func(string, int64)
	delayed []func()
}

type port struct {
	*network
	self int
}

func (n *network) port() *port {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ears = append(n.ears, nil)
	return &port{n, len(n.ears) - 1}
}

func (p *port) Subscribe(fn func(string, int64)) { p.ears[p.self] = fn }

func (p *port) Send(room string, version int64) {
	p.mu.Lock()
	for i, ear := range p.ears {
		for range rand.N(3) {
			if i != p.self {
				p.delayed = append(p.delayed, func() { ear(room, version) })
			}
		}
	}
	rand.Shuffle(len(p.delayed), func(i, j int) { p.delayed[i], p.delayed[j] = p.delayed[j], p.delayed[i] })
	now := p.delayed[:len(p.delayed)/2]
	p.delayed = append([]func(){}, p.delayed[len(p.delayed)/2:]...)
	p.mu.Unlock()
	for _, tell := range now {
		tell()
	}
}

// Several writers, two replicas, reads that take their time, hints in any order, comparisons in between, clients that
// come and go: no client ever sees a number below one that it has seen, and all see the last one.
func TestNobodyEverSeesTimeGoBack(t *testing.T) {
	t.Parallel()
	const writers, changes, viewers = 4, 150, 6
	s, exchange := newStore(), &network{}
	slowLoad := func(ctx context.Context, room string) (live.State, error) {
		state, err := s.load(ctx, room)
		if rand.N(3) == 0 { // what was read grows old before it is told
			<-time.After(rand.N(4 * time.Millisecond))
		}
		return state, err
	}
	var replicas []*replica
	for range 2 {
		r := newReplica(t, s, func(c *live.Config) {
			c.Exchange, c.Load, c.Interval, c.Capacity = exchange.port(), slowLoad, 3*time.Millisecond, 2
		})
		r.snapshot = slowLoad
		replicas = append(replicas, r)
	}
	for id := range writers {
		s.set("a", poll{ID: fmt.Sprint(id), Stage: "opened"}, live.Everyone)
	}

	var watching, writing sync.WaitGroup
	for i := range viewers {
		r := replicas[i%len(replicas)]
		watching.Go(func() { watchUntil(t, r, writers, changes) })
	}
	for id := range writers {
		writing.Go(func() {
			for n := 1; n <= changes; n++ {
				r := replicas[rand.N(len(replicas))]
				r.change("a", poll{ID: fmt.Sprint(id), Stage: []string{"opened", "closed"}[n/50%2], N: n}, rand.N(10) == 0)
				if rand.N(20) == 0 {
					_, _ = r.CompareOnce(t.Context())
				}
				<-time.After(rand.N(2 * time.Millisecond))
			}
		})
	}
	writing.Wait()
	healed := make(chan struct{})
	go func() { watching.Wait(); close(healed) }()
	for waiting := true; waiting; {
		for _, r := range replicas {
			if _, err := r.CompareOnce(context.Background()); err != nil {
				t.Error(err)
			}
		}
		select {
		case <-healed:
			waiting = false
		case <-time.After(20 * time.Millisecond): // as the ticker would
		}
	}
}

// watchUntil watches, now and then from a new connection, until it has seen the last of everything.
func watchUntil(t *testing.T, r *replica, polls, last int) {
	for missing := polls; missing > 0; {
		v := r.connect("a")
		seen := map[string]int{}
		for frames := rand.N(60) + 1; frames > 0 && missing > 0; frames-- {
			f, _, err := v.read()
			if err != nil {
				t.Error(err)
				return
			}
			now := []poll{f.Poll}
			if f.Type == "snapshot" {
				now = nil
				for _, p := range f.Room.Polls {
					now = append(now, p.Poll)
				}
			}
			missing = polls
			for _, p := range now {
				if p.N < seen[p.ID] {
					t.Errorf("poll %s went back from %d to %d", p.ID, seen[p.ID], p.N)
				}
				seen[p.ID] = p.N
			}
			for _, n := range seen {
				if n == last {
					missing--
				}
			}
		}
		_ = v.CloseNow()
	}
}

// said is an exchange that notes what is sent.
type said chan string

func (said) Subscribe(func(string, int64)) {}

func (s said) Send(room string, version int64) { s <- fmt.Sprint(room, version) }

func (s said) next(t *testing.T) string {
	t.Helper()
	select {
	case hint := <-s:
		return hint
	case <-time.After(patience):
		t.Fatal("no hint is sent")
		return ""
	}
}

// A room that many changes come from is not read as often, and the others are told no more often either.
func TestBusyRoomIsReadNowAndThen(t *testing.T) {
	t.Parallel()
	s, hints := newStore(), make(said, 1000)
	var reads atomic.Int64
	r := newReplica(t, s, func(c *live.Config) {
		c.Interval, c.Exchange = time.Second, hints
		c.Load = func(ctx context.Context, room string) (live.State, error) {
			reads.Add(1)
			return s.load(ctx, room)
		}
	})
	v, _ := r.join("a")
	for n := range 500 {
		r.change("a", poll{ID: "1", Stage: "opened", N: n}, false)
	}
	for v.next().Poll.N != 499 {
	}
	if reads.Load() > 5 || len(hints) > 5 {
		t.Errorf("%d reads and %d hints for 500 changes within a moment", reads.Load(), len(hints))
	}
}

// What waits to be read here is known to nobody else.
func TestOthersAreToldOfWhatIsNotReadHereAnyMore(t *testing.T) {
	t.Parallel()
	for _, leave := range []func(*replica, *viewer){
		func(r *replica, _ *viewer) { r.stop() },
		func(_ *replica, v *viewer) { _ = v.CloseNow() },
	} {
		hints := make(said, 10)
		r := newReplica(t, newStore(), func(c *live.Config) { c.Interval, c.Exchange = time.Hour, hints })
		v, _ := r.join("a")
		r.change("a", poll{ID: "1", Stage: "opened"}, false)
		r.change("b", poll{ID: "1", Stage: "opened"}, false) // so that they do not become one
		if got := hints.next(t) + hints.next(t); got != "a1b1" {
			t.Fatalf("told %s", got)
		}
		r.change("a", poll{ID: "1", Stage: "closed"}, false) // waits: it was not called urgent
		r.change("b", poll{ID: "1", Stage: "closed"}, false)
		if got := hints.next(t); got != "b2" {
			t.Fatalf("told %s", got)
		}
		leave(r, v)
		if got := hints.next(t); got != "a2" {
			t.Errorf("told %s", got)
		}
	}
}
