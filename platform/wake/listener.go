package wake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

func (b *Bus) runListener(ctx context.Context) {
	for wait := firstPause; ctx.Err() == nil; {
		began := time.Now()
		err := b.listen(ctx)
		if ctx.Err() != nil {
			return
		}
		b.config.Logger.WarnContext(ctx, "other replicas cannot be heard; reconnecting", slog.Any("error", err))
		if time.Since(began) > 2*longestWait { // it was a connection that held, and not a slow failure
			wait = firstPause
		}
		rest(ctx, wait)
		wait = min(2*wait, longestWait)
	}
}

// listen hears messages over one connection until that breaks or ctx ends.
func (b *Bus) listen(ctx context.Context) error {
	conn, err := b.connect(ctx)
	if err != nil {
		return err
	}
	defer hangUp(ctx, conn)
	// Whatever was said while nobody listened here is lost, so everybody looks for themselves.
	b.resync()
	select {
	case <-b.listening:
		b.config.Logger.InfoContext(ctx, "other replicas are heard again")
	default:
		close(b.listening)
	}
	for {
		if err := b.hear(ctx, conn); err != nil {
			return err
		}
	}
}

// connect returns a connection that listens. A server that accepts it and then says nothing is given up.
func (b *Bus) connect(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	conn, err := b.config.Database.Listen(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, "listen "+pgx.Identifier{b.config.Channel}.Sanitize()); err != nil {
		hangUp(ctx, conn)
		return nil, fmt.Errorf("listen: %w", err)
	}
	return conn, nil
}

func hangUp(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = conn.Close(ctx)
}

// hear waits for one message, and asks a connection that has been silent for long whether it still lives: one
// whose other end vanished without a word stays silent for ever.
func (b *Bus) hear(ctx context.Context, conn *pgx.Conn) error {
	wait, cancel := context.WithTimeout(ctx, b.config.Ping)
	defer cancel()
	notification, err := conn.WaitForNotification(wait)
	switch {
	case err == nil:
		b.receive(notification.Payload)
		return nil
	case ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded):
		return err
	}
	answer, cancelAnswer := context.WithTimeout(ctx, min(b.config.Ping, answerLimit))
	defer cancelAnswer()
	if err := conn.Ping(answer); err != nil {
		return fmt.Errorf("ping: %w", err)
	}
	return nil
}

// receive delivers what others said. Strangers may use the channel; what is not in our form is passed over.
func (b *Bus) receive(payload string) {
	origin, message, _ := strings.Cut(payload, " ")
	topic, key, ok := strings.Cut(message, " ")
	if ok && origin != b.origin {
		b.deliver(topic, key)
	}
}

func (b *Bus) resync() {
	b.mu.Lock()
	topics := make([]string, 0, len(b.subscribers))
	for topic := range b.subscribers {
		topics = append(topics, topic)
	}
	b.mu.Unlock()
	for _, topic := range topics {
		b.deliver(topic, "")
	}
}
