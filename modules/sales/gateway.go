package sales

import (
	"context"

	"github.com/google/uuid"
)

// Gateway takes payments. It is somebody else's system: slow, away, or done with what we never heard of.
type Gateway interface {
	// Knows reports whether the gateway accepts a payment method at all.
	Knows(method string) bool
	// Charge asks for a payment. The same payment asked for again has the first one's outcome and is charged
	// once, so after a crash or a silence the same call is made again. An error means that the outcome is
	// not known; a decline is not an error.
	Charge(ctx context.Context, c Charge) (Outcome, error)
}

// Charge is one payment. PaymentID serves as the idempotency key.
type Charge struct {
	PaymentID uuid.UUID
	OrderID   uuid.UUID
	Method    string
	Amount    Money
}

// Outcome is what became of a charge.
type Outcome struct {
	Approved bool
	Reason   string // why not: "card_declined", "insufficient_funds"
}
