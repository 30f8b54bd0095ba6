package pgtest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/devpg"
)

// Template describes a database that tests get copies of.
type Template struct {
	Name    string // lower-case letters, digits and underscores; at most 30
	Version string // changes whenever Build would make something else: a hash of the migrations
	// Build fills a fresh database, as its owner. Settings of the database itself (ALTER DATABASE … SET) are
	// not copied. nil: it stays empty.
	Build func(ctx context.Context, ownerURL string) error
}

// Database returns the address, as its owner, of a new copy of the template. The database is for this test
// alone; when the test has ended it is dropped, whoever is still connected.
func Database(t testing.TB, template Template) string {
	t.Helper()
	h := Server(t)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	name, err := h.copyOf(ctx, template)
	if err != nil {
		t.Fatalf("database for the test: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := h.exec(ctx, "drop database if exists "+quote(name)+" with (force)"); err != nil {
			t.Errorf("drop the test's database: %v", err)
		}
	})
	return readdress(h.url, OwnerRole, h.password, name)
}

// Empty is Database without tables.
func Empty(t testing.TB) string {
	t.Helper()
	return Database(t, Template{Name: "empty"})
}

func (h *Handle) copyOf(ctx context.Context, template Template) (name string, err error) {
	source, err := h.template(ctx, template)
	if err != nil {
		return "", err
	}
	h.prepare.Do(func() {
		if err = h.sweep(ctx); err == nil {
			h.strategy, err = h.fasterStrategy(ctx)
		}
	})
	if err != nil {
		return "", err
	}
	d := devpg.Database{Name: newName(time.Now()), Owner: OwnerRole, App: AppRole}
	create := fmt.Sprintf("create database %s template %s owner %s %s", quote(d.Name), quote(source), OwnerRole, h.strategy)
	if err := h.exec(ctx, create); err != nil {
		return "", fmt.Errorf("copy template %s: %w", template.Name, err)
	}
	return d.Name, h.exec(ctx, d.AccessSQL())
}

var validName = regexp.MustCompile(`^[a-z0-9_]{1,30}$`)

var builds sync.Map // name of a template database → func() error, so that a process builds or looks once

// template returns the name of the template database, building it if this server does not have it.
func (h *Handle) template(ctx context.Context, template Template) (string, error) {
	if !validName.MatchString(template.Name) {
		return "", fmt.Errorf("%q is no name for a template: see Template.Name", template.Name)
	}
	sum := sha256.Sum256([]byte(template.Version))
	name := "template_" + template.Name + "_" + hex.EncodeToString(sum[:6])
	build, _ := builds.LoadOrStore(name, sync.OnceValue(func() error { return h.build(ctx, name, template) }))
	if err := build.(func() error)(); err != nil {
		return "", fmt.Errorf("build template %s: %w", template.Name, err)
	}
	return name, nil
}

func (h *Handle) build(ctx context.Context, name string, template Template) error {
	conn, err := pgx.Connect(ctx, h.url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx)) // and with it the lock
	if _, err := conn.Exec(ctx, "select pg_advisory_lock(hashtextextended($1, 0))", name); err != nil {
		return err
	}
	var finished bool
	err = conn.QueryRow(ctx, "select datistemplate from pg_database where datname = $1", name).Scan(&finished)
	if finished || err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	// What is there by that name was left by a process that died while building.
	if _, err := conn.Exec(ctx, "drop database if exists "+quote(name)+" with (force)"); err != nil {
		return err
	}
	d := devpg.Database{Name: name, Owner: OwnerRole, App: AppRole, Password: h.password}
	if err := d.Provision(ctx, h.url); err != nil {
		return err
	}
	if template.Build != nil {
		if err := template.Build(ctx, readdress(h.url, OwnerRole, h.password, name)); err != nil {
			return err
		}
	}
	// A template cannot be copied while somebody is connected. It is finished only with the last statement.
	if _, err := conn.Exec(ctx, "alter database "+quote(name)+" allow_connections false"); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx,
		"select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = $1", name); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "alter database "+quote(name)+" is_template true")
	return err
}

// fasterStrategy picks the faster way to copy. Copying files needs a checkpoint, which is cheap only where nothing
// is synchronised to disk.
func (h *Handle) fasterStrategy(ctx context.Context) (string, error) {
	var fsync string
	err := h.with(ctx, func(conn *pgx.Conn) error { return conn.QueryRow(ctx, "show fsync").Scan(&fsync) })
	if fsync == "off" {
		return "strategy file_copy", err
	}
	return "strategy wal_log", err
}

const (
	namePrefix = "test_"
	sweepAge   = 6 * time.Hour // longer than any run
)

// newName returns a name that tells when it was given, so that leftovers can be told from what is in use.
func newName(now time.Time) string {
	return namePrefix + strconv.FormatInt(now.Unix(), 36) + "_" + strings.ToLower(rand.Text()[:12])
}

// isLeftover reports whether a database was made so long ago that the test it was for cannot be running.
func isLeftover(name string, now time.Time) bool {
	rest, ok := strings.CutPrefix(name, namePrefix)
	stamp, _, ok2 := strings.Cut(rest, "_")
	made, err := strconv.ParseInt(stamp, 36, 64)
	return ok && ok2 && err == nil && now.Sub(time.Unix(made, 0)) > sweepAge
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }
