package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/fault"
)

// MigrateConfig says how to migrate one physical database.
type MigrateConfig struct {
	// URL connects as the owner of the schemas.
	URL string
	// AppRole is the role that the program works as. If it is not the owner it is granted the use of what
	// the migrations made, but not the right to change it. Empty: the owner.
	AppRole string
	Logger  *slog.Logger
}

// Migrate brings a database to the state that sets, in order, lead to, and returns how many migrations it
// applied. Several replicas may start at once: one works, the others wait. A migration that was applied with
// another text is a Conflict ("migration_changed"); what is newer than this binary is left alone.
func Migrate(ctx context.Context, config MigrateConfig, sets ...Migrations) (applied int, err error) {
	all, err := load(sets)
	if err != nil {
		return 0, err
	}
	cc, err := pgx.ParseConfig(config.URL)
	if err != nil {
		return 0, fault.New(fault.Invalid, "database_url", "the migration URL cannot be understood")
	}
	configureConn(cc, Config{Application: "plenary migrate"}.withDefaults())
	cc.RuntimeParams["statement_timeout"] = "0"
	cc.RuntimeParams["idle_in_transaction_session_timeout"] = "0"
	conn, err := pgx.ConnectConfig(ctx, cc)
	if err != nil {
		return 0, Fault(err)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackLimit)
		defer cancel()
		err = errors.Join(err, conn.Close(closing))
	}()
	if err := lockMigrations(ctx, conn); err != nil {
		return 0, err
	}
	recorded, err := prepareHistory(ctx, conn)
	if err != nil {
		return 0, err
	}
	for _, m := range all {
		if sum, done := recorded[m.key()]; done {
			if sum != m.checksum {
				return applied, fault.Newf(fault.Conflict, "migration_changed",
					"migration %s/%04d_%s was applied with another text; add a new one instead of changing it", m.source, m.version, m.name)
			}
			continue
		}
		if err := m.apply(ctx, conn); err != nil {
			return applied, fmt.Errorf("migration %s/%04d_%s: %w", m.source, m.version, m.name, Fault(err))
		}
		applied++
		if config.Logger != nil {
			config.Logger.InfoContext(ctx, "migration applied", slog.String("source", m.source),
				slog.Int("version", m.version), slog.String("name", m.name))
		}
	}
	return applied, grant(ctx, conn, config.AppRole, sets)
}

type migrationKey struct {
	source  string
	version int
}

func (m migration) key() migrationKey { return migrationKey{m.source, m.version} }

// lockMigrations takes a session lock by asking again and again: a session that waits inside the lock's
// statement would hold a snapshot, and CREATE INDEX CONCURRENTLY in the one that works would wait for it.
func lockMigrations(ctx context.Context, conn *pgx.Conn) error {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		var locked bool
		err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock(hashtextextended('plenary migrations', 0))`).Scan(&locked)
		if err != nil {
			return fmt.Errorf("lock the migrations: %w", Fault(err))
		}
		if locked {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fault.Wrap(ctx.Err(), fault.Unavailable, "migrations_locked", "another replica is still migrating the database")
		}
	}
}

// prepareHistory makes the table of what was applied, under the lock, and reads it.
func prepareHistory(ctx context.Context, conn *pgx.Conn) (map[migrationKey]string, error) {
	_, err := conn.Exec(ctx, `
		CREATE SCHEMA IF NOT EXISTS platform;
		CREATE TABLE IF NOT EXISTS platform.migrations (
			source       text        NOT NULL,
			version      int         NOT NULL,
			name         text        NOT NULL,
			checksum     text        NOT NULL,
			incompatible boolean     NOT NULL,
			applied_on   timestamptz NOT NULL DEFAULT now(),
			PRIMARY KEY (source, version)
		)`)
	if err != nil {
		return nil, fmt.Errorf("prepare the migration history: %w", Fault(err))
	}
	rows, err := conn.Query(ctx, `SELECT source, version, checksum FROM platform.migrations`)
	if err != nil {
		return nil, fmt.Errorf("read the migration history: %w", Fault(err))
	}
	recorded := map[migrationKey]string{}
	var key migrationKey
	var sum string
	_, err = pgx.ForEachRow(rows, []any{&key.source, &key.version, &sum}, func() error {
		recorded[key] = sum
		return nil
	})
	return recorded, Fault(err)
}

const recordMigration = `INSERT INTO platform.migrations (source, version, name, checksum, incompatible) VALUES ($1, $2, $3, $4, $5)`

func (m migration) apply(ctx context.Context, conn *pgx.Conn) error {
	record := []any{m.source, m.version, m.name, m.checksum, m.incompatible}
	if m.noTransaction {
		if _, err := conn.Exec(ctx, m.sql); err != nil {
			return err
		}
		_, err := conn.Exec(ctx, recordMigration, record...)
		return err
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, m.sql); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, recordMigration, record...)
		return err
	})
}

// grant lets the program's role use every schema of sets.
func grant(ctx context.Context, conn *pgx.Conn, role string, sets []Migrations) error {
	if role == "" || role == conn.Config().User {
		return nil
	}
	to := pgx.Identifier{role}.Sanitize()
	for _, set := range sets {
		schema := pgx.Identifier{set.Source}.Sanitize()
		_, err := conn.Exec(ctx, `GRANT USAGE ON SCHEMA `+schema+` TO `+to+`;
			GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA `+schema+` TO `+to+`;
			GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA `+schema+` TO `+to)
		if err != nil {
			return fmt.Errorf("grant the use of %s: %w", set.Source, Fault(err))
		}
	}
	_, err := conn.Exec(ctx, `REVOKE INSERT, UPDATE, DELETE ON platform.migrations FROM `+to)
	return Fault(err)
}
