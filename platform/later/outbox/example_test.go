package outbox_test

import (
	"context"
	"fmt"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/later/outbox"
	"example.com/plenary/platform/postgres"
)

// GuestArrived is what the hotel publishes.
type GuestArrived struct {
	GuestID int `json:"guestId"`
}

func (GuestArrived) EventName() string { return "hotel.guest_arrived" }

func Example() {
	var hotel, kitchen postgres.Source // real ones come from Database.Source
	box := outbox.New(command.New(command.Deps{}), func(database string) { /* wake every replica */ })

	// The kitchen listens; the hotel need not know.
	outbox.Subscribe(box, &kitchen, "kitchen.on_guest_arrived", func(ctx context.Context, tx *postgres.Tx, e GuestArrived) error {
		_, err := tx.Exec(ctx, `INSERT INTO kitchen.breakfasts (guest_id) VALUES ($1)`, e.GuestID)
		return err
	})

	// In the transaction of the check-in, a handler of the hotel then says:
	_ = func(ctx context.Context, tx *postgres.Tx) error {
		_, err := box.Publish(ctx, tx, GuestArrived{GuestID: 7})
		return err
	}

	_ = hotel.Name()
	fmt.Println(box.Handlers())
	// Output: [hotel.guest_arrived → kitchen.on_guest_arrived]
}
