package sales

import (
	"context"

	"example.com/plenary/modules/sales/salesapi"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/later/internalcommand"
	"example.com/plenary/platform/postgres"
)

// onPaymentFailed has the customer told, now, and gives them more time, unless the order has moved on since the
// event: paid again, cancelled, expired.
func (m *Module) onPaymentFailed(ctx context.Context, tx *postgres.Tx, event salesapi.PaymentFailed) error {
	if _, err := m.commands.Schedule(ctx, tx, SendPaymentFailedEmail{OrderID: event.OrderID, PaymentID: event.PaymentID}); err != nil {
		return err
	}
	o, err := lockOrder(ctx, tx, event.OrderID)
	if fault.Is(err, errNoOrder.Code) {
		return nil
	}
	if err != nil {
		return err
	}
	now, err := databaseNow(ctx, tx)
	if err != nil {
		return err
	}
	if err := o.ExtendAfterFailure(now, m.expiresAfter); err != nil {
		return nil // paid again or closed meanwhile; there is nothing to extend
	}
	if err := saveOrder(ctx, tx, &o); err != nil {
		return err
	}
	_, err = m.commands.Schedule(ctx, tx, ExpireUnpaidOrder{OrderID: o.ID}, internalcommand.At(o.ExpiresOn))
	return err
}
