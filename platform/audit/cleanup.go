package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/postgres"
)

const (
	day         = 24 * time.Hour
	defaultKeep = 90 * day
	longestKeep = 3650 * day

	cleanupBatch = 1000                   // entries a transaction, so that none is long
	cleanupTries = 5                      // of one batch, while somebody holds the table
	cleanupPause = 200 * time.Millisecond // before the second try; then twice that, and so on
)

// Cleanup removes from all databases what the trail need not keep any longer. It is meant to be run by the clock,
// at night.
type Cleanup struct{}

// Policy leaves the time for a trail that has never been cleaned; what is not done by then is for the next run.
func (Cleanup) Policy() command.Policy {
	return command.Policy{Name: "platform.clean_audit_trail", Timeout: 30 * time.Minute}
}

// Deps is what a Cleaner needs.
type Deps struct {
	Pipeline  *command.Pipeline
	Databases []*postgres.Source // one place in each physical database, the default one first
	Keep      time.Duration      // how long entries are kept: 1 to 3650 days; 0 means 90 days
	Logger    *slog.Logger       // nil: nothing is noted
}

// Cleaner removes old entries.
type Cleaner struct {
	// Clean runs Cleanup, outside of a transaction. Unavailable ("database_busy") if somebody held a table for too
	// long, after the other databases have been cleaned. What was removed stays removed, also if the context ends
	// it midway: the next run goes on from there.
	Clean command.Func[Cleanup]

	databases []*postgres.Source
	keep      time.Duration
	logger    *slog.Logger
}

// NewCleaner returns a cleaner and registers its command. Invalid ("invalid_input") if Keep is out of range.
func NewCleaner(d Deps) (*Cleaner, error) {
	c := &Cleaner{databases: d.Databases, keep: cmp.Or(d.Keep, defaultKeep), logger: d.Logger}
	var v fault.Violations
	v.Check(c.keep >= day && c.keep <= longestKeep, "keep", "out_of_range", "must be 1 to 3650 days")
	if err := v.Err(); err != nil {
		return nil, err
	}
	if c.logger == nil {
		c.logger = slog.New(slog.DiscardHandler)
	}
	c.Clean = command.HandleOutside(d.Pipeline, d.Databases[0], c.clean)
	return c, nil
}

func (c *Cleaner) clean(ctx context.Context, _ Cleanup) error {
	var removed int
	var failures []error
	for _, place := range c.databases {
		n, err := c.cleanOne(ctx, place)
		removed += n
		if err != nil {
			failures = append(failures, fmt.Errorf("clean the audit trail of %s: %w", place.Database().Name(), err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	c.logger.InfoContext(ctx, "audit trail cleaned", slog.Int("removed", removed), slog.Duration("keep", c.keep),
		slog.Bool("complete", len(failures) == 0))
	return errors.Join(failures...)
}

func (c *Cleaner) cleanOne(ctx context.Context, place *postgres.Source) (removed int, err error) {
	for n := cleanupBatch; n == cleanupBatch; removed += n {
		if n, err = c.patiently(ctx, place); err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// patiently removes one batch, and tries again if somebody holds the table: a migration, most likely.
func (c *Cleaner) patiently(ctx context.Context, place *postgres.Source) (int, error) {
	for try := 1; ; try++ {
		n, err := purge(ctx, place, c.keep)
		if err == nil || try == cleanupTries || !fault.Is(err, "database_busy") {
			return n, err
		}
		timer := time.NewTimer(time.Duration(try) * cleanupPause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return 0, context.Cause(ctx)
		}
	}
}

// purge removes one batch in a transaction of its own. The wait for locks is bounded by the function itself.
func purge(ctx context.Context, place *postgres.Source, keep time.Duration) (n int, err error) {
	err = place.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) error {
		return tx.QueryRow(ctx, `SELECT platform.purge_audit_entries($1, $2)`, keep, cleanupBatch).Scan(&n)
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}
