package sales

import (
	"context"
	"time"

	"github.com/google/uuid"

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
// what that means.
func (m *Module) sendPaymentFailedEmail(ctx context.Context, cmd SendPaymentFailedEmail) error {
	return m.mailAbout(ctx, "payment_failed", cmd.OrderID, func(o Order) bool {
		return o.PaymentID == cmd.PaymentID && (o.Status == PaymentFailed || o.Status == Expired)
	})
}
