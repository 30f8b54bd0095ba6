package sales

import (
	"context"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/platform/command"
)

// SendOrderConfirmationEmail tells a customer that the order is paid.
type SendOrderConfirmationEmail struct {
	OrderID uuid.UUID `json:"orderId"`
}

// Policy has no permission: the mail is a consequence, and the customer was asked for a permission when paying.
func (SendOrderConfirmationEmail) Policy() command.Policy {
	return command.Policy{Name: "sales.send_order_confirmation_email", Timeout: 20 * time.Second}
}

func (m *Module) sendOrderConfirmationEmail(ctx context.Context, cmd SendOrderConfirmationEmail) error {
	return m.mailAbout(ctx, "order_confirmed", cmd.OrderID, "")
}
