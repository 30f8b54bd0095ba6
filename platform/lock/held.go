package lock

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/postgres"
)

// ErrLost says that a lock went to somebody else, or may have, while its holder was still at work.
var ErrLost error = fault.New(fault.Conflict, "lock_lost", "the lock was lost")

// releaseLimit bounds the release of a lock, which happens also when the holder's context has ended.
const releaseLimit = 5 * time.Second

// held is a lock from take to release.
type held struct {
	locks *Locks
	name  string
	fence int64
	ttl   time.Duration
	sent  time.Time // when the lock, or its renewal, was asked for: it lasts at least for ttl from then

	cancel context.CancelCauseFunc
	lost   atomic.Bool
	expiry *time.Timer // fires when no renewal has been answered for ttl
	stop   context.CancelFunc
	upkeep sync.WaitGroup
}

// begin keeps the lock, until end. It goes on when ctx has ended: the holder may need a moment to return.
func (h *held) begin(ctx context.Context, cancel context.CancelCauseFunc) {
	h.cancel = cancel
	h.expiry = time.AfterFunc(time.Until(h.sent.Add(h.ttl)), func() { h.lose(ctx, "the database has not answered in time") })
	upkeep, stop := context.WithCancel(context.WithoutCancel(ctx))
	h.stop = stop
	h.upkeep.Go(func() { h.renewRegularly(upkeep) })
}

// end releases the lock, wakes those who wait for it, and reports whether it was held until now, as far as can be
// known: when the database does not answer, nobody has said otherwise.
func (h *held) end(ctx context.Context) bool {
	h.stop()
	h.upkeep.Wait()
	h.expiry.Stop()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseLimit)
	defer cancel()
	var released int64
	err := h.locks.send(ctx, func(batch *pgx.Batch) {
		batch.Queue(`DELETE FROM platform.locks WHERE name = $1 AND fence = $2`, h.name, h.fence)
	}, func(results pgx.BatchResults) error {
		tag, err := results.Exec()
		released = tag.RowsAffected()
		return err
	})
	if err != nil {
		h.locks.config.Logger.WarnContext(ctx, "a lock could not be released; it ends by itself", slog.String("lock", h.name),
			slog.Duration("ttl", h.ttl), slog.Any("error", err))
		return !h.lost.Load()
	}
	if released == 0 {
		h.lose(ctx, "somebody else has taken it")
		return false
	}
	h.locks.Wake(h.name)
	if notify := h.locks.config.Notify; notify != nil {
		notify(h.name)
	}
	return !h.lost.Load()
}

func (h *held) lose(ctx context.Context, why string) {
	if h.lost.Swap(true) {
		return
	}
	h.cancel(ErrLost)
	h.locks.config.Logger.WarnContext(ctx, "a lock was lost before its holder had ended", slog.String("lock", h.name),
		slog.Int64("fence", h.fence), slog.String("why", why))
}

func (h *held) renewRegularly(ctx context.Context) {
	timer := time.NewTimer(h.ttl / 4)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		timer.Reset(h.renewOnce(ctx))
		if h.lost.Load() {
			return
		}
	}
}

// A row that is locked is skipped: a transaction under this very lock is open, or somebody is just taking it.
const renewRow = `
	WITH mine AS (
		SELECT name FROM platform.locks WHERE name = $1 AND fence = $2 FOR NO KEY UPDATE SKIP LOCKED),
	renewed AS (
		UPDATE platform.locks l SET expires_on = now() + $3::interval FROM mine WHERE l.name = mine.name RETURNING l.name)
	SELECT EXISTS (SELECT FROM renewed), EXISTS (SELECT FROM platform.locks WHERE name = $1 AND fence = $2)`

// renewOnce renews the lock and returns how long to wait before the next time: less than usual if it came to
// nothing, so that the lock finds the gap between two transactions that follow each other closely.
func (h *held) renewOnce(ctx context.Context) time.Duration {
	sent := time.Now()
	ctx, cancel := context.WithTimeout(ctx, h.ttl/4)
	defer cancel()
	var batch pgx.Batch
	batch.Queue(renewRow, h.name, h.fence, h.ttl)
	var renewed, mine bool
	err := h.locks.control.Batch(ctx, &batch, func(results pgx.BatchResults) error {
		return results.QueryRow().Scan(&renewed, &mine)
	})
	switch {
	case err != nil:
		if ctx.Err() == nil || context.Cause(ctx) == context.DeadlineExceeded { // and not because the holder has ended
			h.locks.config.Logger.WarnContext(ctx, "a lock could not be renewed", slog.String("lock", h.name), slog.Any("error", err))
		}
		return h.ttl / 20
	case !mine:
		h.lose(ctx, "somebody else has taken it")
		return 0
	}
	h.expiry.Reset(time.Until(sent.Add(h.ttl)))
	if !renewed {
		return h.ttl / 20
	}
	return h.ttl / 4
}

type fenceKey struct{}

// fenced returns the context of the holder's function.
func (h *held) fenced(ctx context.Context) context.Context {
	ctx = context.WithValue(ctx, fenceKey{}, h.fence)
	return postgres.WithFence(ctx, h.locks.config.Source.Database(), postgres.Statement{
		SQL:  `SELECT FROM platform.locks WHERE name = $1 AND fence = $2 FOR SHARE`,
		Args: []any{h.name, h.fence},
		Check: func(tag pgconn.CommandTag) error {
			if tag.RowsAffected() != 1 {
				return ErrLost
			}
			return nil
		},
	})
}

// Fence returns the number of the innermost lock that ctx's function holds, and 0 if it holds none. For each lock it
// rises with every take, so that a system that remembers the highest one can refuse a former holder.
func Fence(ctx context.Context) int64 {
	fence, _ := ctx.Value(fenceKey{}).(int64)
	return fence
}
