package command_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"example.com/plenary/platform/cache"
	"example.com/plenary/platform/command"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/feature"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/postgres/postgrestest"
)

type greet struct {
	Name  string
	Evict []string
	trace func(string)
}

func (greet) Policy() command.Policy {
	return command.Policy{Name: "test.greet", Feature: "test.greeting", Permission: "test:greet", Timeout: 20 * time.Second}
}

func (g greet) Validate() error {
	if g.trace != nil {
		g.trace("validation")
	}
	var v fault.Violations
	v.Check(g.Name != "", "name", "required", "is missing")
	return v.Err()
}

func (g greet) Evicts() []string {
	if g.trace != nil {
		g.trace("cache invalidation")
	}
	return g.Evict
}

// rig is a pipeline whose parts can be looked at.
type rig struct {
	pipeline *command.Pipeline
	flags    *feature.Flags
	log      *bytes.Buffer
	evicted  []string
	source   *postgres.Source
	allowed  context.Context
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{flags: &feature.Flags{}, log: &bytes.Buffer{}}
	r.flags.Register("test.greeting", "greets")
	var permissions identity.Permissions
	permissions.Grant("host", "test:greet")
	r.pipeline = command.New(command.Deps{
		Features: r.flags, Permissions: &permissions,
		Logger: slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Evict:  func(_ context.Context, keys []string) { r.evicted = append(r.evicted, keys...) },
	})
	notes := postgres.Migrations{Source: "test", Files: testFiles}
	r.source = postgrestest.Open(t, postgrestest.With(notes)).Source("test")
	r.allowed = identity.WithPrincipal(context.Background(), identity.Principal{ID: "h", Roles: []string{"host"}})
	return r
}

func (r *rig) greetings(t *testing.T) int {
	t.Helper()
	return postgrestest.Value[int](t, r.source, `SELECT count(*) FROM test.greeting`)
}

func store(ctx context.Context, tx *postgres.Tx, g greet) error {
	_, err := tx.Exec(ctx, `INSERT INTO test.greeting VALUES ($1)`, g.Name)
	return err
}

func TestStepsAreTheDocumentedOnes(t *testing.T) {
	t.Parallel()
	p := command.New(command.Deps{})
	commands, queries, events := command.StepNames(p)
	if got := strings.Join(commands, " → "); got != "feature gate → permission → logging → cache invalidation → validation → timeout → transaction" {
		t.Error("commands:", got)
	}
	if got := strings.Join(queries, " → "); got != "feature gate → permission → logging → caching → timeout" {
		t.Error("queries:", got)
	}
	if got := strings.Join(events, " → "); got != "logging → timeout → transaction" {
		t.Error("events:", got)
	}
}

func TestRunMeetsItsStepsInOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var met []string
	trace := func(step string) { met = append(met, step) }
	door := command.Handle(r.pipeline, r.source, func(ctx context.Context, tx *postgres.Tx, g greet) error {
		deadline, bounded := ctx.Deadline()
		if bounded && time.Until(deadline) <= 20*time.Second {
			trace("timeout")
		}
		tx.AfterCommit(func(context.Context) { trace("commit") })
		trace("handler")
		return store(ctx, tx, g)
	})
	guard := command.Guard{Guard: postgres.Guard{First: []postgres.Statement{{
		SQL: "SELECT 1", Check: func(pgconn.CommandTag) error { trace("guard"); return nil },
	}}}}
	err := door(command.WithGuard(r.allowed, guard), greet{Name: "Ada", Evict: []string{"greetings"}, trace: trace})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"validation", "guard", "timeout", "handler", "commit", "cache invalidation"}
	if !slices.Equal(met, want) {
		t.Errorf("met %v, want %v", met, want)
	}
	if !slices.Equal(r.evicted, []string{"greetings"}) || r.greetings(t) != 1 {
		t.Errorf("evicted %v, rows %d", r.evicted, r.greetings(t))
	}
	if !strings.Contains(r.log.String(), "msg=completed name=test.greet kind=transactional") {
		t.Errorf("log: %s", r.log)
	}
}

