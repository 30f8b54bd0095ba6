package cache

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"example.com/plenary/platform/fault"
)

const defaultMaxEntries = 10_000

// Config says how much is kept. The zero value is a working cache.
type Config struct {
	// MaxEntries bounds how many results are kept; what was not asked for the longest makes room. 0: 10,000.
	MaxEntries int
	// Observe is told of each Get: a miss if it started a load, a hit if it did not, which includes joining one.
	// The callers' goroutines call it. A whole key is no metric label: there are as many as there are things.
	// nil: nobody is told.
	Observe func(key string, hit bool)
	// Now tells the time, for tests. nil: time.Now.
	Now func() time.Time
}

// Cache holds results by key. All methods, and Get, may be called by any number of goroutines. It starts no
// goroutine that outlives its callers' interest, and needs no closing.
type Cache struct {
	cfg Config

	mu      sync.Mutex // guards everything below
	entries map[string]*list.Element
	recent  *list.List // of *entry, the last asked for in front
	flights map[string]*flight
}

type entry struct {
	key     string
	value   any // *T of the Get that stored it
	expires time.Time
}

// New returns an empty cache.
func New(cfg Config) *Cache {
	if cfg.MaxEntries <= 0 {
		cfg.MaxEntries = defaultMaxEntries
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Cache{
		cfg: cfg, entries: map[string]*list.Element{}, recent: list.New(), flights: map[string]*flight{},
	}
}

// Get returns the value kept under key, or loads it and keeps it for ttl; with a ttl of 0 or less it is loaded
// and not kept. Callers who ask for a key that is being loaded wait for that one load and share its outcome.
// The value is shared: nobody may change it.
//
// load runs in a goroutine of its own and must not ask for its own key. Its context has the values of the first
// caller's, but neither its deadline nor its cancellation: it ends when nobody waits any more. A limit on its
// time belongs inside load.
//
// The error is ctx's own if ctx ended first, and otherwise what load returned; no failure is kept. A panic in
// load is an Internal fault ("load_panicked") whose cause has the stack. A blank key, and a key under which
// another type is kept, are Internal errors.
func Get[T any](
	ctx context.Context, c *Cache, key string, ttl time.Duration, load func(context.Context) (T, error),
) (T, error) {
	var none T
	if key == "" {
		return none, errors.New("cache: the key is blank")
	}
	kept, err := c.get(ctx, key, ttl, func(ctx context.Context) (any, error) {
		value, err := load(ctx)
		return &value, err
	})
	if err != nil {
		return none, err
	}
	value, ok := kept.(*T)
	if !ok {
		return none, fmt.Errorf("cache: %q holds a %T, not a %T", key, kept, value)
	}
	return *value, nil
}

// Evict removes the keys that are named or that begin with the segments named, and begins a new generation of
// them (see the package comment). It cannot fail on them; the error, an Internal fault ("bad_prefix"), tells of
// a prefix that is blank or has a colon at either end and was passed over. Such a prefix was put together from
// a part that was missing, and would evict far more than was meant.
func (c *Cache) Evict(prefixes ...string) error {
	var bad error
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, prefix := range prefixes {
		if prefix == "" || strings.HasPrefix(prefix, ":") || strings.HasSuffix(prefix, ":") {
			bad = fault.Newf(fault.Internal, "bad_prefix", "cache: nothing is evicted by the prefix %q", prefix)
			continue
		}
		c.evict(func(key string) bool {
			rest, ok := strings.CutPrefix(key, prefix)
			return ok && (rest == "" || rest[0] == ':')
		})
	}
	return bad
}

// Flush is Evict of all keys, for a process that does not know what it has missed.
func (c *Cache) Flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.evict(func(string) bool { return true })
}

// Len returns how many results are kept, those included whose time is up but that nobody has asked for since.
func (c *Cache) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.entries)
}

// lookup is called with mu held.
func (c *Cache) lookup(key string) (value any, ok bool) {
	element := c.entries[key]
	if element == nil {
		return nil, false
	}
	kept := element.Value.(*entry)
	if !c.cfg.Now().Before(kept.expires) {
		c.remove(element)
		return nil, false
	}
	c.recent.MoveToFront(element)
	return kept.value, true
}

// store is called with mu held. The key is not kept yet: its only flight took off because it was not.
func (c *Cache) store(key string, value any, ttl time.Duration) {
	if ttl <= 0 {
		return
	}
	c.entries[key] = c.recent.PushFront(&entry{key: key, value: value, expires: c.cfg.Now().Add(ttl)})
	if len(c.entries) > c.cfg.MaxEntries {
		c.remove(c.recent.Back())
	}
}

// evict is called with mu held. A flight that is taken out of the map is one that nobody joins any more and
// that stores nothing when it lands: that is the new generation.
func (c *Cache) evict(match func(key string) bool) {
	for key, element := range c.entries {
		if match(key) {
			c.remove(element)
		}
	}
	for key := range c.flights {
		if match(key) {
			delete(c.flights, key)
		}
	}
}

func (c *Cache) remove(element *list.Element) {
	c.recent.Remove(element)
	delete(c.entries, element.Value.(*entry).key)
}
