package lease

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/fault"
)

// item is a claimed row on its way through a worker.
type item struct {
	work      Work
	mechanism *Mechanism
	renew     bool
	alone     bool // holds the whole gate instead of one place in it
	ctx       context.Context
	cancel    context.CancelCauseFunc
	lost      atomic.Bool

	mu      sync.Mutex
	heldFor time.Time // by this process's clock, the lease ends no earlier
	begun   time.Time
}

// stopped reports whether the run was cancelled because the process stops.
func (it *item) stopped() bool { return errors.Is(context.Cause(it.ctx), errStopping) }

// start hands a row to a worker. sent is when the claim was asked for: the lease began no earlier.
func (r *Runner) start(it *item, sent time.Time) {
	it.ctx, it.cancel = context.WithCancelCause(r.work)
	it.heldFor, it.begun = sent.Add(r.config.Lease), time.Now()
	r.mu.Lock()
	r.running[it.work.ID] = it
	r.perMech[it.mechanism]++
	r.mu.Unlock()
	r.metrics.started(it)
	r.idle.Go(func() {
		defer r.ended(it)
		stamped, err := r.run(it)
		r.finish(it, stamped, err)
	})
}

func (r *Runner) run(it *item) (stamped bool, err error) {
	defer it.cancel(nil)
	defer func() {
		if p := recover(); p != nil {
			r.config.Logger.Error("panic outside of a handler", slog.String("name", it.work.Name), slog.String("stack", string(debug.Stack())))
			stamped, err = false, fault.New(fault.Internal, "panic", fmt.Sprintf("panic: %v", p))
		}
	}()
	return it.mechanism.Run(it.ctx, it.work)
}

func (r *Runner) ended(it *item) {
	r.mu.Lock()
	delete(r.running, it.work.ID)
	r.perMech[it.mechanism]--
	r.mu.Unlock()
	if it.alone {
		r.config.Gate.endAlone()
	} else {
		r.config.Gate.leave(1)
	}
	r.Wake()
	r.config.WakeProcess()
}

func (r *Runner) leaseOver(it *item) bool {
	it.mu.Lock()
	defer it.mu.Unlock()
	return time.Now().After(it.heldFor)
}

func (r *Runner) renewRegularly(ctx context.Context) {
	ticker := time.NewTicker(r.config.Lease / 4)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			r.RenewOnce(ctx)
		}
	}
}

// RenewOnce renews the leases of everything that runs and needs it, and cancels what has lost its lease. If
// the database does not answer, a run is cancelled when its lease is over by this process's clock.
func (r *Runner) RenewOnce(ctx context.Context) {
	held := map[*Mechanism][]*item{}
	r.mu.Lock()
	for _, it := range r.running {
		if it.renew {
			held[it.mechanism] = append(held[it.mechanism], it)
		}
	}
	r.mu.Unlock()
	for m, items := range held {
		if err := r.renew(ctx, m, items); err != nil {
			r.config.Logger.WarnContext(ctx, "leases could not be renewed", slog.String("mechanism", m.Name), slog.Any("error", err))
		}
		for _, it := range items {
			if r.leaseOver(it) {
				it.lose()
			}
		}
	}
}

func (it *item) lose() {
	it.lost.Store(true)
	it.cancel(ErrLost)
}

func (r *Runner) renew(ctx context.Context, m *Mechanism, items []*item) error {
	ids, claims := make([]uuid.UUID, len(items)), make([]int64, len(items))
	for i, it := range items {
		ids[i], claims[i] = it.work.ID, it.work.Claim
	}
	sent := time.Now()
	ctx, cancel := context.WithTimeout(ctx, r.config.Lease/4)
	defer cancel()
	still := map[uuid.UUID]bool{}
	var batch pgx.Batch
	batch.Queue(m.sql.renew, pgx.NamedArgs{"ids": ids, "claims": claims, "lease": r.config.Lease})
	err := r.source.Batch(ctx, &batch, func(results pgx.BatchResults) error {
		rows, err := results.Query()
		if err != nil {
			return err
		}
		var id uuid.UUID
		_, err = pgx.ForEachRow(rows, []any{&id}, func() error { still[id] = true; return nil })
		return err
	})
	if err != nil {
		return err
	}
	for _, it := range items {
		if !still[it.work.ID] {
			it.lose()
			continue
		}
		it.mu.Lock()
		it.heldFor = sent.Add(r.config.Lease)
		it.mu.Unlock()
	}
	return nil
}
