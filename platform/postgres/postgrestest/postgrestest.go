// Package postgrestest opens a migrated database of its own for a test.
//
//	db := postgrestest.Open(t)                                    // the platform's tables
//	db := postgrestest.Open(t, postgrestest.With(sales))          // and a module's
//
// The test works as the role that the program has in production, which is neither a superuser nor the owner.
package postgrestest

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/devpg/pgtest"
	"example.com/plenary/platform/postgres"
)

// Option changes what Open makes.
type Option func(*options)

type options struct {
	sets   []postgres.Migrations
	config postgres.Config
}

// With adds migrations to the platform's own.
func With(sets ...postgres.Migrations) Option {
	return func(o *options) { o.sets = append(o.sets, sets...) }
}

// Configured changes the database's configuration; URL is set by Open.
func Configured(change func(*postgres.Config)) Option {
	return func(o *options) { change(&o.config) }
}

// URL returns the address of a new, migrated database, for the program's role.
func URL(t testing.TB, sets ...postgres.Migrations) string {
	t.Helper()
	sets = append([]postgres.Migrations{postgres.PlatformMigrations()}, sets...)
	sum, err := postgres.Checksum(sets...)
	if err != nil {
		t.Fatal(err)
	}
	appRole := pgtest.AsApp(t, pgtest.Server(t).URL("postgres"))
	role, err := pgx.ParseConfig(appRole)
	if err != nil {
		t.Fatal(err)
	}
	owner := pgtest.Database(t, pgtest.Template{
		Name: "migrated", Version: sum,
		Build: func(ctx context.Context, url string) error {
			_, err := postgres.Migrate(ctx, postgres.MigrateConfig{URL: url, AppRole: role.User}, sets...)
			return err
		},
	})
	return pgtest.AsApp(t, owner)
}

// Open returns a new, migrated database. It is closed and dropped when the test ends.
func Open(t testing.TB, opts ...Option) *postgres.Database {
	t.Helper()
	var o options
	for _, option := range opts {
		option(&o)
	}
	o.config.URL = URL(t, o.sets...)
	return Connect(t, o.config)
}

// Connect opens a database that exists, as another replica would. It is closed when the test ends.
func Connect(t testing.TB, config postgres.Config) *postgres.Database {
	t.Helper()
	if config.Logger == nil {
		config.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	if config.MaxConns == 0 {
		config.MaxConns = 8
	}
	db, err := postgres.Open(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// Exec runs a statement in a transaction of its own and fails the test if it fails.
func Exec(t testing.TB, source *postgres.Source, sql string, args ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := source.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) error {
		_, err := tx.Exec(ctx, sql, args...)
		return err
	})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// Value reads one value and fails the test if it cannot.
func Value[T any](t testing.TB, r postgres.Reader, sql string, args ...any) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var value T
	if err := r.QueryRow(ctx, sql, args...).Scan(&value); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return value
}
