package postgres

import (
	"cmp"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/fault"
)

//go:embed migrations/*.sql
var platformFiles embed.FS

// Migrations is the history of one source's schema: files named 0001_what.sql, numbered without gaps.
//
// A file runs in a transaction of its own, together with the record that it ran. Comment lines at its top
// may say otherwise:
//
//	-- migrate: no transaction   for CREATE INDEX CONCURRENTLY; the file must bear being run twice
//	-- migrate: incompatible     older binaries must refuse to run on the result
type Migrations struct {
	Source string // "sales"; the platform's own is "platform"
	Files  fs.FS  // the .sql files lie at its root
}

// PlatformMigrations is the history of the schema "platform", which every database has.
func PlatformMigrations() Migrations {
	files, err := fs.Sub(platformFiles, "migrations")
	if err != nil {
		panic(err) // the folder is embedded above
	}
	return Migrations{Source: "platform", Files: files}
}

type migration struct {
	source, name  string
	version       int
	sql, checksum string
	noTransaction bool
	incompatible  bool
}

var (
	fileName  = regexp.MustCompile(`^([0-9]{4})_([a-z0-9_]+)\.sql$`)
	directive = regexp.MustCompile(`(?m)^-- migrate: (.+?)\s*$`)
)

func (m Migrations) load() ([]migration, error) {
	names, err := fs.Glob(m.Files, "*.sql")
	if err != nil {
		return nil, fmt.Errorf("list the migrations of %s: %w", m.Source, err)
	}
	slices.Sort(names)
	var loaded []migration
	for i, name := range names {
		parts := fileName.FindStringSubmatch(path.Base(name))
		if parts == nil {
			return nil, fmt.Errorf("migration %s/%s: the name must look like 0001_what.sql", m.Source, name)
		}
		text, err := fs.ReadFile(m.Files, name)
		if err != nil {
			return nil, fmt.Errorf("migration %s/%s: %w", m.Source, name, err)
		}
		sum := sha256.Sum256(text)
		next := migration{source: m.Source, name: parts[2], sql: string(text), checksum: hex.EncodeToString(sum[:])}
		next.version, _ = strconv.Atoi(parts[1])
		if next.version != i+1 {
			return nil, fmt.Errorf("migration %s/%s: number %d is expected here", m.Source, name, i+1)
		}
		for _, d := range directive.FindAllStringSubmatch(next.sql, -1) {
			switch d[1] {
			case "no transaction":
				next.noTransaction = true
			case "incompatible":
				next.incompatible = true
			default:
				return nil, fmt.Errorf("migration %s/%s: there is no directive %q", m.Source, name, d[1])
			}
		}
		loaded = append(loaded, next)
	}
	return loaded, nil
}

func load(sets []Migrations) ([]migration, error) {
	var all []migration
	for _, set := range sets {
		loaded, err := set.load()
		if err != nil {
			return nil, err
		}
		all = append(all, loaded...)
	}
	return all, nil
}

// Checksum identifies the state that sets lead to.
func Checksum(sets ...Migrations) (string, error) {
	all, err := load(sets)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, m := range all {
		fmt.Fprintln(h, m.source, m.version, m.checksum)
	}
	return hex.EncodeToString(h.Sum(nil))[:16], nil
}

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

// MigrationState is how one migration stands in a database.
type MigrationState struct {
	Source    string
	Version   int
	Name      string
	AppliedOn *time.Time // nil: pending
	Known     bool       // false: applied by a newer binary
	Refuses   bool       // a newer migration that this binary must not run on
}

// MigrationStates compares a database with sets. It needs no more than the right to read.
func MigrationStates(ctx context.Context, r Reader, sets ...Migrations) ([]MigrationState, error) {
	all, err := load(sets)
	if err != nil {
		return nil, err
	}
	states := map[migrationKey]MigrationState{}
	for _, m := range all {
		states[m.key()] = MigrationState{Source: m.source, Version: m.version, Name: m.name, Known: true}
	}
	wanted := make([]string, len(sets))
	for i, set := range sets {
		wanted[i] = set.Source
	}
	rows, err := r.Query(ctx, `SELECT source, version, name, incompatible, applied_on FROM platform.migrations WHERE source = ANY($1)`, wanted)
	if err == nil {
		var s MigrationState
		var incompatible bool
		_, err = pgx.ForEachRow(rows, []any{&s.Source, &s.Version, &s.Name, &incompatible, &s.AppliedOn}, func() error {
			key := migrationKey{s.Source, s.Version}
			s.Known = states[key].Known
			s.Refuses = incompatible && !s.Known
			states[key] = s
			return nil
		})
	}
	if code := Code(err); err != nil && code != "42P01" && code != "3F000" { // no such table, no such schema: all is pending
		return nil, fmt.Errorf("read the migration history: %w", Fault(err))
	}
	sorted := make([]MigrationState, 0, len(states))
	for _, s := range states {
		sorted = append(sorted, s)
	}
	slices.SortFunc(sorted, func(a, b MigrationState) int {
		return cmp.Or(cmp.Compare(slices.Index(wanted, a.Source), slices.Index(wanted, b.Source)), cmp.Compare(a.Version, b.Version))
	})
	return sorted, nil
}

// CheckMigrated returns nil if a binary that knows sets may work on the database: at least its own migrations
// are applied, and nothing newer refuses it. Otherwise Unavailable with code "migrations_pending", or
// Conflict with code "schema_newer".
func CheckMigrated(ctx context.Context, r Reader, sets ...Migrations) error {
	states, err := MigrationStates(ctx, r, sets...)
	if err != nil {
		return err
	}
	var pending []string
	for _, s := range states {
		if s.Refuses {
			return fault.Newf(fault.Conflict, "schema_newer",
				"the database was migrated by a newer version (%s/%04d_%s) that this one cannot work with", s.Source, s.Version, s.Name)
		}
		if s.AppliedOn == nil {
			pending = append(pending, fmt.Sprintf("%s/%04d_%s", s.Source, s.Version, s.Name))
		}
	}
	if pending != nil {
		return fault.Newf(fault.Unavailable, "migrations_pending", "the database lacks the migrations %s", strings.Join(pending, ", "))
	}
	return nil
}
