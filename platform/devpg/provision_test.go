package devpg

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sync/errgroup"
)

func TestProvision(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	s := mustStart(t, Options{Dir: dir, Fast: true})
	const name, owner, app = `odd "name"`, "the owner", `the "app"`

	var starts errgroup.Group
	for range 4 {
		starts.Go(func() error { return s.Provision(t.Context(), name, owner, app) })
	}
	if err := starts.Wait(); err != nil {
		t.Fatal(err)
	}
	super := mustConnect(t, s.URL(Superuser, name))
	mustExec(t, super, `alter role "the ""app""" superuser createdb; create role bystander login;
		grant create on schema public to "the ""app"""`)
	if err := s.Provision(t.Context(), name, owner, app); err != nil {
		t.Fatal(err)
	}
	address, err := os.ReadFile(filepath.Join(dir, URLFile))
	if err != nil || strings.TrimSpace(string(address)) != s.URL(owner, name) {
		t.Errorf("%s says %q, %v", URLFile, address, err)
	}

	asOwner := mustConnect(t, s.URL(owner, name))
	mustExec(t, asOwner, `create schema sales; create table sales.orders (id int generated always as identity, n int);
		create table public.notes (n int); create table sales.secrets (n int);
		grant usage on schema sales to "the ""app""";
		grant select, insert, update, delete on sales.orders, public.notes to "the ""app"""`)
	asApp := mustConnect(t, s.URL(app, name))
	mustExec(t, asApp, `insert into sales.orders (n) values (1); update sales.orders set n = 2;
		insert into public.notes select n from sales.orders; delete from sales.orders`)

	const denied = "42501"
	for _, sql := range []string{
		"create table public.mine (n int)", "create schema mine", "create table sales.mine (n int)", "create temp table mine (n int)",
		"alter table sales.orders add column m int", "drop table public.notes", "truncate sales.orders",
		"select from sales.secrets",
		"create role mine", "create database mine", `set role "the owner"`,
	} {
		if _, err := asApp.Exec(t.Context(), sql); code(err) != denied {
			t.Errorf("the application's role says %q: %v", sql, err)
		}
	}
	for _, sql := range []string{"create role mine", "create database mine"} {
		if _, err := asOwner.Exec(t.Context(), sql); code(err) != denied {
			t.Errorf("the owner says %q: %v", sql, err)
		}
	}
	if _, err := pgx.Connect(t.Context(), s.URL("bystander", name)); code(err) != denied {
		t.Errorf("a role that has no business there connects: %v", err)
	}
}

func mustExec(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

func code(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}
