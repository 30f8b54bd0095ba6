package postgres_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/postgres"
)

// renameRoom writes, so it takes tx right after ctx; what must wait for the commit waits in a hook.
func renameRoom(ctx context.Context, tx *postgres.Tx, id int, name string) error {
	tag, err := tx.Exec(ctx, `UPDATE hotel.rooms SET name = $2 WHERE id = $1`, id, name)
	if err != nil {
		return fmt.Errorf("rename room %d: %w", id, err)
	}
	if tag.RowsAffected() == 0 {
		return fault.New(fault.NotFound, "hotel.room_not_found", "there is no such room")
	}
	tx.AfterCommit(func(context.Context) { fmt.Println("the sign on the door can be changed") })
	return nil
}

func Example() {
	_ = func(ctx context.Context, hotel *postgres.Source) error {
		return hotel.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) error {
			return renameRoom(ctx, tx, 7, "Ada")
		})
	}
	// What comes back has a kind where PostgreSQL's code tells one.
	for _, err := range []error{
		&pgconn.PgError{Code: "23505", Message: "duplicate key"},
		&pgconn.PgError{Code: "40P01", Message: "deadlock detected"},
		pgx.ErrNoRows,
		errors.New("anything else"),
	} {
		fmt.Println(fault.KindOf(postgres.Fault(fmt.Errorf("wrapped: %w", err))))
	}
	// Output:
	// conflict
	// unavailable
	// internal
	// internal
}
