package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/fault"
)

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