func TestEachStepRefusesBeforeTheNext(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	door := command.Handle(r.pipeline, r.source, store)
	stranger := identity.WithPrincipal(context.Background(), identity.Principal{ID: "s"})

	off := r.flags.Configure("test.greeting=off")
	if off != nil {
		t.Fatal(off)
	}
	cases := []struct {
		name   string
		ctx    context.Context
		before func()
		cmd    greet
		code   string
		logged bool
	}{
		{"feature before permission", stranger, func() {}, greet{}, "feature_disabled", false},
		{"permission before validation", stranger, func() { _ = r.flags.Configure("test.greeting=on") }, greet{}, "permission_denied", false},
		{"nobody", context.Background(), func() {}, greet{Name: "x"}, "unauthenticated", false},
		{"validation", r.allowed, func() {}, greet{Evict: []string{"k"}}, "invalid_input", true},
	}
	for _, c := range cases {
		c.before()
		r.log.Reset()
		if err := door(c.ctx, c.cmd); !fault.Is(err, c.code) {
			t.Errorf("%s: %v", c.name, err)
		}
		if logged := strings.Contains(r.log.String(), "msg=failed"); logged != c.logged {
			t.Errorf("%s: log %q", c.name, r.log)
		}
	}
	if r.greetings(t) != 0 || r.evicted != nil {
		t.Error("a refused run left something behind")
	}
}

func TestFailureRollsBackAndIsLoggedOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	boom := errors.New("boom")
	door := command.Handle(r.pipeline, r.source, func(ctx context.Context, tx *postgres.Tx, g greet) error {
		return errors.Join(store(ctx, tx, g), boom)
	})
	if err := door(r.allowed, greet{Name: "Ada", Evict: []string{"k"}}); !errors.Is(err, boom) {
		t.Errorf("err = %v", err)
	}
	if r.greetings(t) != 0 || r.evicted != nil {
		t.Error("a failed run left something behind")
	}
	if n := strings.Count(r.log.String(), "boom"); n != 1 {
		t.Errorf("logged %d times:\n%s", n, r.log)
	}
}

func TestPanicIsAnErrorWithItsStackInTheLogOnly(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	door := command.Handle(r.pipeline, r.source, func(ctx context.Context, tx *postgres.Tx, g greet) error {
		if err := store(ctx, tx, g); err != nil {
			return err
		}
		panic("what a secret")
	})
	err := door(r.allowed, greet{Name: "Ada"})
	f := fault.As(err)
	if f == nil || f.Kind != fault.Internal || f.Code != "panic" || strings.Contains(f.Message, "secret") {
		t.Errorf("err = %#v", err)
	}
	if !strings.Contains(r.log.String(), "pipeline_test.go") {
		t.Errorf("no stack in the log:\n%s", r.log)
	}
	if r.greetings(t) != 0 {
		t.Error("a panic committed")
	}
}

type hurried struct{ Name string }

func (hurried) Policy() command.Policy {
	return command.Policy{Name: "test.hurried", Timeout: 50 * time.Millisecond}
}

func TestTimeoutIsToldFromACallerWhoLeft(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	door := command.Handle(r.pipeline, r.source, func(ctx context.Context, tx *postgres.Tx, g hurried) error {
		if err := store(ctx, tx, greet{Name: g.Name}); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `SELECT pg_sleep(60)`)
		return err
	})
	if err := door(r.allowed, hurried{Name: "slow"}); !fault.Is(err, "timed_out") || fault.KindOf(err) != fault.Unavailable {
		t.Errorf("timeout: %v", err)
	}
	left, leave := context.WithCancel(r.allowed)
	leave()
	if err := door(left, hurried{Name: "gone"}); !errors.Is(err, context.Canceled) || fault.Is(err, "timed_out") {
		t.Errorf("caller left: %v", err)
	}
	if r.greetings(t) != 0 {
		t.Error("something was committed")
	}
}

type inner struct{}

func (inner) Policy() command.Policy { return command.Policy{Name: "test.inner"} }

