package lock

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/postgres"
)

// Limits of what can be asked for.
const (
	MaxName = 200 // bytes, of a lock's name and of an owner's
	MinTTL  = 100 * time.Millisecond
	MaxTTL  = 24 * time.Hour
)

// Config is what Locks need.
type Config struct {
	// Source lies in the database that has the locks: the one whose transactions they are to protect.
	Source *postgres.Source
	// Notify, if set, is told the name of each lock that becomes free, to pass it on to the Wake of every replica.
	// It must return at once.
	Notify func(name string)
	Logger *slog.Logger
}

// Locks are the locks of one database. They are safe for concurrent use.
type Locks struct {
	config  Config
	control *postgres.Source

	mu      sync.Mutex
	waiting map[chan struct{}]string // what each of those who wait in this process waits for
}

// New returns the locks of a database.
func New(config Config) *Locks {
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	return &Locks{config: config, control: config.Source.Database().Control(), waiting: map[chan struct{}]string{}}
}

// Options say how a lock is held.
type Options struct {
	// TTL is how long the lock outlives a holder that is not heard of any more, from MinTTL to MaxTTL. It does not
	// bound how long the function may take.
	TTL time.Duration
	// Wait is how long to wait for a lock that is taken; 0 is not at all.
	Wait time.Duration
}

// Hold takes the lock called name for owner, runs fn while it holds it, and releases it. An empty owner is one of
// its own, which takes nothing twice. fn runs on the calling goroutine; what it started must have ended when it
// returns. Its context ends early, with cause ErrLost, if the lock is lost.
//
// Hold returns fn's error. Otherwise nil means that the lock was held until fn had returned. A *Taken (Conflict,
// "lock_taken") means that somebody else has it, and fn did not run; ErrLost (Conflict, "lock_lost") that fn could
// not end under the lock. Invalid ("lock_invalid") refuses a name, owner or TTL; Unavailable and the cause of ctx
// come back as from any other access to the database.
func (l *Locks) Hold(ctx context.Context, name, owner string, options Options, fn func(ctx context.Context) error) (err error) {
	if owner == "" {
		owner = uuid.NewString()
	}
	if err := check(name, owner, options); err != nil {
		return err
	}
	h, err := l.await(ctx, name, owner, options)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	h.begin(ctx, cancel)
	// Deferred, so that a panic of fn, too, releases the lock on its way up.
	defer func() {
		held := h.end(ctx)
		cancel(nil)
		switch {
		case err == nil && !held:
			err = ErrLost
		case err != nil && h.lost.Load() && fault.As(err) != ErrLost:
			err = fmt.Errorf("%w; %w", ErrLost, err)
		}
	}()
	return fn(h.fenced(ctx))
}

func check(name, owner string, options Options) error {
	for _, text := range []string{name, owner} {
		if text == "" || len(text) > MaxName || !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return fault.Newf(fault.Invalid, "lock_invalid", "names of locks and owners have from 1 to %d bytes of text", MaxName)
		}
	}
	if options.TTL < MinTTL || options.TTL > MaxTTL {
		return fault.Newf(fault.Invalid, "lock_invalid", "the TTL of a lock is from %v to %v", MinTTL, MaxTTL)
	}
	return nil
}

// Holding is a lock as it is held now.
type Holding struct {
	Name      string
	Owner     string
	Fence     int64
	TakenOn   time.Time
	ExpiresOn time.Time
	Remaining time.Duration // until it expires unless it is renewed, by the database's clock
}

const holdings = `SELECT name, owner, fence, taken_on, expires_on, expires_on - now() FROM platform.locks WHERE expires_on > now()`

// Current returns who holds a lock, or false if nobody does.
func (l *Locks) Current(ctx context.Context, name string) (Holding, bool, error) {
	all, err := l.read(ctx, holdings+` AND name = $1`, name)
	if err != nil || len(all) == 0 {
		return Holding{}, false, err
	}
	return all[0], true, nil
}

// All lists up to limit locks that are held, by name.
func (l *Locks) All(ctx context.Context, limit int) ([]Holding, error) {
	return l.read(ctx, holdings+` ORDER BY name LIMIT $1`, limit)
}
