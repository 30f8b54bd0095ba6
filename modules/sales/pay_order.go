package sales

import (
	"context"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/postgres"
)

// PayOrder pays an order again whose payment failed.
type PayOrder struct {
	OrderID       uuid.UUID
	PaymentMethod string
	IfMatch       httpx.IfMatch // the version that the customer has seen; the zero value is any
}

// Policy leaves the decision to the handler: it is the order's customer who may pay.
func (PayOrder) Policy() command.Policy {
	return command.Policy{Name: "sales.pay_order", Timeout: 15 * time.Second}
}

// payOrder has the shape of placeOrder: one transaction before the gateway is asked, one after.
func (m *Module) payOrder(ctx context.Context, cmd PayOrder) (Order, error) {
	if payment, ok := command.Resumed(ctx); ok {
		return m.resume(ctx, payment)
	}
	if err := m.checkMethod(cmd.PaymentMethod); err != nil {
		return Order{}, err
	}
	var c Charge
	err := command.FirstTx(ctx, m.source, func(ctx context.Context, tx *postgres.Tx) (string, error) {
		o, err := lockOwnOrder(ctx, tx, cmd.OrderID)
		if err != nil {
			return "", err
		}
		if err := cmd.IfMatch.Check(o.Version); err != nil {
			return "", err
		}
		now, err := databaseNow(ctx, tx)
		if err != nil {
			return "", err
		}
		if c, err = newPayment(&o, cmd.PaymentMethod, now); err != nil {
			return "", err
		}
		if err := saveOrder(ctx, tx, &o); err != nil {
			return "", err
		}
		return c.PaymentID.String(), m.storePayment(ctx, tx, c)
	})
	if err != nil {
		return Order{}, err
	}
	return m.pay(ctx, c)
}

type postPaymentInput struct {
	ID      uuid.UUID     `path:"id"`
	IfMatch httpx.IfMatch `header:"If-Match"`
	Body    struct {
		PaymentMethod string `json:"paymentMethod" example:"tok_visa"`
	}
}

func (m *Module) postPayment(ctx context.Context, in postPaymentInput) (httpx.Response[OrderView], error) {
	cmd := PayOrder{OrderID: in.ID, PaymentMethod: in.Body.PaymentMethod, IfMatch: in.IfMatch}
	return httpx.Act(ctx, m.PayOrder, cmd, showOrder)
}
