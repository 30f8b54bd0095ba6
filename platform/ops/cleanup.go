package ops

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/identity/login"
	"example.com/plenary/platform/later/internalcommand"
	"example.com/plenary/platform/later/lease"
	"example.com/plenary/platform/later/outbox"
	"example.com/plenary/platform/later/schedule"
	"example.com/plenary/platform/postgres"
)

// Keep says how long what is over is kept. Zero is the default.
type Keep struct {
	Finished time.Duration // commands and events that are done; default 14 days
	Runs     time.Duration // the history of jobs; default 90 days
}

func (k Keep) withDefaults() Keep {
	if k.Finished <= 0 {
		k.Finished = 14 * 24 * time.Hour
	}
	if k.Runs <= 0 {
		k.Runs = 90 * 24 * time.Hour
	}
	return k
}

// CleanFinishedWork removes commands, events and runs of jobs that ended long ago. Dead letters stay.
type CleanFinishedWork struct{}

// Policy needs no permission: nobody but the clock can start it.
func (CleanFinishedWork) Policy() command.Policy {
	return command.Policy{Name: "platform.clean_finished_work", Timeout: time.Hour}
}

// CleanExpiredKeys removes sessions and idempotency keys that nobody honours any more.
type CleanExpiredKeys struct{}

// Policy needs no permission: nobody but the clock can start it.
func (CleanExpiredKeys) Policy() command.Policy {
	return command.Policy{Name: "platform.clean_expired_keys", Timeout: 10 * time.Minute}
}

// registerJobs registers what the clock does for the platform.
func (c *Console) registerJobs(d Deps) {
	retry := internalcommand.Retry(lease.Retry{MaxAttempts: 5, Base: time.Minute, Max: 10 * time.Minute})
	internalcommand.Register(d.Commands, command.HandleOutside(d.Pipeline, c.databases[0], c.cleanFinishedWork), retry)
	internalcommand.Register(d.Commands, command.HandleOutside(d.Pipeline, c.databases[0], c.cleanExpiredKeys), retry)
	d.Jobs.Register("finished-work-cleanup", "20 3 * * *", CleanFinishedWork{})
	d.Jobs.Register("expired-keys-cleanup", "40 * * * *", CleanExpiredKeys{})
}

// cleanFinishedWork runs outside of a transaction, in batches that each commit: whatever an attempt has removed has
// gone, and the next one goes on.
func (c *Console) cleanFinishedWork(ctx context.Context, _ CleanFinishedWork) error {
	return c.sweep(ctx, "finished work",
		func(ctx context.Context, db *postgres.Source) (int, error) {
			return purgeCommands(ctx, db, "", c.keep.Finished)
		},
		func(ctx context.Context, db *postgres.Source) (int, error) {
			return outbox.Purge(ctx, db, "", c.keep.Finished)
		},
		func(ctx context.Context, db *postgres.Source) (int, error) {
			return outbox.PurgeInbox(ctx, db, c.databases, c.keep.Finished)
		},
		func(ctx context.Context, db *postgres.Source) (int, error) {
			return batches(ctx, db, func(ctx context.Context, tx *postgres.Tx) (int, error) {
				return schedule.PurgeRuns(ctx, tx, c.keep.Runs, lease.PurgeBatch)
			})
		})
}

func (c *Console) cleanExpiredKeys(ctx context.Context, _ CleanExpiredKeys) error {
	return c.sweep(ctx, "expired keys",
		func(ctx context.Context, db *postgres.Source) (int, error) {
			return batches(ctx, db, func(ctx context.Context, tx *postgres.Tx) (int, error) {
				return login.PurgeSessions(ctx, tx, lease.PurgeBatch)
			})
		},
		func(ctx context.Context, db *postgres.Source) (int, error) {
			return batches(ctx, db, func(ctx context.Context, tx *postgres.Tx) (int, error) {
				return command.PurgeKeys(ctx, tx, lease.PurgeBatch)
			})
		})
}

// purgeCommands notes the outcome of runs of jobs before it removes the commands that know it.
func purgeCommands(ctx context.Context, db *postgres.Source, source string, age time.Duration) (int, error) {
	if err := db.InTx(ctx, schedule.Settle); err != nil {
		return 0, err
	}
	return internalcommand.Rows.Purge(ctx, db, source, age)
}

// sweep removes things from all databases. What fails is told at the end: the others are swept all the same.
func (c *Console) sweep(ctx context.Context, what string, parts ...func(ctx context.Context, db *postgres.Source) (int, error)) error {
	total := 0
	var errs []error
	for _, db := range c.databases {
		for _, remove := range parts {
			n, err := remove(ctx, db)
			total += n
			errs = append(errs, err)
		}
	}
	c.logger.InfoContext(ctx, "swept", slog.String("what", what), slog.Int("removed", total))
	return errors.Join(errs...)
}

// batches removes until nothing is left, one short transaction after the other.
func batches(ctx context.Context, db *postgres.Source, remove func(ctx context.Context, tx *postgres.Tx) (int, error)) (total int, err error) {
	for n := lease.PurgeBatch; n == lease.PurgeBatch; total += n {
		err := db.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) (err error) {
			n, err = remove(ctx, tx)
			return err
		})
		if err != nil {
			return total, err
		}
	}
	return total, nil
}
