package audit_test

import (
	"context"
	"fmt"

	"example.com/plenary/platform/audit"
	"example.com/plenary/platform/postgres"
)

type Guest struct {
	Name  string `json:"name" pii:"true"`
	Room  int    `json:"room"`
	Notes string `json:"-"` // no property
}

// The hotel moves a guest, and who moved whom where commits with the move.
func moveGuest(ctx context.Context, tx *postgres.Tx, id string, guest Guest, room int) error {
	before := guest
	guest.Room = room
	if _, err := tx.Exec(ctx, `UPDATE hotel.guests SET room = $2 WHERE id = $1`, id, room); err != nil {
		return err
	}
	return audit.Modified(ctx, tx, "hotel.guest", id, before, guest)
}

func Example() {
	_ = moveGuest // called in a handler, with the transaction that the pipeline opened

	// What the entry of such a move says:
	changes, _ := audit.Difference(Guest{Name: "Ada", Room: 1}, Guest{Name: "Ada L.", Room: 2})
	for _, c := range changes {
		fmt.Printf("%s: %s → %s\n", c.Property, c.Old, c.New)
	}
	// Output:
	// name: "[REDACTED]" → "[REDACTED]"
	// room: 1 → 2
}
