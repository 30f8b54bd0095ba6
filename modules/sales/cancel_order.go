package sales

import (
	"context"

	"github.com/google/uuid"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/postgres"
)

// CancelOrder closes an order that its customer does not want any more.
type CancelOrder struct {
	OrderID uuid.UUID
	IfMatch httpx.IfMatch // the version that the customer has seen; the zero value is any
}

// Policy leaves the decision to the handler: it is the order's customer who may cancel.
func (CancelOrder) Policy() command.Policy { return command.Policy{Name: "sales.cancel_order"} }

// cancelOrder gives the tickets back in the transaction that closes the order.
func (m *Module) cancelOrder(ctx context.Context, tx *postgres.Tx, cmd CancelOrder) (Order, error) {
	o, err := lockOwnOrder(ctx, tx, cmd.OrderID)
	if err != nil {
		return Order{}, err
	}
	if err := cmd.IfMatch.Check(o.Version); err != nil {
		return Order{}, err
	}
	if err := o.Cancel(); err != nil {
		return Order{}, err
	}
	if err := restoreStock(ctx, tx, o.Lines); err != nil {
		return Order{}, err
	}
	return o, saveOrder(ctx, tx, &o)
}

type postCancellationInput struct {
	ID      uuid.UUID     `path:"id"`
	IfMatch httpx.IfMatch `header:"If-Match"`
}

func (m *Module) postCancellation(ctx context.Context, in postCancellationInput) (httpx.Response[OrderView], error) {
	return httpx.Act(ctx, m.CancelOrder, CancelOrder{OrderID: in.ID, IfMatch: in.IfMatch}, showOrder)
}
