package audit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"example.com/plenary/platform/audit"
	"example.com/plenary/platform/command"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/postgres"
)

// cleaner returns one for the databases of places, and what it logs.
func cleaner(t testing.TB, places ...*postgres.Source) (*audit.Cleaner, *bytes.Buffer) {
	t.Helper()
	log := &bytes.Buffer{}
	c, err := audit.NewCleaner(audit.Deps{
		Pipeline: command.New(command.Deps{}), Databases: places, Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return c, log
}

// atBatch returns a context under which f is called when the n-th transaction on place begins.
func atBatch(ctx context.Context, place *postgres.Source, n int, f func()) context.Context {
	begun := 0
	return postgres.WithFence(ctx, place.Database(), postgres.Statement{SQL: `SELECT 1`, Check: func(pgconn.CommandTag) error {
		if begun++; begun == n {
			f()
		}
		return nil
	}})
}

func TestCleanupWhileOthersWrite(t *testing.T) {
	t.Parallel()
	places := []*postgres.Source{open(t), open(t)}
	for _, place := range places {
		backdated(t, place, 2500, 91*24)
		backdated(t, place, 10, 89*24)
	}
	c, log := cleaner(t, places...)
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for i := range 25 {
				addMany(t, places[0], fmt.Sprintf("writer%d-%d-", w, i), 2)
			}
		})
	}
	if err := c.Clean(t.Context(), audit.Cleanup{}); err != nil {
		t.Fatal(err)
	}
	writers.Wait()
	if a, b := count(t, places[0]), count(t, places[1]); a != 210 || b != 10 {
		t.Errorf("%d of 210 and %d of 10 entries are left", a, b)
	}
	if !strings.Contains(log.String(), "removed=5000") || strings.Count(log.String(), "\n") != 1 {
		t.Errorf("logged: %s", log)
	}
}

func TestTwoCleanersShareTheWork(t *testing.T) {
	t.Parallel()
	place := open(t)
	backdated(t, place, 5000, 91*24)
	var cleaners sync.WaitGroup
	for range 2 {
		c, _ := cleaner(t, place)
		cleaners.Go(func() {
			if err := c.Clean(context.Background(), audit.Cleanup{}); err != nil {
				t.Error(err)
			}
		})
	}
	cleaners.Wait()
	if n := count(t, place); n != 0 {
		t.Errorf("%d entries are left", n)
	}
}

func TestCleanupThatWasCancelledGoesOnNextTime(t *testing.T) {
	t.Parallel()
	place := open(t)
	backdated(t, place, 3500, 91*24)
	c, log := cleaner(t, place)
	ctx, cancel := context.WithCancel(t.Context())
	err := c.Clean(atBatch(ctx, place, 3, cancel), audit.Cleanup{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if n := count(t, place); n != 1500 || !strings.Contains(log.String(), "removed=2000") || !strings.Contains(log.String(), "complete=false") {
		t.Errorf("%d entries are left, logged: %s", n, log)
	}
	if err := c.Clean(t.Context(), audit.Cleanup{}); err != nil || count(t, place) != 0 {
		t.Errorf("the next time: %v, %d entries are left", err, count(t, place))
	}
}

func TestHeldRowIsPassedOver(t *testing.T) {
	t.Parallel()
	place := open(t)
	backdated(t, place, 20, 91*24)
	holder := session(t, place, "app")
	run(t, holder, `BEGIN; SELECT FROM platform.audit_entries ORDER BY changed_on LIMIT 1 FOR UPDATE`)
	c, _ := cleaner(t, place)
	if err := c.Clean(t.Context(), audit.Cleanup{}); err != nil || count(t, place) != 1 {
		t.Errorf("%v, %d entries are left", err, count(t, place))
	}
}

// The program's connections wait ten seconds for a lock; a purge waits a tenth of one.
func TestHeldTableIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	held, free := open(t), open(t)
	backdated(t, held, 10, 91*24)
	backdated(t, free, 10, 91*24)
	holder := session(t, held, "owner")
	run(t, holder, `BEGIN; LOCK TABLE platform.audit_entries IN SHARE MODE`)

	began := time.Now()
	err := held.QueryRow(t.Context(), `SELECT platform.purge_audit_entries('90 days', 10)`).Scan(new(int))
	if took := time.Since(began); !fault.Is(err, "database_busy") || took > 5*time.Second {
		t.Errorf("after %v: %v", took, err)
	}
	c, _ := cleaner(t, held, free)
	err = c.Clean(t.Context(), audit.Cleanup{})
	if fault.KindOf(err) != fault.Unavailable || count(t, held) != 10 || count(t, free) != 0 {
		t.Errorf("%v, %d entries are left here and %d there", err, count(t, held), count(t, free))
	}
	// Let go while the cleanup tries again.
	ctx := atBatch(t.Context(), held, 2, func() { run(t, holder, `COMMIT`) })
	if err := c.Clean(ctx, audit.Cleanup{}); err != nil || count(t, held) != 0 {
		t.Errorf("let go: %v, %d entries are left", err, count(t, held))
	}
}

func TestKeepHasBounds(t *testing.T) {
	t.Parallel()
	for keep, ok := range map[time.Duration]bool{
		0: true, 24 * time.Hour: true, 3650 * 24 * time.Hour: true,
		-time.Hour: false, 24*time.Hour - 1: false, 3650*24*time.Hour + 1: false,
	} {
		_, err := audit.NewCleaner(audit.Deps{Pipeline: command.New(command.Deps{}), Databases: []*postgres.Source{{}}, Keep: keep})
		if (err == nil) != ok || (err != nil && fault.KindOf(err) != fault.Invalid) {
			t.Errorf("%v: %v", keep, err)
		}
	}
}

// The shortest time to keep is also the least that the database accepts.
func TestShortestKeepWorks(t *testing.T) {
	t.Parallel()
	place := open(t)
	backdated(t, place, 1, 23)
	backdated(t, place, 1, 25)
	c, err := audit.NewCleaner(audit.Deps{
		Pipeline: command.New(command.Deps{}), Databases: []*postgres.Source{place}, Keep: 24 * time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Clean(t.Context(), audit.Cleanup{}); err != nil || count(t, place) != 1 {
		t.Errorf("%v, %d entries are left", err, count(t, place))
	}
}
