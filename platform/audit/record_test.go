package audit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"example.com/plenary/platform/audit"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/postgres/postgrestest"
)

func addItem(ctx context.Context, tx *postgres.Tx, name string) error {
	if _, err := tx.Exec(ctx, `INSERT INTO shop.items (name) VALUES ($1)`, name); err != nil {
		return err
	}
	return audit.Added(ctx, tx, "shop.item", name, item{Name: name, Price: 5})
}

func TestEntriesSayWhoDidWhat(t *testing.T) {
	t.Parallel()
	place := open(t)
	user := uuid.New()
	ctx := identity.WithPrincipal(t.Context(), identity.User(user, "customer"))
	ctx = identity.WithTenant(identity.WithCorrelationID(ctx, "c-1"), "t-1")
	err := place.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) error {
		return errors.Join(
			audit.Added(ctx, tx, "shop.item", "cup", item{"cup", 5}),
			audit.Modified(ctx, tx, "shop.item", "cup", &item{"cup", 5}, &item{"cup", 6}),
			audit.Deleted(ctx, tx, "shop.item", "cup", item{"cup", 6}),
			audit.Performed(ctx, tx, "platform.session", "cup", struct {
				Method string `json:"method"`
			}{"password"}),
			audit.Performed(ctx, tx, "shop.till_opened", "1", nil))
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range all(t, place) {
		line := fmt.Sprint(e.EntityType, " ", e.EntityKey, " ", e.Operation)
		for _, c := range e.Changes {
			line += fmt.Sprintf(" %s:%s→%s", c.Property, c.Old, c.New)
		}
		got = append(got, line)
		if e.Source != "shop" || *e.ChangedBy != user.String() || *e.CorrelationID != "c-1" || *e.Tenant != "t-1" {
			t.Errorf("%s: %s by %s in %s, %s", line, e.Source, *e.ChangedBy, *e.CorrelationID, *e.Tenant)
		}
	}
	want := strings.Join([]string{
		`shop.till_opened 1 performed`,
		`platform.session cup performed method:null→"password"`,
		`shop.item cup deleted name:"cup"→null price:6→null`,
		`shop.item cup modified price:5→6`,
		`shop.item cup added name:null→"cup" price:null→5`,
	}, "\n")
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}

func TestNobodyAndTheSystem(t *testing.T) {
	t.Parallel()
	place := open(t)
	for _, ctx := range []context.Context{t.Context(), identity.WithPrincipal(t.Context(), identity.System("clock"))} {
		err := place.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) error { return addItem(ctx, tx, uuid.NewString()) })
		if err != nil {
			t.Fatal(err)
		}
	}
	entries := all(t, place)
	if by := entries[0].ChangedBy; by == nil || *by != "system:clock" {
		t.Errorf("the clock is %v", by)
	}
	if e := entries[1]; e.ChangedBy != nil || e.CorrelationID != nil || e.Tenant != nil {
		t.Errorf("nobody became somebody: %+v", e)
	}
}

func TestEntryVanishesWithItsChange(t *testing.T) {
	t.Parallel()
	place := open(t)
	boom := errors.New("boom")
	err := place.InTx(t.Context(), func(ctx context.Context, tx *postgres.Tx) error {
		return errors.Join(addItem(ctx, tx, "cup"), boom)
	})
	if !errors.Is(err, boom) || count(t, place) != 0 {
		t.Errorf("%v, and %d entries", err, count(t, place))
	}
}

func TestRepeatedTransactionIsRecordedOnce(t *testing.T) {
	t.Parallel()
	place := open(t)
	runs := 0
	err := place.InTx(t.Context(), func(ctx context.Context, tx *postgres.Tx) error {
		if err := addItem(ctx, tx, "cup"); err != nil {
			return err
		}
		if runs++; runs < 3 {
			return &pgconn.PgError{Code: "40001"} // as if another transaction had got in the way
		}
		return nil
	})
	if err != nil || runs != 3 || count(t, place) != 1 {
		t.Errorf("%v after %d runs, %d entries", err, runs, count(t, place))
	}
}

