package live

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/metric"

	"example.com/plenary/platform/later/channel"
)

const (
	flushLimit      = time.Second             // for the changes that wait when the hub stops
	maxWriteTimeout = 3500 * time.Millisecond // with closeLimit, the 5 s after which nobody is waited for
)

// Config is what a Hub needs. Its functions may be called by several goroutines at once.
type Config struct {
	Name string // of the channel, in logs and metrics; default "live"
	// Load reads how a room stands. Its ctx ends after LoadTimeout. An error or a panic costs no more than the time
	// until the next comparison.
	Load func(ctx context.Context, room string) (State, error)
	// Versions reads the versions of rooms; those that it does not know may be missing.
	Versions func(ctx context.Context, rooms []string) (map[string]int64, error)
	// Exchange reaches the other replicas; nil: there are none.
	Exchange Exchange
	// TrustedOrigins are other origins whose pages may connect, as "https://app.example.com".
	TrustedOrigins []string
	SecureOrigin   bool // TLS ends before us: the own origin is https even if requests come in plain
	Limits         Limits

	Interval     time.Duration // between two updates of one part; default 255 ms: 4 a second, however they travel
	Compare      time.Duration // between two comparisons; default 5 s
	LoadTimeout  time.Duration // for Load, Versions and Join.Snapshot; default 2 s
	WriteTimeout time.Duration // for one frame; default 3 s, at most 3.5 s
	Ping         time.Duration // about how often a client is pinged; default 25 s
	PongTimeout  time.Duration // for its answer, less than Ping; default 10 s
	Capacity     int           // of the channel of changes; default 1024
	QueueFrames  int           // that wait for one client at most; default 256
	QueueBytes   int64         // likewise; default 1 MiB
	Snapshots    int           // that are read at once; default 8

	Logger *slog.Logger
	Meter  metric.Meter
}

// Limits bound the connections of one replica. A hall full of people may share one address.
type Limits struct {
	Total      int // default 10,000
	PerRoom    int // default 5,000
	PerAddress int // default 2,000
}

// Hub has the rooms of one replica. It is safe for concurrent use.
type Hub struct {
	config     Config
	origins    origins
	changes    *channel.DropOldest[change]
	rearm      chan struct{}
	compareNow chan struct{}
	snapshots  chan struct{} // has a token for each that is being read
	serving    sync.WaitGroup
	running    atomic.Bool
	count      struct{ joined, refused, slow, broadcast atomic.Int64 }

	mu        sync.Mutex // guards what follows; taken before no other lock, held for a few steps
	rooms     map[string]*room
	addresses map[netip.Prefix]int
	places    int
	stopping  bool
	due       map[*room]time.Time // when the pacer looks at which room
	armed     time.Time           // when it will wake up; zero: when it is told to
}

// New returns a hub, which shows no change before Run runs. It fails on a configuration that cannot work.
func New(config Config) (*Hub, error) {
	config = config.withDefaults()
	switch {
	case config.Load == nil || config.Versions == nil:
		return nil, errors.New("live: Load and Versions are needed")
	case config.WriteTimeout > maxWriteTimeout:
		return nil, errors.New("live: a WriteTimeout of more than 3.5 s lets the slow stay too long")
	case config.PongTimeout >= config.Ping:
		return nil, errors.New("live: PongTimeout must be less than Ping")
	case min(int64(config.Interval), int64(config.Compare), int64(config.LoadTimeout), int64(config.WriteTimeout),
		int64(config.PongTimeout), int64(config.Capacity), int64(config.QueueFrames), config.QueueBytes,
		int64(config.Snapshots), int64(config.Limits.Total), int64(config.Limits.PerRoom), int64(config.Limits.PerAddress)) < 1:
		return nil, errors.New("live: a limit is negative")
	}
	h := &Hub{
		config: config, rearm: make(chan struct{}, 1), compareNow: make(chan struct{}, 1),
		snapshots: make(chan struct{}, config.Snapshots),
		rooms:     map[string]*room{}, addresses: map[netip.Prefix]int{}, due: map[*room]time.Time{},
	}
	var err error
	if h.origins, err = newOrigins(config.TrustedOrigins, config.SecureOrigin); err != nil {
		return nil, err
	}
	if h.changes, err = h.newChannel(); err != nil {
		return nil, err
	}
	if err := h.measure(config.Meter); err != nil {
		return nil, err
	}
	config.Exchange.Subscribe(h.hear)
	return h, nil
}

func (c Config) withDefaults() Config {
	fill(&c.Name, "live")
	fill(&c.Interval, 255*time.Millisecond)
	fill(&c.Compare, 5*time.Second)
	fill(&c.LoadTimeout, 2*time.Second)
	fill(&c.WriteTimeout, 3*time.Second)
	fill(&c.Ping, 25*time.Second)
	fill(&c.PongTimeout, 10*time.Second)
	fill(&c.Capacity, 1024)
	fill(&c.QueueFrames, 256)
	fill(&c.QueueBytes, 1<<20)
	fill(&c.Snapshots, 8)
	fill(&c.Limits.Total, 10_000)
	fill(&c.Limits.PerRoom, 5_000)
	fill(&c.Limits.PerAddress, 2_000)
	if c.Exchange == nil {
		c.Exchange = alone{}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

func fill[T comparable](value *T, otherwise T) {
	var zero T
	if *value == zero {
		*value = otherwise
	}
}

// Run shows changes until ctx ends. Then it lets nobody in any more, shows what is pending, closes all connections with
// 1001, and returns once they are closed, which takes 6 s at the very most. It is called once.
func (h *Hub) Run(ctx context.Context) error {
	if !h.running.CompareAndSwap(false, true) {
		return errors.New("live: Run is called once")
	}
	var loops sync.WaitGroup
	loops.Go(func() { h.runPacer(ctx) })
	loops.Go(func() { h.runComparison(ctx) })
	_, err := h.changes.Drain(ctx, h.handle)
	h.close()
	loops.Wait()
	h.serving.Wait()
	return err
}

func (h *Hub) close() {
	h.mu.Lock()
	h.stopping = true
	rooms := make([]*room, 0, len(h.rooms))
	for _, rm := range h.rooms {
		rooms = append(rooms, rm)
	}
	h.mu.Unlock()
	for _, rm := range rooms {
		rm.close(time.Now())
		rm.unpark()
	}
}

// room returns a room that somebody watches or is about to, or nil.
func (h *Hub) room(name string) *room {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.rooms[name]
}
