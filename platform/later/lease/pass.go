package lease

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// pass is one round trip to the database: for each mechanism end leases and claim, then ask what is next.
type pass struct {
	runner   *Runner
	batch    pgx.Batch
	reads    []func(pgx.BatchResults) error
	buried   []func()
	claimed  []*item
	places   map[*Mechanism]int // taken in the gate
	due      time.Duration
	dueKnown bool
	suspects bool
	full     bool // every worker of some mechanism is busy: its end is the next wake-up
}

func (p *pass) do(ctx context.Context) error {
	r := p.runner
	p.places = map[*Mechanism]int{}
	for _, m := range r.mechanisms {
		p.queueReap(m)
		p.queueClaim(m)
	}
	for _, m := range r.mechanisms {
		p.queueDue(m)
	}
	sent := time.Now()
	err := r.source.Batch(ctx, &p.batch, func(results pgx.BatchResults) error {
		for _, read := range p.reads {
			if err := read(results); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		p.claimed = nil // whatever was read was not committed
	}
	used := map[*Mechanism]int{}
	for _, it := range p.claimed {
		used[it.mechanism]++
	}
	for m, n := range p.places {
		r.config.Gate.leave(n - used[m])
	}
	if err != nil {
		return fmt.Errorf("look for work: %w", err)
	}
	for _, tell := range p.buried {
		tell()
	}
	for _, it := range p.claimed {
		r.start(it, sent)
	}
	return nil
}

func (p *pass) queueReap(m *Mechanism) {
	p.batch.Queue(m.sql.reap)
	p.reads = append(p.reads, func(results pgx.BatchResults) error {
		rows, err := results.Query()
		if err != nil {
			return err
		}
		var id uuid.UUID
		var name string
		var crashes int
		var dead bool
		_, err = pgx.ForEachRow(rows, []any{&id, &name, &crashes, &dead}, func() error {
			log := p.runner.config.Logger.With(slog.String("mechanism", m.Name), slog.String("name", name),
				slog.String("id", id.String()), slog.Int("crashes", crashes))
			metrics := p.runner.metrics
			p.buried = append(p.buried, func() {
				metrics.crashed(m.Name, name)
				if dead {
					log.Error("dead letter", slog.String("reason", ReasonCrashLoop))
				} else {
					log.Warn("a lease ended without an outcome; the work is free again")
				}
			})
			return nil
		})
		return err
	})
}

func (p *pass) queueClaim(m *Mechanism) {
	r := p.runner
	r.mu.Lock()
	free := m.Workers - r.perMech[m]
	r.mu.Unlock()
	if free <= 0 {
		p.full = true
		return
	}
	if free = r.config.Gate.enter(free); free == 0 {
		return
	}
	p.places[m] = free
	p.batch.Queue(m.sql.claim, r.claimArgs(m, free))
	p.reads = append(p.reads, func(results pgx.BatchResults) error {
		items, err := r.readClaims(m, results)
		p.claimed = append(p.claimed, items...)
		p.full = p.full || len(items) == free
		return err
	})
}

func (p *pass) queueDue(m *Mechanism) {
	p.batch.Queue(m.sql.due, m.arguments())
	p.reads = append(p.reads, func(results pgx.BatchResults) error {
		var due *time.Duration
		var suspects bool
		if err := results.QueryRow().Scan(&due, &suspects); err != nil {
			return err
		}
		p.suspects = p.suspects || suspects
		if due != nil && (!p.dueKnown || *due < p.due) {
			p.due, p.dueKnown = *due, true
		}
		return nil
	})
}

func (r *Runner) claimArgs(m *Mechanism, limit int) pgx.NamedArgs {
	args := m.arguments()
	args["limit"], args["replica"], args["lease"] = limit, r.config.Replica.ID, r.config.Lease
	return args
}

func (r *Runner) readClaims(m *Mechanism, results pgx.BatchResults) ([]*item, error) {
	rows, err := results.Query()
	if err != nil {
		return nil, err
	}
	claimed, err := pgx.CollectRows(rows, scanWork)
	if err != nil {
		return nil, err
	}
	items := make([]*item, len(claimed))
	for i, w := range claimed {
		items[i] = &item{work: w, mechanism: m, renew: m.Renew(w.Name)}
	}
	return items, nil
}

// claimSuspect claims one row that may crash the process, once nothing else runs in it.
func (r *Runner) claimSuspect(ctx context.Context) ([]*item, error) {
	if !r.config.Gate.tryAlone(r) {
		return nil, nil // the last run to end wakes us
	}
	for _, m := range r.mechanisms {
		var batch pgx.Batch
		var items []*item
		sent := time.Now()
		batch.Queue(m.sql.suspect, r.claimArgs(m, 1))
		err := r.source.Batch(ctx, &batch, func(results pgx.BatchResults) (err error) {
			items, err = r.readClaims(m, results)
			return err
		})
		if err != nil {
			r.config.Gate.endAlone()
			return nil, fmt.Errorf("look for work that must run alone: %w", err)
		}
		for _, it := range items {
			it.alone = true
			r.start(it, sent)
			return items, nil
		}
	}
	r.config.Gate.endAlone()
	return nil, nil
}