// The trail and the data stand or fall together, whichever of them is broken.
func TestBrokenTrailFailsTheChange(t *testing.T) {
	t.Parallel()
	place := open(t)
	run(t, session(t, place, "owner"), `ALTER TABLE platform.audit_entries ADD CONSTRAINT broken CHECK (false) NOT VALID`)
	changes := map[string]func(ctx context.Context, tx *postgres.Tx) error{
		"added": func(ctx context.Context, tx *postgres.Tx) error {
			return audit.Added(ctx, tx, "shop.item", "k", item{})
		},
		"modified": func(ctx context.Context, tx *postgres.Tx) error {
			return audit.Modified(ctx, tx, "shop.item", "k", item{}, item{Price: 1})
		},
		"deleted": func(ctx context.Context, tx *postgres.Tx) error {
			return audit.Deleted(ctx, tx, "shop.item", "k", item{})
		},
		"performed": func(ctx context.Context, tx *postgres.Tx) error {
			return audit.Performed(ctx, tx, "shop.item", "k", nil)
		},
		"its error swallowed": func(ctx context.Context, tx *postgres.Tx) error {
			_ = audit.Added(ctx, tx, "shop.item", "k", item{})
			return nil
		},
	}
	for name, change := range changes {
		err := place.InTx(t.Context(), func(ctx context.Context, tx *postgres.Tx) error {
			if _, err := tx.Exec(ctx, `INSERT INTO shop.items (name) VALUES ($1)`, name); err != nil {
				return err
			}
			return change(ctx, tx)
		})
		swallowed := fault.Is(err, "transaction_aborted") // found out at the commit
		if swallowed != (name == "its error swallowed") || !swallowed && postgres.Code(err) != postgres.CheckViolation {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := postgrestest.Value[int](t, place, `SELECT count(*) FROM shop.items`); n != 0 {
		t.Errorf("%d changes without a trace", n)
	}
}

func TestBrokenDataLeavesNoTrace(t *testing.T) {
	t.Parallel()
	place := open(t)
	run(t, session(t, place, "owner"), `ALTER TABLE shop.items ADD CONSTRAINT broken CHECK (false) NOT VALID`)
	err := place.InTx(t.Context(), func(ctx context.Context, tx *postgres.Tx) error {
		if err := audit.Added(ctx, tx, "shop.item", "cup", item{}); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO shop.items (name) VALUES ('cup')`)
		return err
	})
	if postgres.Code(err) != postgres.CheckViolation || count(t, place) != 0 {
		t.Errorf("%v, and %d entries", err, count(t, place))
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	place := open(t)
	ctx := t.Context()
	if err := audit.Added(ctx, nil, "shop.item", "k", item{}); !fault.Is(err, "audit_no_transaction") {
		t.Errorf("no transaction: %v", err)
	}
	if err := audit.Modified(ctx, nil, "shop.item", "k", item{}, item{}); !fault.Is(err, "audit_no_transaction") {
		t.Errorf("no transaction: %v", err)
	}
	for _, c := range []struct {
		entityType, key string
		after           any
		code            string
		kind            fault.Kind
	}{
		{"", "k", item{}, "audit_entity_type", fault.Internal},
		{"item", "k", item{}, "audit_entity_type", fault.Internal},
		{"audit_test.item", "k", item{}, "audit_entity_type", fault.Internal},
		{"shop.Item", "k", item{}, "audit_entity_type", fault.Internal},
		{"platform.audit_entries", "k", item{}, "audit_entity_type", fault.Internal},
		{"shop." + strings.Repeat("x", 252), "k", item{}, "audit_entity_type", fault.Internal},
		{"shop.item", "", item{}, "audit_entity_key", fault.Internal},
		{"shop.item", strings.Repeat("ä", 129), item{}, "audit_entity_key", fault.Internal},
		{"shop.item", "a\x00b", item{}, "invalid_text", fault.Invalid},
		{"shop.item", "k", item{Name: "a\x00b"}, "invalid_text", fault.Invalid},
		{"shop.item", "k", item{Name: "\xff"}, "invalid_text", fault.Invalid},
		{"shop.item", "k", map[string]int{}, "audit_unsupported", fault.Internal},
		{"shop.item", "k", (*item)(nil), "audit_unsupported", fault.Internal},
		{"shop.item", "k", nil, "audit_unsupported", fault.Internal},
	} {
		err := place.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) error {
			return audit.Added(ctx, tx, c.entityType, c.key, c.after)
		})
		if !fault.Is(err, c.code) || fault.KindOf(err) != c.kind {
			t.Errorf("%q %q %+v: %v", c.entityType, c.key, c.after, err)
		}
	}
	err := place.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) error {
		return audit.Added(ctx, tx, "shop."+strings.Repeat("x", 251), strings.Repeat("ä", 128), item{})
	})
	if err != nil || count(t, place) != 1 {
		t.Errorf("the longest names: %v, and %d entries", err, count(t, place))
	}
}
