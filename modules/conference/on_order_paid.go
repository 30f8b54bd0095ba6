package conference

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"example.com/plenary/modules/sales/salesapi"
	"example.com/plenary/platform/postgres"
)

// onOrderPaid registers the one who has paid, once a ticket.
func (m *Module) onOrderPaid(ctx context.Context, tx *postgres.Tx, event salesapi.OrderPaid) error {
	var ids, events []uuid.UUID
	var seats []int32
	taken := map[uuid.UUID]int32{} // lines of one order may be about one event
	for _, t := range event.Tickets {
		for range t.Quantity {
			taken[t.EventID]++
			ids, events, seats = append(ids, uuid.Must(uuid.NewV7())), append(events, t.EventID), append(seats, taken[t.EventID])
		}
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO conference.registrations (id, event_id, order_id, seat, attendee_id)
		SELECT r.id, r.event_id, $1, r.seat, $2 FROM unnest($3::uuid[], $4::uuid[], $5::int[]) AS r(id, event_id, seat)
		ON CONFLICT (order_id, event_id, seat) DO NOTHING`, event.OrderID, event.CustomerID, ids, events, seats)
	if err != nil {
		return fmt.Errorf("register attendees: %w", err)
	}
	return nil
}
