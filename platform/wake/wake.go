// Package wake tells the replicas of a program that there is something to look at: work to claim, a cached
// read that went stale, a room whose state moved.
//
// A message is a topic and a key, never data; who hears it looks at the tables. It is told to the subscribers
// in this process at once, and to the other processes through PostgreSQL's NOTIFY on the default database:
//
//	tx.AfterCommitOrUnknown(func(context.Context) { bus.Send("work", "sales") })
//
// NOTIFY inside a transaction makes all committing transactions wait in one line, so it is sent outside of
// them, by one goroutine on a connection of its own kind: the first message leaves at once, and what arrives
// while a statement is under way goes with the next one, each message once.
//
// A message can be lost: with the process that was about to send it, or while a listener has no connection.
// So it is only ever a hint. The listener reconnects by itself and then sends each [Subscriber] an empty key,
// "anything may have changed"; and every loop that relies on hints also polls now and then.
package wake

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"regexp"
	"runtime/debug"
	"sync"
	"time"

	"example.com/plenary/platform/postgres"
)

// Subscriber is told the key of each message on its topic, or "" if anything may have changed. It is called by
// the sender's or the listener's goroutine and must return at once. A panic is logged and disturbs nobody.
type Subscriber func(key string)

// Config is what a Bus needs.
type Config struct {
	// Database is the default source's database: every process that belongs together uses the same.
	Database *postgres.Database
	// Channel is the NOTIFY channel; default "plenary".
	Channel string
	Logger  *slog.Logger
	// Ping is how often a silent connection is asked whether it still lives, and how long, up to 5 s, it has
	// for the answer; default 20 s.
	Ping time.Duration
}

// Bus sends and receives. It is safe for concurrent use.
type Bus struct {
	config Config
	origin string        // tells this bus's own messages when they come back
	kick   chan struct{} // tells the sender that something is pending

	listening chan struct{} // closed once the listener listens for the first time

	mu          sync.Mutex
	subscribers map[string][]Subscriber
	pending     pending
}

// New returns a bus; [Bus.Run] makes it reach other processes.
func New(config Config) *Bus {
	if config.Channel == "" {
		config.Channel = "plenary"
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.Ping == 0 {
		config.Ping = 20 * time.Second
	}
	return &Bus{
		config: config, origin: rand.Text()[:8], kick: make(chan struct{}, 1), listening: make(chan struct{}),
		subscribers: map[string][]Subscriber{}, pending: pending{},
	}
}

var validTopic = regexp.MustCompile(`^[a-z][a-z0-9._-]{0,62}$`)

func checkTopic(topic string) {
	if !validTopic.MatchString(topic) {
		panic(fmt.Sprintf("wake: %.80q is not a topic like work", topic))
	}
}

// Subscribe calls fn for every message on topic from now on. It panics for a topic that is none: a lower-case
// letter and up to 62 more, digits, dots, dashes and underscores.
func (b *Bus) Subscribe(topic string, fn Subscriber) {
	checkTopic(topic)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.subscribers[topic] = append(b.subscribers[topic], fn)
}

// Send tells the subscribers here before it returns, and the other processes soon after. An empty key means
// that anything may have changed, and so does, to the other processes, a key that is no valid text or longer
// than 512 bytes. Send does not wait for the database and cannot fail; it panics for what Subscribe refuses.
func (b *Bus) Send(topic, key string) {
	checkTopic(topic)
	b.deliver(topic, key)

	b.mu.Lock()
	b.pending.add(topic, key)
	b.mu.Unlock()
	b.kickSender()
}

func (b *Bus) deliver(topic, key string) {
	b.mu.Lock()
	subscribers := b.subscribers[topic]
	b.mu.Unlock()
	for _, fn := range subscribers {
		b.tell(topic, key, fn)
	}
}

func (b *Bus) tell(topic, key string, fn Subscriber) {
	defer func() {
		if p := recover(); p != nil {
			b.config.Logger.Error("a subscriber panicked", slog.String("topic", topic), slog.Any("panic", p),
				slog.String("stack", string(debug.Stack())))
		}
	}()
	fn(key)
}

// Listening is closed once the bus hears other processes for the first time.
func (b *Bus) Listening() <-chan struct{} { return b.listening }

// Run sends and listens until ctx ends, and then sends what is left, for a second at most. It returns nil. It
// is called once.
func (b *Bus) Run(ctx context.Context) error {
	var sender sync.WaitGroup
	sender.Go(func() { b.runSender(ctx) })
	b.runListener(ctx)
	sender.Wait()
	return nil
}
