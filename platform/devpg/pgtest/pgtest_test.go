package pgtest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"
)

// A package that looks for leaked goroutines must find none of the server's and none of this package's.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEachTestHasItsOwnDatabase(t *testing.T) {
	t.Parallel()
	template := Template{Name: "own", Version: "1", Build: run("create table numbers (n int); insert into numbers values (1)")}
	var urls [2]string
	t.Run("tests", func(t *testing.T) {
		for i := range urls {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				urls[i] = Database(t, template)
				conn := connect(t, urls[i])
				mustExec(t, conn, "insert into numbers values (2)")
				var sum int
				if err := conn.QueryRow(t.Context(), "select sum(n) from numbers").Scan(&sum); err != nil || sum != 3 {
					t.Errorf("sum = %d, %v", sum, err)
				}
				// Somebody who is still connected when the test ends is no obstacle.
				open, err := pgx.Connect(t.Context(), urls[i])
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = open.Ping(context.Background()) })
			})
		}
	})
	for _, url := range urls {
		if _, err := pgx.Connect(t.Context(), url); code(err) != "3D000" { // no such database
			t.Errorf("after its test %s is still there: %v", url, err)
		}
	}
}

func TestTemplateIsBuiltOnceForAllProcesses(t *testing.T) {
	t.Parallel()
	h := Server(t)
	name := "template_once_" + newName(time.Now())
	var built atomic.Int32
	template := Template{Name: "once", Build: func(ctx context.Context, url string) error {
		built.Add(1)
		return run("create table t ()")(ctx, url)
	}}
	var processes errgroup.Group
	for range 4 { // build is what a process does that does not know of the template
		processes.Go(func() error { return h.build(t.Context(), name, template) })
	}
	if err := processes.Wait(); err != nil {
		t.Fatal(err)
	}
	dropTemplate(t, name)
	if built.Load() != 1 {
		t.Errorf("it was built %d times", built.Load())
	}
}

func TestUnfinishedTemplateIsBuiltAgain(t *testing.T) {
	t.Parallel()
	h := Server(t)
	name := "template_unfinished_" + newName(time.Now())
	dropTemplate(t, name)
	interrupted := errors.New("interrupted")
	build := func(ctx context.Context, url string) error {
		return errors.Join(run("create table t ()")(ctx, url), interrupted)
	}
	if err := h.build(t.Context(), name, Template{Build: build}); !errors.Is(err, interrupted) {
		t.Fatalf("got %v", err)
	}
	if err := h.build(t.Context(), name, Template{Build: run("create table t ()")}); err != nil {
		t.Errorf("the second time: %v", err)
	}
	var finished bool
	row := connect(t, h.URL("postgres")).QueryRow(t.Context(), "select datistemplate from pg_database where datname = $1", name)
	if err := row.Scan(&finished); err != nil || !finished {
		t.Errorf("finished = %v, %v", finished, err)
	}
}

func TestAnotherVersionIsAnotherTemplate(t *testing.T) {
	t.Parallel()
	first := connect(t, Database(t, Template{Name: "versions", Version: "1", Build: run("create table one ()")}))
	second := connect(t, Database(t, Template{Name: "versions", Version: "2", Build: run("create table two ()")}))
	mustExec(t, first, "select from one")
	mustExec(t, second, "select from two")
}

func TestBuildMayLeaveSessionsBehind(t *testing.T) {
	t.Parallel()
	url := Database(t, Template{Name: "busy", Build: func(ctx context.Context, url string) error {
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			return err
		}
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
		_, err = conn.Exec(ctx, "create table t ()")
		return err
	}})
	mustExec(t, connect(t, url), "select from t")
}

func TestRolesAreThoseOfProduction(t *testing.T) {
	t.Parallel()
	url := Database(t, Template{Name: "roles", Build: run("create table t (n int); grant select, insert on t to " + AppRole)})
	const denied = "42501"

	app := connect(t, AsApp(t, url))
	mustExec(t, app, "insert into t values (1)")
	for _, sql := range []string{"create table mine ()", "create temp table mine ()", "drop table t", "delete from t"} {
		if _, err := app.Exec(t.Context(), sql); code(err) != denied {
			t.Errorf("the application says %q: %v", sql, err)
		}
	}
	if _, err := connect(t, url).Exec(t.Context(), "create role mine"); code(err) != denied {
		t.Errorf("the owner is more than an owner: %v", err)
	}
	var super bool
	err := connect(t, AsSuperuser(t, url)).QueryRow(t.Context(), "select usesuper from pg_user where usename = current_user").Scan(&super)
	if err != nil || !super {
		t.Errorf("super = %v, %v", super, err)
	}
	var database string
	err = connect(t, Server(t).URL("postgres")).QueryRow(t.Context(), "select current_database()").Scan(&database)
	if err != nil || database != "postgres" {
		t.Errorf("database = %q, %v", database, err)
	}
}

func TestLeftoversAreSwept(t *testing.T) {
	t.Parallel()
	h := Server(t)
	now := time.Now()
	old, recent := newName(now.Add(-sweepAge-time.Minute)), newName(now.Add(-sweepAge+time.Minute))
	conn := connect(t, h.URL("postgres"))
	mustExec(t, conn, "create database "+old)
	mustExec(t, conn, "create database "+recent)
	t.Cleanup(func() { _, _ = conn.Exec(context.Background(), "drop database if exists "+recent) })

	if err := h.sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	var left []string
	err := conn.QueryRow(t.Context(), "select array_agg(datname) from pg_database where datname in ($1, $2)", old, recent).Scan(&left)
	if err != nil || len(left) != 1 || left[0] != recent {
		t.Errorf("left: %v, %v", left, err)
	}
	for _, name := range []string{"test_", "test_database", "testing", "production", "test_zzzzzzzzzzzzzzzzzz_x"} {
		if isLeftover(name, now) {
			t.Errorf("%s is no name that this package gives", name)
		}
	}
}

func run(sql string) func(ctx context.Context, url string) error {
	return func(ctx context.Context, url string) error {
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			return err
		}
		defer conn.Close(ctx)
		_, err = conn.Exec(ctx, sql)
		return err
	}
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func mustExec(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

func dropTemplate(t *testing.T, name string) {
	t.Cleanup(func() {
		ctx := context.Background()
		h := Server(t)
		if err := h.exec(ctx, "alter database "+quote(name)+" is_template false"); err != nil {
			t.Error(err)
		}
		if err := h.exec(ctx, "drop database "+quote(name)+" with (force)"); err != nil {
			t.Error(err)
		}
	})
}

func code(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}
