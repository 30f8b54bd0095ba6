package audit_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/platform/audit"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/postgres/postgrestest"
)

// addMany records items in one transaction, so that all share one instant.
func addMany(t testing.TB, place *postgres.Source, prefix string, n int) {
	t.Helper()
	err := place.InTx(context.Background(), func(ctx context.Context, tx *postgres.Tx) error {
		for i := range n {
			if err := addItem(ctx, tx, fmt.Sprintf("%s%02d", prefix, i)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestPagesShowEachEntryOnce(t *testing.T) {
	t.Parallel()
	place := open(t)
	addMany(t, place, "first", 25)
	var seen []string
	var sizes []int
	for after := uuid.Nil; len(sizes) < 9; {
		page, err := audit.List(t.Context(), place, audit.Filter{}, after, 10)
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(page))
		if len(page) == 0 {
			break
		}
		for _, e := range page {
			seen = append(seen, e.EntityKey)
		}
		after = page[len(page)-1].ID
		addMany(t, place, fmt.Sprintf("between%d", len(sizes)), 7)
	}
	var want []string
	for i := range 25 {
		want = append(want, fmt.Sprintf("first%02d", 24-i))
	}
	if !slices.Equal(seen, want) || !slices.Equal(sizes, []int{10, 10, 5, 0}) {
		t.Errorf("pages of %v: %v", sizes, seen)
	}
}

func TestFilters(t *testing.T) {
	t.Parallel()
	place := open(t)
	add := func(entityType, key, actor, correlation string) {
		ctx := identity.WithPrincipal(identity.WithCorrelationID(t.Context(), correlation), identity.Principal{ID: actor})
		err := place.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) error {
			return audit.Added(ctx, tx, entityType, key, item{})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	add("shop.item", "1", "alice", "c-1")
	add("shop.item", "2", "bob", "c-1")
	between := postgrestest.Value[time.Time](t, place, `SELECT clock_timestamp()`)
	add("shop.till", "1", "alice", "c-2")
	add("shop.till", "3", "", "")
	for _, c := range []struct {
		filter audit.Filter
		want   string
	}{
		{audit.Filter{}, "till3 till1 item2 item1 "},
		{audit.Filter{EntityType: "shop.item"}, "item2 item1 "},
		{audit.Filter{EntityType: "shop.item", EntityKey: "1"}, "item1 "},
		{audit.Filter{EntityKey: "1"}, "till1 item1 "},
		{audit.Filter{Actor: "alice"}, "till1 item1 "},
		{audit.Filter{CorrelationID: "c-1"}, "item2 item1 "},
		{audit.Filter{CorrelationID: "c-1", Actor: "bob"}, "item2 "},
		{audit.Filter{From: between}, "till3 till1 "},
		{audit.Filter{To: between}, "item2 item1 "},
		{audit.Filter{From: between.Add(-time.Hour), To: between, Actor: "alice"}, "item1 "},
		{audit.Filter{EntityKey: "' OR true --"}, ""},
	} {
		entries, err := audit.List(t.Context(), place, c.filter, uuid.Nil, 10)
		var got string
		for _, e := range entries {
			got += e.EntityType[len("shop."):] + e.EntityKey + " "
		}
		if err != nil || got != c.want {
			t.Errorf("%+v: %q, %v", c.filter, got, err)
		}
	}
	if _, err := audit.List(t.Context(), place, audit.Filter{EntityKey: "\x00"}, uuid.Nil, 10); !fault.Is(err, "invalid_text") {
		t.Errorf("NUL in a filter: %v", err)
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	place := open(t)
	addMany(t, place, "cup", 2)
	want := all(t, place)[1]
	got, ok, err := audit.Get(t.Context(), place, want.ID)
	if err != nil || !ok || got.EntityKey != "cup00" || !got.ChangedOn.Equal(want.ChangedOn) || len(got.Changes) != 2 {
		t.Errorf("%+v, %v, %v", got, ok, err)
	}
	if _, ok, err := audit.Get(t.Context(), place, uuid.New()); ok || err != nil {
		t.Errorf("an entry that is not there: %v, %v", ok, err)
	}
	// Within a transaction, through the transaction.
	err = place.InTx(t.Context(), func(ctx context.Context, tx *postgres.Tx) error {
		_, ok, err := audit.Get(ctx, tx, want.ID)
		if !ok {
			t.Error("not seen within a transaction")
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
