package outbox_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/later/lease"
	"example.com/plenary/platform/later/outbox"
	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/postgres/postgrestest"
	"example.com/plenary/platform/wake"
)

type paid struct{ Order int }

func (paid) EventName() string { return "shop.paid" }

func effects(source string) postgres.Migrations {
	return postgres.Migrations{Source: source, Files: fstest.MapFS{
		"0001_effect.sql": {Data: []byte(`CREATE SCHEMA ` + source + `; CREATE TABLE ` + source + `.effect (note text NOT NULL, by text)`)},
	}}
}

// replica is one process in which the shop publishes, and the desk and the shop itself listen. With two
// databases the desk has its own.
type replica struct {
	t          *testing.T
	shop, desk *postgres.Source
	box        *outbox.Box
	bus        *wake.Bus
	runners    []*lease.Runner
	mu         sync.Mutex
	onDesk     func(context.Context, *postgres.Tx, paid) error
}

func newReplica(t *testing.T, shopURL, deskURL string, settings ...func(*lease.Config)) *replica {
	t.Helper()
	logger := slog.New(slog.NewTextHandler(t.Output(), nil))
	shopDB := postgrestest.Connect(t, postgres.Config{URL: shopURL, Name: "one", Logger: logger})
	deskDB := shopDB
	if deskURL != shopURL {
		deskDB = postgrestest.Connect(t, postgres.Config{URL: deskURL, Name: "two", Logger: logger})
	}
	r := &replica{t: t, shop: shopDB.Source("shop"), desk: deskDB.Source("desk")}
	r.bus = wake.New(wake.Config{Database: shopDB, Logger: logger})
	r.box = outbox.New(command.New(command.Deps{Logger: logger}), func(database string) { r.bus.Send("work", database) })
	outbox.Subscribe(r.box, r.desk, "desk.on_paid", func(ctx context.Context, tx *postgres.Tx, e paid) error {
		r.mu.Lock()
		do := r.onDesk
		r.mu.Unlock()
		if do != nil {
			if err := do(ctx, tx, e); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, `INSERT INTO desk.effect VALUES ('paid', $1)`, identity.PrincipalOf(ctx).ID)
		return err
	}, outbox.Retry(lease.Retry{MaxAttempts: 2}))
	outbox.Subscribe(r.box, r.shop, "shop.on_paid", func(ctx context.Context, tx *postgres.Tx, _ paid) error {
		_, err := tx.Exec(ctx, `INSERT INTO shop.effect VALUES ('paid')`)
		return err
	})
	if err := r.box.SaveSubscriptions(context.Background(), map[string]*postgres.Source{"shop": r.shop, "desk": r.desk}); err != nil {
		t.Fatal(err)
	}
	for _, db := range map[string]*postgres.Database{shopURL: shopDB, deskURL: deskDB} {
		config := lease.Config{Database: db, Mechanisms: []*lease.Mechanism{r.box.Mechanism(8)}, Logger: logger, Poll: time.Hour}
		for _, set := range settings {
			set(&config)
		}
		runner, err := lease.New(config)
		if err != nil {
			t.Fatal(err)
		}
		r.bus.Subscribe("work", func(key string) {
			if key == "" || key == db.Name() {
				runner.Wake()
			}
		})
		r.runners = append(r.runners, runner)
	}
	return r
}

func (r *replica) publish(ctx context.Context, e outbox.Event) (id uuid.UUID) {
	r.t.Helper()
	err := r.shop.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) (err error) {
		id, err = r.box.Publish(ctx, tx, e)
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

func (r *replica) drain() {
	r.t.Helper()
	for _, runner := range r.runners {
		if err := runner.Drain(context.Background()); err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *replica) effects() (shop, desk int) {
	r.t.Helper()
	return postgrestest.Value[int](r.t, r.shop, `SELECT count(*) FROM shop.effect`),
		postgrestest.Value[int](r.t, r.desk, `SELECT count(*) FROM desk.effect`)
}

// onBoth runs a test with one database, and with one a module.
func onBoth(t *testing.T, test func(t *testing.T, shopURL, deskURL string)) {
	t.Parallel()
	t.Run("one database", func(t *testing.T) {
		t.Parallel()
		url := postgrestest.URL(t, effects("shop"), effects("desk"))
		test(t, url, url)
	})
	t.Run("one a module", func(t *testing.T) {
		t.Parallel()
		test(t, postgrestest.URL(t, effects("shop")), postgrestest.URL(t, effects("desk")))
	})
}

func TestEventReachesEachHandlerOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, shopURL, deskURL string) {
		r := newReplica(t, shopURL, deskURL)
		ctx := identity.WithPrincipal(context.Background(), identity.Principal{ID: "ada"})
		r.publish(ctx, paid{1})
		r.drain()
		r.drain()
		if shop, desk := r.effects(); shop != 1 || desk != 1 {
			t.Errorf("effects: shop %d, desk %d", shop, desk)
		}
		if by := postgrestest.Value[string](t, r.desk, `SELECT by FROM desk.effect`); by != "ada" {
			t.Errorf("handled on behalf of %q", by)
		}
	})
}

