package internalcommand_test

import (
	"context"
	"fmt"
	"time"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/later/internalcommand"
	"example.com/plenary/platform/later/lease"
	"example.com/plenary/platform/postgres"
)

// RemindGuest is an ordinary command. What makes it deferrable is one line.
type RemindGuest struct {
	GuestID int `json:"guestId"`
}

func (RemindGuest) Policy() command.Policy { return command.Policy{Name: "hotel.remind_guest"} }

func Example() {
	var hotel postgres.Source // a real one comes from Database.Source
	pipeline := command.New(command.Deps{})
	queue := internalcommand.New(pipeline, func(database string) { /* wake every replica */ })

	remind := command.HandleOutside(pipeline, &hotel, func(_ context.Context, cmd RemindGuest) error {
		fmt.Println("dear guest", cmd.GuestID)
		return nil
	})
	internalcommand.Register(queue, remind, internalcommand.Retry(lease.Retry{MaxAttempts: 10}))

	// In the transaction of whatever makes the reminder necessary, a handler then says:
	_ = func(ctx context.Context, tx *postgres.Tx) error {
		_, err := queue.Schedule(ctx, tx, RemindGuest{GuestID: 7}, internalcommand.After(24*time.Hour))
		return err
	}

	fmt.Println(queue.Names())
	fmt.Println(remind(context.Background(), RemindGuest{GuestID: 7})) // at once, through the same door
	// Output:
	// [hotel.remind_guest]
	// dear guest 7
	// <nil>
}
