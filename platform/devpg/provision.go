package devpg

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// provisionLock keeps two processes from making the same role at once. PostgreSQL would fail one of them.
const provisionLock = 7_236_114_905_231

// Provision makes, or corrects, a database and its two roles, and leaves a URL for the owner in URLFile.
// See [Database.Provision].
func (s *Server) Provision(ctx context.Context, database, owner, app string) error {
	d := Database{Name: database, Owner: owner, App: app}
	if err := d.Provision(ctx, s.URL(Superuser, "postgres")); err != nil {
		return err
	}
	if err := s.writeURL(owner, database); err != nil {
		return fmt.Errorf("provision database: %w", err)
	}
	return nil
}

// Database is a database with the two roles that an application should have: an owner, who migrates, and the
// application's own, which can make nothing and gets at what the owner made as far as the owner grants it.
type Database struct {
	Name     string
	Owner    string
	App      string
	Password string // of both roles, for servers that ask for one; "": none is set
}

// Provision makes what is missing and corrects what differs; it may run again at any time, also at once in
// several processes that give the same URL, which is a superuser's. Nobody but the two roles may connect
// to the database.
func (d Database) Provision(ctx context.Context, superuserURL string) error {
	config, err := pgx.ParseConfig(superuserURL)
	if err != nil {
		return fmt.Errorf("provision database: %w", err)
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("provision database: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx)) // and with it the lock
	if _, err := conn.Exec(ctx, "select pg_advisory_lock($1)", int64(provisionLock)); err != nil {
		return fmt.Errorf("provision database: %w", err)
	}
	for _, role := range []string{d.Owner, d.App} {
		if err := d.provisionRole(ctx, conn, role); err != nil {
			return fmt.Errorf("provision role %s: %w", role, err)
		}
	}
	if err := d.provisionDatabase(ctx, conn); err != nil {
		return fmt.Errorf("provision database %s: %w", d.Name, err)
	}
	config.Database = d.Name
	inside, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("provision database %s: %w", d.Name, err)
	}
	defer inside.Close(context.WithoutCancel(ctx))
	if _, err := inside.Exec(ctx, d.fill("revoke create on schema public from public, $app")); err != nil {
		return fmt.Errorf("provision database %s: %w", d.Name, err)
	}
	return nil
}

func (d Database) provisionRole(ctx context.Context, conn *pgx.Conn, role string) error {
	name := quoteName(role)
	err := conn.QueryRow(ctx, "select from pg_roles where rolname = $1", role).Scan()
	if errors.Is(err, pgx.ErrNoRows) {
		_, err = conn.Exec(ctx, "create role "+name)
	}
	if err != nil {
		return err
	}
	change := "alter role " + name + " login nosuperuser nocreatedb nocreaterole noreplication nobypassrls"
	if d.Password != "" {
		change += " password '" + strings.ReplaceAll(d.Password, "'", "''") + "'"
	}
	_, err = conn.Exec(ctx, change)
	return err
}

func (d Database) provisionDatabase(ctx context.Context, conn *pgx.Conn) error {
	err := conn.QueryRow(ctx, "select from pg_database where datname = $1", d.Name).Scan()
	if errors.Is(err, pgx.ErrNoRows) {
		_, err = conn.Exec(ctx, d.fill("create database $name owner $owner"))
	}
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, d.fill("alter database $name owner to $owner; ")+d.AccessSQL())
	return err
}

// AccessSQL returns the statements that say who may connect, which a database does not inherit from its template.
func (d Database) AccessSQL() string {
	return d.fill("revoke all on database $name from public; revoke all on database $name from $app; " +
		"grant connect on database $name to $app")
}

// fill puts the quoted names into a statement.
func (d Database) fill(sql string) string {
	return strings.NewReplacer(
		"$name", quoteName(d.Name), "$owner", quoteName(d.Owner), "$app", quoteName(d.App)).Replace(sql)
}

func quoteName(name string) string { return pgx.Identifier{name}.Sanitize() }
