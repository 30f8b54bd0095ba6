package lock_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/fstest"
	"time"

	"example.com/plenary/platform/lock"
	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/postgres/postgrestest"
	"example.com/plenary/platform/telemetry/logtest"
)

var desk = postgres.Migrations{Source: "desk", Files: fstest.MapFS{
	"0001_desk.sql": {Data: []byte(`CREATE SCHEMA desk; CREATE TABLE desk.effect (note text NOT NULL)`)},
}}

// long is a TTL that no test waits for.
const long = time.Hour

// replica is one process: its own pools and its own locks. Nobody else hears what it releases unless notify says so.
type replica struct {
	t      *testing.T
	source *postgres.Source
	locks  *lock.Locks
	log    *logtest.Buffer
	notify func(name string)
}

func newReplica(t *testing.T, url, application string) *replica {
	t.Helper()
	r := &replica{t: t, log: &logtest.Buffer{}, notify: func(string) {}}
	logger := slog.New(slog.NewTextHandler(r.log, nil))
	r.source = postgrestest.Connect(t, postgres.Config{URL: url, Application: application, Logger: logger}).Source("desk")
	r.locks = lock.New(lock.Config{Source: r.source, Logger: logger, Notify: func(name string) { r.notify(name) }})
	return r
}

// two returns two replicas on one database.
func two(t *testing.T) (a, b *replica) {
	t.Helper()
	url := postgrestest.URL(t, desk)
	return newReplica(t, url, "first"), newReplica(t, url, "second")
}

func (r *replica) write(ctx context.Context, note string) error {
	return r.source.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO desk.effect VALUES ($1)`, note)
		return err
	})
}

func (r *replica) effects() string {
	r.t.Helper()
	return postgrestest.Value[string](r.t, r.source, `SELECT coalesce(string_agg(note, ' ' ORDER BY note), '') FROM desk.effect`)
}

// expire moves a lock instead of the clock.
func (r *replica) expire(name string) {
	r.t.Helper()
	postgrestest.Exec(r.t, r.source, `UPDATE platform.locks SET expires_on = now() - interval '1 second' WHERE name = $1`, name)
}

func (r *replica) rows() int {
	r.t.Helper()
	return postgrestest.Value[int](r.t, r.source, `SELECT count(*) FROM platform.locks`)
}

// within waits for what another goroutine brings about, by asking the database.
func (r *replica) within(what string, done func() bool) {
	r.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); {
		if time.Now().After(deadline) {
			r.t.Fatalf("not within 20 s: %s\n%s", what, r.log)
		}
		postgrestest.Value[bool](r.t, r.source, `SELECT true FROM pg_sleep(0.01)`)
	}
}

// pass lets time pass on the database's clock.
func (r *replica) pass(d time.Duration) {
	r.t.Helper()
	postgrestest.Value[bool](r.t, r.source, `SELECT true FROM pg_sleep($1)`, d.Seconds())
}

// until fails the test if a context has not ended after 20 s.
func until(t *testing.T, what string, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Errorf("not within 20 s: %s", what)
	}
}
