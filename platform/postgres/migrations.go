package postgres

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
)

//go:embed migrations/*.sql
var platformFiles embed.FS

var (
	fileName  = regexp.MustCompile(`^([0-9]{4})_([a-z0-9_]+)\.sql$`)
	directive = regexp.MustCompile(`(?m)^-- migrate: (.+?)\s*$`)
)

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
