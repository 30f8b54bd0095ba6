package schedule

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"

	"example.com/plenary/platform/postgres"
)

// ClockConfig says for which database a Clock works, and how.
type ClockConfig struct {
	Database *postgres.Database
	Logger   *slog.Logger
	Meter    metric.Meter
	// Poll is the safety net under lost wake-ups and a clock that is put right; default 30 s.
	Poll time.Duration
}

// Clock starts the jobs whose rows lie in one database. Any number of replicas may run one: each occurrence is
// decided once.
type Clock struct {
	schedule *Schedule
	database *postgres.Database
	logger   *slog.Logger
	metrics  instruments
	poll     time.Duration
	wake     chan struct{}
}

// NewClock returns a clock. It panics on instruments that cannot be made.
func (s *Schedule) NewClock(config ClockConfig) *Clock {
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.Meter == nil {
		config.Meter = metricnoop.Meter{}
	}
	if config.Poll <= 0 {
		config.Poll = 30 * time.Second
	}
	return &Clock{
		schedule: s, database: config.Database, logger: config.Logger, metrics: newInstruments(config.Meter),
		poll: config.Poll, wake: make(chan struct{}, 1),
	}
}

// Start writes down what the program says about its jobs. A job whose schedule is new is planned from now on;
// any other keeps its plan, so that a restart neither skips nor repeats anything.
func (c *Clock) Start(ctx context.Context) error {
	return c.schedule.save(ctx, c.database)
}

// Wake makes Run look again at once. It may be called at any time, by anyone.
func (c *Clock) Wake() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Run starts what is due until ctx ends, and returns nil.
func (c *Clock) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.wake:
		case <-timer.C:
		}
		wait, err := c.RunOnce(ctx)
		if err != nil && ctx.Err() == nil {
			c.logger.WarnContext(ctx, "could not look at the jobs; trying again", slog.String("database", c.database.Name()), slog.Any("error", err))
			wait = time.Second
		}
		timer.Reset(wait)
	}
}

// RunOnce decides everything that is due, puts plans right that are not what they should be, notes what has
// ended, and returns how long it is until the next occurrence, or Poll if that is sooner.
func (c *Clock) RunOnce(ctx context.Context) (wait time.Duration, err error) {
	if err := c.settle(ctx); err != nil {
		return 0, err
	}
	stored, err := c.read(ctx)
	if err != nil {
		return 0, err
	}
	again := false
	for _, row := range stored {
		if !row.due() && !row.stale() {
			continue
		}
		made, err := c.decide(ctx, c.schedule.jobs[row.name])
		if err != nil { // the others are none the worse for it
			c.logger.ErrorContext(ctx, "a job could not be started; trying again", slog.String("job", row.name), slog.Any("error", err))
			again = true
			continue
		}
		c.metrics.decided(ctx, row.name, made)
	}
	if again {
		return time.Second, nil
	}
	if stored, err = c.read(ctx); err != nil {
		return 0, err
	}
	wait = c.poll
	for _, row := range stored {
		if row.next != nil {
			wait = min(wait, max(row.next.Sub(row.now)+time.Millisecond, soonest))
		}
	}
	return wait, nil
}

// soonest bounds how often a job that is due but that somebody else holds is looked at again.
const soonest = 10 * time.Millisecond

func (c *Clock) read(ctx context.Context) ([]row, error) {
	rows, err := c.database.Control().Query(ctx, `SELECT `+rowColumns+` FROM platform.jobs j WHERE j.name = ANY($1) ORDER BY j.next_run_on, j.name`,
		c.schedule.in(c.database))
	if err != nil {
		return nil, fmt.Errorf("read jobs: %w", err)
	}
	stored, err := pgx.CollectRows(rows, scanRow)
	if err != nil {
		return nil, fmt.Errorf("read jobs: %w", err)
	}
	return stored, nil
}
