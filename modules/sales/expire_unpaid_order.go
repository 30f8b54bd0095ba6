package sales

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/postgres"
)

// ExpireUnpaidOrder closes an order that was not paid in time and gives its tickets back. It is armed with the
// order, and again whenever a failed payment gives the customer more time.
type ExpireUnpaidOrder struct {
	OrderID uuid.UUID `json:"orderId"`
}

// Policy has no permission: time, not a user, expires orders.
func (ExpireUnpaidOrder) Policy() command.Policy {
	return command.Policy{Name: "sales.expire_unpaid_order", Timeout: 10 * time.Second}
}

// expireUnpaidOrder decides by the order, not by when it was scheduled: an order that is gone, paid, closed, or
// has more time by now is left alone, and that is success.
func (m *Module) expireUnpaidOrder(ctx context.Context, tx *postgres.Tx, cmd ExpireUnpaidOrder) error {
	o, err := lockOrder(ctx, tx, cmd.OrderID)
	if fault.Is(err, errNoOrder.Code) {
		m.logger.InfoContext(ctx, "an order that was to expire is gone", slog.String("order", cmd.OrderID.String()))
		return nil
	}
	if err != nil {
		return err
	}
	now, err := databaseNow(ctx, tx)
	if err != nil {
		return err
	}
	if err := o.Expire(now); err != nil {
		m.logger.DebugContext(ctx, "an order does not expire now", slog.String("order", o.Number), slog.String("status", string(o.Status)))
		return nil
	}
	if err := restoreStock(ctx, tx, o.Lines); err != nil {
		return err
	}
	return saveOrder(ctx, tx, &o)
}
