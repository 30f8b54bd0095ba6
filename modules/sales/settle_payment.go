package sales

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/later/internalcommand"
	"example.com/plenary/platform/postgres"
)

// SettlePayment finds out what became of a payment that nobody has recorded an outcome of: the gateway was
// silent, or the process died in between. It is scheduled together with every payment, for a moment after the
// gateway's time limit, and finds nothing to do as a rule.
type SettlePayment struct {
	PaymentID uuid.UUID `json:"paymentId"`
}

// Policy has no permission: the customer was asked for it when paying.
func (SettlePayment) Policy() command.Policy {
	return command.Policy{Name: "sales.settle_payment", Timeout: 20 * time.Second}
}

// settleAfter leaves the one who pays the time to record the outcome.
func settleAfter(gatewayTimeout time.Duration) internalcommand.When {
	return internalcommand.After(gatewayTimeout + 2*time.Second)
}

// settlePayment runs outside of a transaction, because it asks the gateway, and may run more than once: the
// gateway answers the same payment the same way.
func (m *Module) settlePayment(ctx context.Context, cmd SettlePayment) error {
	c, open, err := loadPayment(ctx, m.source, cmd.PaymentID)
	if fault.KindOf(err) == fault.NotFound {
		m.logger.InfoContext(ctx, "a payment that was to be settled is gone", slog.String("payment", cmd.PaymentID.String()))
		return nil
	}
	if err != nil || !open {
		return err
	}
	outcome, err := m.charge(ctx, c)
	if err != nil {
		return err
	}
	m.logger.InfoContext(ctx, "a payment was settled late", slog.String("payment", c.PaymentID.String()), slog.Bool("approved", outcome.Approved))
	return m.source.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) error {
		_, err := m.settle(ctx, tx, c, outcome)
		return err
	})
}
