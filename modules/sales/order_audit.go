package sales

import (
	"context"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/platform/audit"
	"example.com/plenary/platform/postgres"
)

// auditType is what the trail calls an order.
const auditType = "sales.order"

// audited is what the trail keeps of an order: what somebody may ask about later, and nothing that names a person.
type audited struct {
	Number        string    `json:"number"`
	CustomerID    uuid.UUID `json:"customerId"`
	Status        Status    `json:"status"`
	Total         Money     `json:"total"`
	PaymentID     uuid.UUID `json:"paymentId"`
	FailureReason string    `json:"failureReason"`
	ExpiresOn     time.Time `json:"expiresOn"`
}

func auditedOf(o Order) audited {
	return audited{
		Number: o.Number, CustomerID: o.CustomerID, Status: o.Status, Total: o.Total, PaymentID: o.PaymentID,
		FailureReason: o.FailureReason, ExpiresOn: o.ExpiresOn.UTC(),
	}
}

func auditAdded(ctx context.Context, tx *postgres.Tx, o *Order) error {
	o.stored = auditedOf(*o)
	return audit.Added(ctx, tx, auditType, o.ID.String(), o.stored)
}

// auditModified records what has changed since the order was read.
func auditModified(ctx context.Context, tx *postgres.Tx, o *Order) error {
	before := o.stored
	o.stored = auditedOf(*o)
	return audit.Modified(ctx, tx, auditType, o.ID.String(), before, o.stored)
}