func TestRollbackPublishesNothing(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t, effects("shop"), effects("desk"))
	r := newReplica(t, url, url)
	_ = r.shop.InTx(context.Background(), func(ctx context.Context, tx *postgres.Tx) error {
		_, err := r.box.Publish(ctx, tx, paid{1})
		return errors.Join(err, errors.New("changed my mind"))
	})
	r.drain()
	if n := postgrestest.Value[int](t, r.shop, `SELECT count(*) FROM platform.events`); n != 0 {
		t.Errorf("%d events", n)
	}
	if shop, desk := r.effects(); shop+desk != 0 {
		t.Errorf("effects: shop %d, desk %d", shop, desk)
	}
}

func TestFailingHandlerFailsAlone(t *testing.T) {
	onBoth(t, func(t *testing.T, shopURL, deskURL string) {
		r := newReplica(t, shopURL, deskURL)
		r.onDesk = func(context.Context, *postgres.Tx, paid) error { return errors.New("closed") }
		r.publish(context.Background(), paid{1})
		r.drain()
		postgrestest.Exec(t, r.shop, `UPDATE platform.deliveries SET next_attempt_on = now() WHERE name = 'desk.on_paid'`)
		r.drain()
		state := postgrestest.Value[string](t, r.shop, `SELECT dead_letter_reason || ' ' || last_error FROM platform.deliveries WHERE name = 'desk.on_paid'`)
		if shop, desk := r.effects(); shop != 1 || desk != 0 || state != "attempts_exhausted closed" {
			t.Errorf("effects: shop %d, desk %d; delivery %q", shop, desk, state)
		}
	})
}

// The process dies after the handler's commit and before the delivery is stamped.
func TestSecondDeliveryHasNoSecondEffect(t *testing.T) {
	onBoth(t, func(t *testing.T, shopURL, deskURL string) {
		r := newReplica(t, shopURL, deskURL)
		r.publish(context.Background(), paid{1})
		r.drain()
		postgrestest.Exec(t, r.shop, `UPDATE platform.deliveries SET processed_on = NULL, claimed_on = now(), claimed_until = now() - interval '1 second'`)
		r.drain()
		if shop, desk := r.effects(); shop != 1 || desk != 1 {
			t.Errorf("effects: shop %d, desk %d", shop, desk)
		}
		if open := postgrestest.Value[int](t, r.shop, `SELECT count(*) FROM platform.deliveries WHERE processed_on IS NULL`); open != 0 {
			t.Errorf("%d deliveries are still open", open)
		}
	})
}

func TestTwoReplicasThatHandleOneDeliveryAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, shopURL, deskURL string) {
		slow, other := newReplica(t, shopURL, deskURL), newReplica(t, shopURL, deskURL)
		started, hold := make(chan struct{}), make(chan struct{})
		slow.onDesk = func(context.Context, *postgres.Tx, paid) error { close(started); <-hold; return nil }
		slow.publish(context.Background(), paid{1})
		var both sync.WaitGroup
		both.Go(slow.drain)
		<-started
		// The slow one's lease ends while its transaction is open; the other one waits at the inbox.
		postgrestest.Exec(t, slow.shop, `UPDATE platform.deliveries SET claimed_until = now() - interval '1 second' WHERE claimed_until IS NOT NULL`)
		both.Go(other.drain)
		waiting := func() bool {
			return postgrestest.Value[int](t, slow.desk, `SELECT count(*) FROM pg_stat_activity
				WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%platform.inbox%'`) > 0
		}
		for deadline := time.Now().Add(20 * time.Second); !waiting(); {
			if time.Now().After(deadline) {
				t.Fatal("the second delivery does not wait for the first")
			}
		}
		close(hold)
		both.Wait()
		if shop, desk := slow.effects(); shop != 1 || desk != 1 {
			t.Errorf("effects: shop %d, desk %d", shop, desk)
		}
	})
}

