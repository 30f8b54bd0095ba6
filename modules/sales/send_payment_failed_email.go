package sales

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/command"
)

// SendPaymentFailedEmail tells a customer that a payment was declined, and where to pay again.
type SendPaymentFailedEmail struct {
	OrderID   uuid.UUID `json:"orderId"`
	PaymentID uuid.UUID `json:"paymentId"`
}

// Policy has no permission: the mail is a consequence, and the customer was asked for a permission when paying.
func (SendPaymentFailedEmail) Policy() command.Policy {
	return command.Policy{Name: "sales.send_payment_failed_email", Timeout: 20 * time.Second}
}

// sendPaymentFailedEmail runs outside of a transaction, because it talks to a mail server; see mailAbout for
// what that means. The mail is about the payment: a customer who has paid again by now is told both.
func (m *Module) sendPaymentFailedEmail(ctx context.Context, cmd SendPaymentFailedEmail) error {
	var reason string
	err := m.source.QueryRow(ctx, `SELECT coalesce(reason, '') FROM sales.payments WHERE id = $1`, cmd.PaymentID).Scan(&reason)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("read payment: %w", err)
	}
	return m.mailAbout(ctx, "payment_failed", cmd.OrderID, reason)
}
