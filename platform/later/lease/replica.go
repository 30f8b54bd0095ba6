package lease

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/postgres"
)

// Replica identifies this process among those that share a database. Its id is made anew at each start, so a
// host name that is used again proves nothing.
type Replica struct {
	ID      uuid.UUID
	Host    string
	Version string
}

// ThisReplica returns a new identity for this process.
func ThisReplica(version string) Replica {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return Replica{ID: uuid.Must(uuid.NewV7()), Host: host, Version: version}
}

// electedKey lets one replica at a time look for rows that nobody can run.
const electedKey = `hashtextextended('plenary lease sweep', 0)`

func (m *Mechanism) prepareSweeps(fill func(string) string) {
	m.sql.observe = fill(`
		UPDATE {table} t SET unclaimable_since = CASE WHEN ` + liveName + ` THEN NULL ELSE now() END
		WHERE ` + freeRow + ` AND t.next_attempt_on <= now() AND (t.unclaimable_since IS NULL) <> ` + liveName)
	m.sql.bury = fill(`
		UPDATE {table} t SET dead_lettered_on = now(), dead_letter_reason = '` + ReasonUnresolvable + `',
			last_error = 'no live replica knows this name in this version'
		WHERE ` + freeRow + ` AND t.unclaimable_since <= now() - @grace::interval AND NOT ` + liveName + `
		RETURNING t.id, t.name`)
	m.sql.stats = fill(`
		SELECT
			(SELECT count(*) FROM {table} t WHERE ` + openRow + `),
			coalesce((SELECT extract(epoch FROM now() - min(t.next_attempt_on))::float8 FROM {table} t
				WHERE ` + freeRow + ` AND t.next_attempt_on <= now()), 0),
			(SELECT count(*) FROM {table} t WHERE t.claimed_until IS NOT NULL),
			(SELECT count(*) FROM {table} t WHERE t.dead_lettered_on IS NOT NULL),
			(SELECT count(*) FROM {table} t WHERE ` + freeRow + ` AND t.unclaimable_since IS NOT NULL)`)
}

func (r *Runner) beatRegularly(ctx context.Context) {
	every := min(r.config.Lease/3, 10*time.Second)
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		if err := r.Beat(ctx); err != nil && ctx.Err() == nil {
			r.config.Logger.WarnContext(ctx, "the heartbeat failed", slog.Any("error", err))
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Beat publishes that this replica lives and which names it runs, deals with due rows whose name nobody knows
// (one replica at a time does), and measures the tables.
func (r *Runner) Beat(ctx context.Context) error {
	var buried []func()
	err := r.source.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) error {
		buried = nil
		if err := r.publishNames(ctx, tx); err != nil {
			return err
		}
		var elected bool
		if err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock(`+electedKey+`)`).Scan(&elected); err != nil || !elected {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM platform.replicas WHERE heartbeat_on < now() - interval '1 day'`); err != nil {
			return err
		}
		for _, m := range r.mechanisms {
			tell, err := r.sweepUnknown(ctx, tx, m)
			if err != nil {
				return err
			}
			buried = append(buried, tell...)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, tell := range buried {
		tell()
	}
	return r.measure(ctx)
}

func (r *Runner) publishNames(ctx context.Context, tx *postgres.Tx) error {
	me := r.config.Replica
	_, err := tx.Exec(ctx, `
		INSERT INTO platform.replicas (id, host, version) VALUES ($1, $2, $3)
		ON CONFLICT (id) DO UPDATE SET heartbeat_on = now()`, me.ID, me.Host, me.Version)
	if err != nil {
		return err
	}
	for _, m := range r.mechanisms {
		_, err := tx.Exec(ctx, `
			INSERT INTO platform.replica_names (replica_id, mechanism, name, version)
			SELECT $1, $2, name, version FROM unnest($3::text[], $4::int[]) AS n(name, version)
			ON CONFLICT DO NOTHING`, me.ID, m.Name, m.names, m.versions)
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *Runner) sweepUnknown(ctx context.Context, tx *postgres.Tx, m *Mechanism) (buried []func(), err error) {
	args := pgx.NamedArgs{"mechanism": m.Name, "ttl": r.config.Lease, "grace": max(0, r.config.UnknownGrace)}
	if _, err := tx.Exec(ctx, m.sql.observe, args); err != nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, m.sql.bury, args)
	if err != nil {
		return nil, err
	}
	var id uuid.UUID
	var name string
	_, err = pgx.ForEachRow(rows, []any{&id, &name}, func() error {
		log := r.config.Logger.With(slog.String("mechanism", m.Name), slog.String("id", id.String()),
			slog.String("name", strings.ToValidUTF8(name, "?")))
		buried = append(buried, func() { log.Error("dead letter", slog.String("reason", ReasonUnresolvable)) })
		return nil
	})
	return buried, err
}

func (r *Runner) measure(ctx context.Context) error {
	for _, m := range r.mechanisms {
		var s Stats
		err := r.source.QueryRow(ctx, m.sql.stats).Scan(&s.Depth, &s.OldestDueAge, &s.InFlight, &s.DeadLetters, &s.Unclaimable)
		if err != nil {
			return err
		}
		r.metrics.measured(m.Name, s)
	}
	return nil
}

// sayGoodbye takes this replica off the list, so that nobody counts on it any longer.
func (r *Runner) sayGoodbye() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	err := r.source.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM platform.replicas WHERE id = $1`, r.config.Replica.ID)
		return err
	})
	if err != nil {
		r.config.Logger.Warn("this replica could not sign off; the others notice by its silence", slog.Any("error", err))
	}
}
