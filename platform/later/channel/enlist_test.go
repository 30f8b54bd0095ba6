package channel_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"example.com/plenary/platform/later/channel"
	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/postgres/postgrestest"
)

var _ channel.Tx = (*postgres.Tx)(nil)

func TestEnlistedItemsFollowTheTransaction(t *testing.T) {
	t.Parallel()
	source := postgrestest.Open(t).Source("shop")
	r := newRig(t, 10)
	enlist := func(fn func(ctx context.Context, tx *postgres.Tx) error, items ...update) error {
		return source.InTx(t.Context(), func(ctx context.Context, tx *postgres.Tx) error {
			r.Enlist(tx, items...)
			if n := r.Stats().Pushed; n != 0 {
				t.Errorf("%d items went in before the commit", n)
			}
			return fn(ctx, tx)
		})
	}
	cause := errors.New("no")
	if err := enlist(func(context.Context, *postgres.Tx) error { return cause }, update{n: 1}); !errors.Is(err, cause) {
		t.Fatal(err)
	}
	if got := r.taken(); got != "" {
		t.Errorf("rolled back, and yet %s came out", got)
	}
	// A commit that the server refuses is a rollback.
	err := enlist(func(ctx context.Context, tx *postgres.Tx) error {
		_, _ = tx.Exec(ctx, `SELECT 1/0`)
		return nil
	}, update{n: 2})
	if err == nil || r.taken() != "" {
		t.Errorf("%v, %+v", err, r.Stats())
	}

	tries := 0
	items := []update{{n: 3}, {n: 4}}
	err = enlist(func(ctx context.Context, tx *postgres.Tx) error {
		tries++
		if tries < 3 {
			_, err := tx.Exec(ctx, `DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = 'serialization_failure'; END $$`)
			return err
		}
		items[0].n = 9 // too late: it is enlisted
		return nil
	}, items...)
	if err != nil || tries != 3 {
		t.Fatalf("%d tries: %v", tries, err)
	}
	if got := r.taken(); got != "3 4" {
		t.Errorf("committed in the third try: got %s", got)
	}
}

// The commit stands, whatever becomes of what was enlisted with it.
func TestFullChannelRefusesNoTransaction(t *testing.T) {
	t.Parallel()
	source := postgrestest.Open(t).Source("shop")
	r := newRig(t, 1)
	for n := range 5 {
		err := source.InTx(t.Context(), func(_ context.Context, tx *postgres.Tx) error {
			r.Enlist(tx, update{n: n}, update{n: 10 * n})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := r.taken(); got != "40" {
		t.Errorf("got %s", got)
	}
	if s := fmt.Sprint(r.balances().Dropped); s != "9" {
		t.Errorf("%s dropped", s)
	}
}
