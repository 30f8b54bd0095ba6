package postgres_test

import (
	"context"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/devpg/pgtest"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/postgres/postgrestest"
)

func memory(files map[string]string) fs.FS {
	m := fstest.MapFS{}
	for name, text := range files {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return m
}

func set(source string, files ...string) postgres.Migrations {
	m := map[string]string{}
	for i := 0; i < len(files); i += 2 {
		m[files[i]] = files[i+1]
	}
	return postgres.Migrations{Source: source, Files: memory(m)}
}

const first, second = `CREATE SCHEMA shop; CREATE TABLE shop.a (id int)`, `CREATE TABLE shop.b (id int)`

func migrate(t *testing.T, url string, sets ...postgres.Migrations) (int, error) {
	t.Helper()
	return postgres.Migrate(context.Background(), postgres.MigrateConfig{URL: url}, sets...)
}

func TestReplicasThatStartTogetherMigrateOnce(t *testing.T) {
	t.Parallel()
	url := pgtest.Empty(t)
	sets := []postgres.Migrations{postgres.PlatformMigrations(), set("shop", "0001_first.sql", first, "0002_second.sql", second)}
	var group sync.WaitGroup
	applied, errs := make([]int, 6), make([]error, 6)
	for i := range applied {
		group.Go(func() { applied[i], errs[i] = migrate(t, url, sets...) })
	}
	group.Wait()
	total := 0
	for i := range applied {
		if errs[i] != nil {
			t.Errorf("replica %d: %v", i, errs[i])
		}
		total += applied[i]
	}
	db := postgrestest.Connect(t, postgres.Config{URL: url})
	if recorded := postgrestest.Value[int](t, db.Source("x"), `SELECT count(*) FROM platform.migrations`); recorded != total || total < 4 {
		t.Errorf("%d applied, %d recorded", total, recorded)
	}
	if err := postgres.CheckMigrated(context.Background(), db.Source("x"), sets...); err != nil {
		t.Error(err)
	}
}

func TestFailedMigrationLeavesNothingAndCanBeMended(t *testing.T) {
	t.Parallel()
	url := pgtest.Empty(t)
	broken := set("shop", "0001_first.sql", first, "0002_second.sql", second+"; SELECT no_such_thing")
	if n, err := migrate(t, url, broken); err == nil || n != 1 || !strings.Contains(err.Error(), "shop/0002_second") {
		t.Errorf("applied %d, err %v", n, err)
	}
	mended := set("shop", "0001_first.sql", first, "0002_second.sql", second)
	if n, err := migrate(t, url, mended); err != nil || n != 1 {
		t.Errorf("applied %d, err %v", n, err)
	}
	if n, err := migrate(t, url, mended); err != nil || n != 0 {
		t.Errorf("the second time: applied %d, err %v", n, err)
	}
}

func TestChangedMigrationIsRefused(t *testing.T) {
	t.Parallel()
	url := pgtest.Empty(t)
	if _, err := migrate(t, url, set("shop", "0001_first.sql", first)); err != nil {
		t.Fatal(err)
	}
	if _, err := migrate(t, url, set("shop", "0001_first.sql", first+" -- edited")); !fault.Is(err, "migration_changed") {
		t.Errorf("err = %v", err)
	}
}

func TestOlderBinaryRunsOnNewerSchemaUnlessThatRefuses(t *testing.T) {
	t.Parallel()
	url := pgtest.Empty(t)
	old := set("shop", "0001_first.sql", first)
	db := postgrestest.Connect(t, postgres.Config{URL: url})
	check := func(s postgres.Migrations) error {
		return postgres.CheckMigrated(context.Background(), db.Source("x"), s)
	}

	if err := check(old); !fault.Is(err, "migrations_pending") {
		t.Errorf("an empty database: %v", err)
	}
	if _, err := migrate(t, url, set("shop", "0001_first.sql", first, "0002_second.sql", second)); err != nil {
		t.Fatal(err)
	}
	if err := check(old); err != nil {
		t.Errorf("a compatible newer schema: %v", err)
	}
	newest := set("shop", "0001_first.sql", first, "0002_second.sql", second,
		"0003_third.sql", "-- migrate: incompatible\nDROP TABLE shop.a")
	if err := check(newest); !fault.Is(err, "migrations_pending") {
		t.Errorf("an older schema: %v", err)
	}
	if _, err := migrate(t, url, newest); err != nil {
		t.Fatal(err)
	}
	if err := check(old); !fault.Is(err, "schema_newer") {
		t.Errorf("an incompatible newer schema: %v", err)
	}
}

func TestIndexConcurrentlyDoesNotWaitForReplicasThatWait(t *testing.T) {
	t.Parallel()
	url := pgtest.Empty(t)
	s := set("shop", "0001_first.sql", first,
		"0002_index.sql", "-- migrate: no transaction\nCREATE INDEX CONCURRENTLY IF NOT EXISTS a_id ON shop.a (id)")
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if _, err := migrate(t, url, s); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

func TestProgramsRoleMayUseButNotChange(t *testing.T) {
	t.Parallel()
	owner := pgtest.Empty(t)
	app := pgtest.AsApp(t, owner)
	role, err := pgx.ParseConfig(app)
	if err != nil {
		t.Fatal(err)
	}
	sets := []postgres.Migrations{postgres.PlatformMigrations(), set("shop", "0001_first.sql", first)}
	if _, err := postgres.Migrate(context.Background(), postgres.MigrateConfig{URL: owner, AppRole: role.User}, sets...); err != nil {
		t.Fatal(err)
	}
	shop := postgrestest.Connect(t, postgres.Config{URL: app}).Source("shop")
	postgrestest.Exec(t, shop, `INSERT INTO shop.a VALUES (1)`)
	for _, forbidden := range []string{
		`DROP TABLE shop.a`, `CREATE TABLE shop.c (id int)`, `CREATE TABLE public.c (id int)`, `DELETE FROM platform.migrations`,
	} {
		err := shop.InTx(context.Background(), func(ctx context.Context, tx *postgres.Tx) error {
			_, err := tx.Exec(ctx, forbidden)
			return err
		})
		if postgres.Code(err) != "42501" { // insufficient privilege
			t.Errorf("%s: %v", forbidden, err)
		}
	}
}

func TestBadMigrationSetsAreRefused(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]postgres.Migrations{
		"a gap":                set("shop", "0001_first.sql", first, "0003_third.sql", second),
		"a bad name":           set("shop", "first.sql", first),
		"an unknown direction": set("shop", "0001_first.sql", "-- migrate: backwards\n"+first),
	} {
		if _, err := postgres.Checksum(s); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