// An event whose transaction began first and commits last is not overlooked.
func TestLateCommitIsDelivered(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t, effects("shop"), effects("desk"))
	r := newReplica(t, url, url)
	err := r.shop.InTx(context.Background(), func(ctx context.Context, tx *postgres.Tx) error {
		if _, err := r.box.Publish(ctx, tx, paid{1}); err != nil {
			return err
		}
		r.publish(context.Background(), paid{2})
		r.drain()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r.drain()
	if _, desk := r.effects(); desk != 2 {
		t.Errorf("%d of 2 events handled", desk)
	}
}

func TestBadEventsLeaveTheOthersAlone(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t, effects("shop"), effects("desk"))
	r := newReplica(t, url, url, func(c *lease.Config) { c.UnknownGrace = -1 })
	r.onDesk = func(_ context.Context, _ *postgres.Tx, e paid) error {
		if e.Order == 9 {
			return errors.New("not this one")
		}
		return nil
	}
	for order := 1; order <= 10; order++ {
		id := r.publish(context.Background(), paid{order})
		switch order {
		case 4:
			postgrestest.Exec(t, r.shop, `UPDATE platform.deliveries SET name = name || '_gone' WHERE event_id = $1`, id)
		case 7:
			postgrestest.Exec(t, r.shop, `UPDATE platform.events SET payload = '[]' WHERE id = $1`, id)
		}
	}
	for range 2 {
		postgrestest.Exec(t, r.shop, `UPDATE platform.deliveries SET next_attempt_on = now() WHERE processed_on IS NULL AND dead_lettered_on IS NULL`)
		for _, runner := range r.runners {
			if err := runner.Beat(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		r.drain()
	}
	if shop, desk := r.effects(); shop != 8 || desk != 7 {
		t.Errorf("effects: shop %d of 8, desk %d of 7", shop, desk)
	}
	reasons := postgrestest.Value[string](t, r.shop, `SELECT string_agg(DISTINCT dead_letter_reason, ' ' ORDER BY dead_letter_reason) FROM platform.deliveries`)
	if reasons != "attempts_exhausted payload_invalid type_unresolvable" {
		t.Errorf("dead letters: %s", reasons)
	}
}

func TestNewHandlerGetsNoHistoryAndOldOnesStay(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t, effects("shop"), effects("desk"))
	r := newReplica(t, url, url)
	postgrestest.Exec(t, r.shop, `DELETE FROM platform.subscriptions WHERE handler = 'desk.on_paid'`)
	r.publish(context.Background(), paid{1})
	newReplica(t, url, url) // a new version of the program, which subscribes the desk
	r.publish(context.Background(), paid{2})
	r.drain()
	if shop, desk := r.effects(); shop != 2 || desk != 1 {
		t.Errorf("effects: shop %d, desk %d", shop, desk)
	}
	err := r.shop.InTx(context.Background(), func(ctx context.Context, tx *postgres.Tx) error {
		return outbox.Unsubscribe(ctx, tx, "shop.paid", "desk.on_paid")
	})
	if err != nil {
		t.Fatal(err)
	}
	r.publish(context.Background(), paid{3})
	r.drain()
	if shop, desk := r.effects(); shop != 3 || desk != 1 {
		t.Errorf("after unsubscribing: shop %d, desk %d", shop, desk)
	}
}

type foreign struct{}

func (foreign) EventName() string { return "desk.opened" }

func TestOnlyTheOwnerPublishes(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t, effects("shop"), effects("desk"))
	r := newReplica(t, url, url)
	err := r.shop.InTx(context.Background(), func(ctx context.Context, tx *postgres.Tx) error {
		_, err := r.box.Publish(ctx, tx, foreign{})
		return err
	})
	if !fault.Is(err, "foreign_event") {
		t.Errorf("err = %v", err)
	}
}
