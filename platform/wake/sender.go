package wake

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	maxKey      = 512                  // bytes; far below the 8000 that PostgreSQL takes
	maxKeys     = 1000                 // a topic, between two statements
	answerLimit = 5 * time.Second      // for one statement
	lastLimit   = time.Second          // for what is left when the bus stops
	breath      = 5 * time.Millisecond // between two statements: what is said in quick succession goes in one
	firstPause  = 100 * time.Millisecond
	longestWait = 5 * time.Second
)

// pending is what the next statement will send: keys by topic. The empty key stands for all others. That also
// bounds it: past maxKeys, one message that anything may have changed is cheaper for everybody.
type pending map[string]map[string]bool

func (p pending) add(topic, key string) {
	if len(key) > maxKey || !utf8.ValidString(key) || strings.ContainsRune(key, 0) {
		key = "" // PostgreSQL would refuse it, and with it whatever else the statement sends
	}
	keys := p[topic]
	switch {
	case keys[""] || keys[key]:
	case key == "" || len(keys) >= maxKeys:
		p[topic] = map[string]bool{"": true}
	case keys == nil:
		p[topic] = map[string]bool{key: true}
	default:
		keys[key] = true
	}
}

func (p pending) messages() []string {
	var messages []string
	for topic, keys := range p {
		for key := range keys {
			messages = append(messages, topic+" "+key)
		}
	}
	return messages
}

func (b *Bus) kickSender() {
	select {
	case b.kick <- struct{}{}:
	default: // a round is due already; it will take this message along
	}
}

func (b *Bus) runSender(ctx context.Context) {
	for wait := firstPause; ; {
		select {
		case <-ctx.Done():
			// What was sent by work that has just ended still goes out.
			if err := b.sendOnce(ctx, lastLimit); err != nil {
				b.couldNotSend(ctx, err)
			}
			return
		case <-b.kick:
		}
		err := b.sendOnce(ctx, answerLimit)
		if err == nil {
			wait = firstPause
			rest(ctx, breath)
			continue
		}
		b.couldNotSend(ctx, err)
		rest(ctx, wait)
		wait = min(2*wait, longestWait)
		b.kickSender()
	}
}

func (b *Bus) couldNotSend(ctx context.Context, err error) {
	b.config.Logger.WarnContext(ctx, "other replicas could not be woken", slog.Any("error", err))
}

// sendOnce tells the other processes all that is pending, in one statement that may take as long as limit,
// also if ctx has ended. Of what could not be sent it keeps the topics: the next statement says that anything
// may have changed there.
func (b *Bus) sendOnce(ctx context.Context, limit time.Duration) error {
	b.mu.Lock()
	batch := b.pending
	b.pending = pending{}
	b.mu.Unlock()
	if len(batch) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	err := b.notify(ctx, batch.messages())
	if err != nil {
		b.mu.Lock()
		for topic := range batch {
			b.pending.add(topic, "")
		}
		b.mu.Unlock()
	}
	return err
}

func (b *Bus) notify(ctx context.Context, messages []string) error {
	rows, err := b.config.Database.Control().Query(ctx,
		`SELECT pg_notify($1, $2 || ' ' || message) FROM unnest($3::text[]) message`, b.config.Channel, b.origin, messages)
	if err != nil {
		return err
	}
	rows.Close()
	return rows.Err()
}

// rest waits for d, give or take a half, so that replicas that failed together do not come back together.
func rest(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d/2 + rand.N(d)):
	}
}
