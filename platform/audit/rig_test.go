package audit_test

import (
	"context"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/audit"
	"example.com/plenary/platform/devpg/pgtest"
	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/postgres/postgrestest"
)

var shop = postgres.Migrations{Source: "shop", Files: fstest.MapFS{
	"0001_shop.sql": {Data: []byte(`CREATE SCHEMA shop; CREATE TABLE shop.items (name text PRIMARY KEY)`)},
}}

type item struct {
	Name  string `json:"name"`
	Price int    `json:"price"`
}

func open(t testing.TB) *postgres.Source {
	t.Helper()
	return postgrestest.Open(t, postgrestest.With(shop)).Source("shop")
}

// session connects to the database of place as one of the roles that there are: "app", "owner", "superuser".
func session(t testing.TB, place *postgres.Source, role string) *pgx.Conn {
	t.Helper()
	url := pgtest.AsSuperuser(t, place.Database().URL())
	if role == "app" {
		url = pgtest.AsApp(t, url)
	}
	conn, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	if role == "owner" {
		run(t, conn, `SET SESSION AUTHORIZATION `+pgtest.OwnerRole)
	}
	return conn
}

func run(t testing.TB, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(context.Background(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// backdated writes n entries of the given age, in hours.
func backdated(t testing.TB, place *postgres.Source, n, hours int) {
	t.Helper()
	postgrestest.Exec(t, place, `
		INSERT INTO platform.audit_entries (id, source, entity_type, entity_key, operation, changes, changed_on)
		SELECT gen_random_uuid(), 'shop', 'shop.item', i::text, 'added', '[]', now() - make_interval(hours => $2)
		FROM generate_series(1, $1) AS i`, n, hours)
}

func count(t testing.TB, place *postgres.Source) int {
	t.Helper()
	return postgrestest.Value[int](t, place, `SELECT count(*) FROM platform.audit_entries`)
}

// all returns the whole trail, newest first.
func all(t testing.TB, place *postgres.Source) []audit.Entry {
	t.Helper()
	entries, err := audit.List(t.Context(), place, audit.Filter{}, [16]byte{}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}