func TestGuardNeverReachesTheHandlerOrANestedRun(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	stamps := 0
	guard := command.Guard{
		Guard: postgres.Guard{First: []postgres.Statement{{SQL: "SELECT 1", Check: func(pgconn.CommandTag) error { stamps++; return nil }}}},
		Last: func(result any) ([]postgres.Statement, error) {
			return []postgres.Statement{{SQL: `INSERT INTO test.greeting VALUES ($1)`, Args: []any{fmt.Sprint("answer ", result)}}}, nil
		},
	}
	nested := command.Handle(r.pipeline, r.source, func(context.Context, *postgres.Tx, inner) error { return nil })
	door := command.HandleResult(r.pipeline, r.source, func(ctx context.Context, tx *postgres.Tx, _ greet) (int, error) {
		// A run that a hook starts is a run of its own; the guard was for this one.
		tx.AfterCommit(func(context.Context) {
			if err := nested(ctx, inner{}); err != nil {
				t.Error(err)
			}
		})
		return 42, nil
	})
	n, err := door(command.WithGuard(r.allowed, guard), greet{Name: "Ada"})
	if err != nil || n != 42 || stamps != 1 {
		t.Errorf("result %d, err %v, %d stamps", n, err, stamps)
	}
	if got := postgrestest.Value[string](t, r.source, `SELECT name FROM test.greeting`); got != "answer 42" {
		t.Errorf("what saw the result wrote %q", got)
	}
}

func TestOutsideHandlerHasNoTransactionAroundIt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	door := command.HandleOutside(r.pipeline, r.source, func(ctx context.Context, g greet) error {
		err := r.source.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) error { return store(ctx, tx, g) })
		return errors.Join(err, errors.New("the call after it failed"))
	})
	if err := door(r.allowed, greet{Name: "kept"}); err == nil || r.greetings(t) != 1 {
		t.Errorf("err %v, rows %d: the short transaction stands on its own", err, r.greetings(t))
	}
}

func TestMistakesInTheProgramStopItAtRegistration(t *testing.T) {
	t.Parallel()
	db := postgrestest.Open(t)
	p := command.New(command.Deps{})
	register := func() {
		command.Handle(p, db.Source("test"), func(context.Context, *postgres.Tx, inner) error { return nil })
	}
	register()
	for name, mistake := range map[string]func(){
		"one name twice": register,
		"a bad name": func() {
			command.HandleEvent(p, db.Source("test"), command.Policy{Name: "OnPaid"}, func(context.Context, *postgres.Tx, int) error { return nil })
		},
		"a pointer": func() {
			command.HandleOutside(p, db.Source("test"), func(context.Context, *inner) error { return nil })
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is accepted", name)
				}
			}()
			mistake()
		}()
	}
	if info, ok := p.Lookup("test.inner"); !ok || info.Kind != command.Transactional || info.Source.Name() != "test" {
		t.Errorf("info = %+v", info)
	}
}

type lookUp struct{ Key string }

func (lookUp) Policy() command.Policy {
	return command.Policy{Name: "test.look_up", Permission: "test:greet"}
}

func (q lookUp) CacheKey() (string, time.Duration) { return "look:" + q.Key, time.Minute }

func TestQueryIsCachedBehindItsPermission(t *testing.T) {
	t.Parallel()
	var permissions identity.Permissions
	permissions.Grant("host", "test:greet")
	c := cache.New(cache.Config{})
	p := command.New(command.Deps{Permissions: &permissions, Cache: c})
	source := postgrestest.Open(t).Source("test")
	runs := 0
	door := command.HandleQuery(p, source, func(_ context.Context, q lookUp) (string, error) {
		runs++
		if q.Key == "bad" {
			return "", errors.New("no luck")
		}
		return "value of " + q.Key, nil
	})
	host := identity.WithPrincipal(context.Background(), identity.Principal{ID: "h", Roles: []string{"host"}})
	for range 3 {
		if v, err := door(host, lookUp{"a"}); err != nil || v != "value of a" {
			t.Errorf("%q, %v", v, err)
		}
	}
	if _, err := door(context.Background(), lookUp{"a"}); fault.KindOf(err) != fault.Unauthenticated {
		t.Errorf("the cache answered before the permission was asked for: %v", err)
	}
	for range 2 {
		if _, err := door(host, lookUp{"bad"}); err == nil {
			t.Error("no error")
		}
	}
	if runs != 3 {
		t.Errorf("%d runs, want one for the value and two for the failures", runs)
	}
}
