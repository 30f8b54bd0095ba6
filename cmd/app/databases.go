package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"example.com/plenary/migrations"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/postgres"
)

// physical is one database, with what lies in it.
type physical struct {
	db       *postgres.Database
	ownerURL string
	sets     []postgres.Migrations
}

// databases are where everything is stored: sources by module, and the physical databases that they lie in.
type databases struct {
	sources map[string]*postgres.Source // "platform" and the modules
	sandbox *postgres.Source            // somebody else's system: a connection of its own
	all     []*physical                 // the default one first
	logger  *slog.Logger
}

// openDatabases prepares the pools: modules without a database of their own share the default one.
func openDatabases(ctx context.Context, c Config, logger *slog.Logger) (*databases, error) {
	d := &databases{sources: map[string]*postgres.Source{}, logger: logger}
	for _, place := range []struct{ source, url, owner string }{
		{"platform", string(c.DatabaseURL), string(c.MigrationDatabaseURL)},
		{"sales", string(c.SalesDatabaseURL), string(c.SalesMigrationDatabaseURL)},
		{"conference", string(c.ConferenceDatabaseURL), string(c.ConferenceMigrationDatabaseURL)},
		{"engagement", string(c.EngagementDatabaseURL), string(c.EngagementMigrationDatabaseURL)},
	} {
		p, err := d.physical(ctx, c, place.source, place.url, place.owner)
		if err != nil {
			d.close()
			return nil, err
		}
		d.sources[place.source] = p.db.Source(place.source)
		if place.source != "platform" {
			p.sets = append(p.sets, postgres.Migrations{Source: place.source, Files: migrations.Of(place.source)})
		}
	}
	first := d.all[0]
	first.sets = append(first.sets, postgres.Migrations{Source: "sandbox", Files: migrations.Of("sandbox")})
	ledger, err := postgres.Open(ctx, postgres.Config{
		URL: string(c.DatabaseURL), Name: "sandbox", MaxConns: 4, ControlConns: 1, Application: "plenary sandbox gateway", Lease: c.Lease, Logger: logger,
	})
	if err != nil {
		d.close()
		return nil, err
	}
	d.sandbox = ledger.Source("sandbox")
	return d, nil
}

// physical returns the database at url, opening it if it is the first source there.
func (d *databases) physical(ctx context.Context, c Config, source, url, owner string) (*physical, error) {
	name := source
	if source == "platform" {
		name = "default"
	}
	if len(d.all) > 0 {
		if url == "" {
			return d.all[0], nil
		}
		for _, p := range d.all {
			if p.db.URL() == url {
				return p, nil
			}
		}
	}
	db, err := postgres.Open(ctx, postgres.Config{URL: url, Name: name, MaxConns: c.MaxConns, Lease: c.Lease, Logger: d.logger})
	if err != nil {
		return nil, err
	}
	p := &physical{db: db, ownerURL: cmp.Or(owner, url), sets: []postgres.Migrations{postgres.PlatformMigrations()}}
	d.all = append(d.all, p)
	return p, nil
}

func (d *databases) close() {
	for _, p := range d.all {
		p.db.Close()
	}
	if d.sandbox != nil {
		d.sandbox.Database().Close()
	}
}

func (d *databases) list() []*postgres.Database {
	all := make([]*postgres.Database, len(d.all))
	for i, p := range d.all {
		all[i] = p.db
	}
	return all
}

// places are the platform's places in all databases.
func (d *databases) places() []*postgres.Source {
	all := make([]*postgres.Source, len(d.all))
	for i, p := range d.all {
		all[i] = p.db.Source("platform")
	}
	return all
}

// prepare waits until every database answers, and migrates what is not migrated yet.
func (d *databases) prepare(ctx context.Context) error {
	return d.each(ctx, func(ctx context.Context, p *physical) error {
		err := p.check(ctx)
		if !fault.Is(err, "migrations_pending") {
			return err // nothing is missing, and the right to read was enough
		}
		return p.migrate(ctx, d.logger)
	})
}

// migrate brings every database up to date, and renews what the program's role is granted.
func (d *databases) migrate(ctx context.Context) error {
	return d.each(ctx, func(ctx context.Context, p *physical) error { return p.migrate(ctx, d.logger) })
}

// each does something to every database, patiently, and then makes sure that they are as many as it seems.
func (d *databases) each(ctx context.Context, do func(ctx context.Context, p *physical) error) error {
	seen := map[uuid.UUID]string{}
	for _, p := range d.all {
		if err := d.patiently(ctx, p, do); err != nil {
			return err
		}
		var id uuid.UUID
		if err := p.db.Control().QueryRow(ctx, `SELECT id FROM platform.database`).Scan(&id); err != nil {
			return fmt.Errorf("identify the database of %s: %w", p.db.Name(), err)
		}
		if other, twice := seen[id]; twice {
			return fault.Newf(fault.Invalid, "configuration",
				"the database URLs of %s and %s name the same database in two ways; leave one of them out", other, p.db.Name())
		}
		seen[id] = p.db.Name()
	}
	return nil
}

func (p *physical) migrate(ctx context.Context, logger *slog.Logger) error {
	worker, err := pgx.ParseConfig(p.db.URL())
	if err != nil {
		return err
	}
	_, err = postgres.Migrate(ctx, postgres.MigrateConfig{URL: p.ownerURL, AppRole: worker.User, Logger: logger}, p.sets...)
	return err
}

func (p *physical) check(ctx context.Context) error {
	return postgres.CheckMigrated(ctx, p.db.Control(), p.sets...)
}

// patiently tries again for as long as a database is away, and says so. Any other error is returned.
func (d *databases) patiently(ctx context.Context, p *physical, do func(ctx context.Context, p *physical) error) error {
	for pause := 250 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		err := do(ctx, p)
		if !fault.Is(err, "database_unavailable") || ctx.Err() != nil {
			return err
		}
		d.logger.WarnContext(ctx, "the database does not answer yet; trying again", slog.String("database", p.db.Name()), slog.Any("error", errors.Unwrap(err)))
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
