package sales

import (
	"context"

	"example.com/plenary/modules/sales/salesapi"
	"example.com/plenary/platform/postgres"
)

// onOrderPaid has the order confirmed by mail.
func (m *Module) onOrderPaid(ctx context.Context, tx *postgres.Tx, event salesapi.OrderPaid) error {
	_, err := m.commands.Schedule(ctx, tx, SendOrderConfirmationEmail{OrderID: event.OrderID})
	return err
}
