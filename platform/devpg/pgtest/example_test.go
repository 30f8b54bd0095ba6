package pgtest_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/devpg/pgtest"
)

var orders = pgtest.Template{
	Name:    "orders",
	Version: "1", // a hash of the migrations, in earnest
	Build: func(ctx context.Context, ownerURL string) error {
		conn, err := pgx.Connect(ctx, ownerURL)
		if err != nil {
			return err
		}
		defer conn.Close(ctx)
		_, err = conn.Exec(ctx, `create table orders (number text primary key);
			grant select, insert on orders to `+pgtest.AppRole)
		return err
	},
}

func Example() {
	// The function is a test, and go test calls it.
	_ = TestOrderNumbersAreUnique
}

func TestOrderNumbersAreUnique(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), pgtest.AsApp(t, pgtest.Database(t, orders)))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), "insert into orders values ('P-1')"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "insert into orders values ('P-1')"); err == nil {
		t.Error("two orders have the same number")
	}
}
