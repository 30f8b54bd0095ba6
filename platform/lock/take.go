package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/postgres"
)

const (
	// soonest bounds how often a lock is asked for that has expired but cannot be had yet: a transaction of its former
	// holder is still open.
	soonest = 250 * time.Millisecond
	// poll is the safety net under lost wake-ups where a lock expires later than that.
	poll = 30 * time.Second
)

// Taken says that somebody else holds a lock.
type Taken struct {
	Name   string
	Holder string
	// Remaining is when asking again makes sense: the time, by the database's clock, until the lock expires unless it is
	// renewed. It is never shorter than a quarter of a second.
	Remaining time.Duration
}

// Error names the lock and its holder, for the log.
func (e *Taken) Error() string {
	return fmt.Sprintf("the lock %q is taken by %q for another %v", e.Name, e.Holder, e.Remaining.Round(time.Millisecond))
}

// Unwrap gives it its kind: Conflict, "lock_taken".
func (e *Taken) Unwrap() error {
	return fault.New(fault.Conflict, "lock_taken", "somebody else is doing this at the moment")
}

// await takes a lock, if need be as soon as its holder lets go of it.
func (l *Locks) await(ctx context.Context, name, owner string, options Options) (*held, error) {
	if options.Wait <= 0 {
		return l.take(ctx, name, owner, options.TTL)
	}
	// Whatever is released from here on is heard, also between the question and the wait.
	freed := l.enlist(name)
	defer l.strike(freed)
	patience := time.NewTimer(options.Wait)
	defer patience.Stop()
	for {
		h, err := l.take(ctx, name, owner, options.TTL)
		taken, ok := errors.AsType[*Taken](err)
		if !ok {
			return h, err
		}
		expiry := time.NewTimer(min(taken.Remaining, poll))
		select {
		case <-freed:
		case <-expiry.C:
		case <-patience.C:
			expiry.Stop()
			return nil, err
		case <-ctx.Done():
			expiry.Stop()
			return nil, context.Cause(ctx)
		}
		expiry.Stop()
	}
}

// The statements of taking are one transaction. The fence is drawn only by whoever has the row's lock, so that for
// each name fences rise in the order of the takes.
const (
	makeRow = `INSERT INTO platform.locks (name, owner, fence, expires_on) VALUES ($1, $2, 0, now()) ON CONFLICT DO NOTHING`
	// A locked row is passed over: transactions that began under the lock are still open.
	takeRow = `
		WITH free AS (
			SELECT name FROM platform.locks WHERE name = $1 AND (expires_on <= now() OR owner = $2)
			FOR NO KEY UPDATE SKIP LOCKED)
		UPDATE platform.locks l
		SET owner = $2, fence = nextval('platform.lock_fences'), taken_on = now(), expires_on = now() + $3::interval
		FROM free WHERE l.name = free.name
		RETURNING l.fence`
	askRow = `SELECT owner, expires_on - now() FROM platform.locks WHERE name = $1`
	// What was left behind is kept for a while, so that a holder who was away, and whom nobody has missed, can go on.
	cleanUp = `
		DELETE FROM platform.locks WHERE name IN (
			SELECT name FROM platform.locks WHERE expires_on < now() - interval '1 hour' AND name <> $1
			ORDER BY expires_on LIMIT 10 FOR UPDATE SKIP LOCKED)`
)

// take takes a lock that is free, or its owner's, or returns a *Taken.
func (l *Locks) take(ctx context.Context, name, owner string, ttl time.Duration) (*held, error) {
	for {
		h := &held{locks: l, name: name, ttl: ttl}
		var holder string
		var remaining time.Duration
		err := l.send(ctx, func(batch *pgx.Batch) {
			h.sent, h.fence = time.Now(), 0
			batch.Queue(makeRow, name, owner)
			batch.Queue(takeRow, name, owner, ttl)
			batch.Queue(askRow, name)
			batch.Queue(cleanUp, name)
		}, func(results pgx.BatchResults) error {
			if _, err := results.Exec(); err != nil {
				return err
			}
			if err := results.QueryRow().Scan(&h.fence); err != nil && !errors.Is(err, pgx.ErrNoRows) {
				return err
			}
			return results.QueryRow().Scan(&holder, &remaining)
		})
		switch {
		case errors.Is(err, pgx.ErrNoRows): // it was released between two of the statements
			continue
		case err != nil:
			return nil, fmt.Errorf("take the lock %s: %w", name, err)
		case h.fence == 0:
			return nil, &Taken{Name: name, Holder: holder, Remaining: max(remaining, soonest)}
		}
		return h, nil
	}
}

// send sends a batch that may be repeated, and does so when a connection turns out to be dead: after a restart of
// the server every idle one is like that. Fences in ctx do not apply to it, and it needs no transaction of a module.
func (l *Locks) send(ctx context.Context, fill func(*pgx.Batch), read func(pgx.BatchResults) error) error {
	const tries = 6
	for try := 1; ; try++ {
		var batch pgx.Batch
		fill(&batch)
		err := l.control.Batch(ctx, &batch, read)
		if !fault.Is(err, "database_unavailable") || try == tries {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Duration(try-1) * 20 * time.Millisecond):
		}
	}
}

func (l *Locks) read(ctx context.Context, sql string, args ...any) ([]Holding, error) {
	rows, err := l.control.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("read locks: %w", err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Holding])
	if err != nil {
		return nil, fmt.Errorf("read locks: %w", postgres.Fault(err))
	}
	return all, nil
}

// Wake tells those in this process who wait for a lock that it may be free; an empty name means any. It never
// blocks, and is fit for a subscriber of a wake.Bus.
func (l *Locks) Wake(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for freed, wanted := range l.waiting {
		if name == "" || name == wanted {
			select {
			case freed <- struct{}{}:
			default: // it has yet to act on an earlier call
			}
		}
	}
}

func (l *Locks) enlist(name string) chan struct{} {
	freed := make(chan struct{}, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting[freed] = name
	return freed
}

func (l *Locks) strike(freed chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.waiting, freed)
}
