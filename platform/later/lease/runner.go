package lease

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/metric"

	"example.com/plenary/platform/postgres"
)

// Config is what a Runner needs.
type Config struct {
	Database   *postgres.Database
	Mechanisms []*Mechanism
	Gate       *Gate // shared by all runners of the process
	Replica    Replica
	Logger     *slog.Logger
	Meter      metric.Meter
	// Lease is how long a claim holds without being renewed; default 30 s.
	Lease time.Duration
	// Poll is the safety net under lost wake-ups; default 30 s.
	Poll time.Duration
	// Grace is how long running work may go on once the runner stops; default 10 s.
	Grace time.Duration
	// UnknownGrace is how long a due row whose name no live replica knows is kept before it is dead-lettered;
	// negative means not at all. Default 30 s.
	UnknownGrace time.Duration
	// WakeProcess, if set, wakes the other runners of the process: a place in the gate became free.
	WakeProcess func()
	// Announce, if set, wakes the other replicas: a claim was given back.
	Announce func()
}

// Runner claims and runs the work of one database.
type Runner struct {
	config     Config
	source     *postgres.Source
	mechanisms []*Mechanism
	metrics    *instruments

	wake    chan struct{}
	abandon chan struct{} // closed when the process has no more time for records

	mu      sync.Mutex
	running map[uuid.UUID]*item
	perMech map[*Mechanism]int
	idle    sync.WaitGroup

	stop   context.CancelCauseFunc // ends the contexts of all runs
	work   context.Context
	passes sync.Mutex // one pass at a time; guards timer
	next   time.Duration
}

// New returns a runner. It fails if a mechanism is not complete.
func New(config Config) (*Runner, error) {
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.Gate == nil {
		config.Gate = &Gate{}
	}
	if config.Replica.ID == uuid.Nil {
		config.Replica = ThisReplica("")
	}
	if config.WakeProcess == nil {
		config.WakeProcess = func() {}
	}
	if config.Announce == nil {
		config.Announce = func() {}
	}
	setDefault(&config.Lease, 30*time.Second)
	setDefault(&config.Poll, 30*time.Second)
	setDefault(&config.Grace, 10*time.Second)
	setDefault(&config.UnknownGrace, 30*time.Second)
	config.Logger = config.Logger.With(slog.String("database", config.Database.Name()))
	r := &Runner{
		config: config, source: config.Database.Control(), mechanisms: config.Mechanisms,
		wake: make(chan struct{}, 1), abandon: make(chan struct{}),
		running: map[uuid.UUID]*item{}, perMech: map[*Mechanism]int{},
	}
	r.work, r.stop = context.WithCancelCause(context.Background())
	for _, m := range config.Mechanisms {
		if err := m.prepare(); err != nil {
			return nil, err
		}
	}
	var err error
	r.metrics, err = newInstruments(config.Meter, config.Database.Name())
	return r, err
}

func setDefault(d *time.Duration, value time.Duration) {
	if *d == 0 {
		*d = value
	}
}

// Wake makes the runner look for work at once. It never blocks; many calls before the runner gets round to it
// are one.
func (r *Runner) Wake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Run works until ctx ends. Then it claims nothing more, lets what runs go on for Grace, cancels the rest,
// gives its claims back and returns nil.
func (r *Runner) Run(ctx context.Context) error {
	var renewals sync.WaitGroup
	upkeep, endUpkeep := context.WithCancel(context.WithoutCancel(ctx))
	renewals.Go(func() { r.renewRegularly(upkeep) })
	renewals.Go(func() { r.beatRegularly(ctx) })

	r.loop(ctx)
	r.windDown()
	endUpkeep()
	renewals.Wait()
	r.sayGoodbye()
	return nil
}

func (r *Runner) loop(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		case <-timer.C:
		}
		wait := time.Second
		if _, err := r.RunOnce(ctx); err == nil {
			r.passes.Lock()
			wait = r.next
			r.passes.Unlock()
		} else if ctx.Err() == nil {
			r.config.Logger.WarnContext(ctx, "could not look for work; trying again", slog.Any("error", err))
		}
		timer.Reset(wait)
	}
}

// soonest bounds how often a row that is due but cannot be had (locked, or a suspect that must wait) is
// looked at again.
const soonest = 250 * time.Millisecond

// RunOnce makes one pass: it ends leases that ran out, claims at most as many due rows as there are free
// workers, and hands them over. It does not wait for them. It returns the number of rows claimed.
func (r *Runner) RunOnce(ctx context.Context) (claimed int, err error) {
	r.passes.Lock()
	defer r.passes.Unlock()
	p := pass{runner: r}
	if err := p.do(ctx); err != nil {
		return 0, err
	}
	if p.suspects {
		alone, err := r.claimSuspect(ctx)
		if err != nil {
			return len(p.claimed), err
		}
		p.claimed = append(p.claimed, alone...)
	} else {
		r.config.Gate.giveUp(r)
	}
	r.next = r.config.Poll
	switch {
	case !p.dueKnown:
	case p.due > 0:
		r.next = min(r.next, p.due+time.Millisecond)
	case len(p.claimed) == 0 && !p.full:
		r.next = min(r.next, soonest)
	case !p.full:
		r.next = 0 // more became due meanwhile, and there are workers for it
	}
	return len(p.claimed), nil
}

// Drain works until nothing that this process knows is due any more and nothing runs: for tests, and for
// programs that work once and end.
func (r *Runner) Drain(ctx context.Context) error {
	for {
		n, err := r.RunOnce(ctx)
		if err != nil {
			return err
		}
		r.idle.Wait()
		if n == 0 {
			return nil
		}
	}
}

// windDown ends what runs: by itself within Grace, then by cancelling it, and at last by giving the claims
// back over its head. The fence keeps whatever still goes on after that from writing.
func (r *Runner) windDown() {
	done := make(chan struct{})
	go func() { r.idle.Wait(); close(done) }()
	select {
	case <-done:
		return
	case <-time.After(r.config.Grace):
		r.stop(errStopping)
	}
	select {
	case <-done:
		return
	case <-time.After(2 * time.Second):
		close(r.abandon)
		r.giveBack()
	}
}

func (r *Runner) giveBack() {
	r.mu.Lock()
	left := make([]*item, 0, len(r.running))
	for _, it := range r.running {
		left = append(left, it)
	}
	r.mu.Unlock()
	for _, it := range left {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		it.lost.Store(true)
		err := r.source.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) error {
			_, err := tx.Exec(ctx, it.mechanism.sql.release, pgx.NamedArgs{"id": it.work.ID, "claim": it.work.Claim})
			return err
		})
		cancel()
		r.config.Logger.Warn("work did not end in time; its claim was given back", slog.String("name", it.work.Name),
			slog.String("id", it.work.ID.String()), slog.Any("error", err))
	}
	r.config.Announce()
}
