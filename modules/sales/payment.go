package sales

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"example.com/plenary/modules/sales/salesapi"
	"example.com/plenary/platform/command"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/later/internalcommand"
	"example.com/plenary/platform/later/lease"
	"example.com/plenary/platform/postgres"
)

// newPayment moves the order to a new payment, which is yet to be stored and asked for.
func newPayment(o *Order, method string, now time.Time) (Charge, error) {
	c := Charge{PaymentID: uuid.Must(uuid.NewV7()), OrderID: o.ID, Method: method, Amount: o.Total}
	return c, o.InitiatePayment(c.PaymentID, now)
}

// storePayment stores a payment that is about to be asked for. In the same transaction settle_payment is
// scheduled, so that somebody asks for the outcome whatever becomes of this process.
func (m *Module) storePayment(ctx context.Context, tx *postgres.Tx, c Charge) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO sales.payments (id, order_id, method, amount, currency, status) VALUES ($1, $2, $3, $4, $5, 'initiated')`,
		c.PaymentID, c.OrderID, c.Method, c.Amount.Amount, c.Amount.Currency)
	if err != nil {
		return fmt.Errorf("store payment: %w", err)
	}
	_, err = m.commands.Schedule(ctx, tx, SettlePayment{PaymentID: c.PaymentID}, settleAfter(m.gatewayTimeout))
	return err
}

// checkMethod refuses what the gateway does not know.
func (m *Module) checkMethod(method string) error {
	var v fault.Violations
	v.Check(m.gateway.Knows(method), "paymentMethod", "unknown_value", "is not a payment method")
	return v.Err()
}

// pay asks the gateway and records what it says. Its silence is no failure of the order: that stays as it is, and
// settle_payment asks again.
func (m *Module) pay(ctx context.Context, c Charge) (Order, error) {
	outcome, err := m.charge(ctx, c)
	silent := err != nil
	if silent {
		m.logger.WarnContext(ctx, "the outcome of a payment is not known yet; it is asked for again",
			slog.String("payment", c.PaymentID.String()), slog.Any("error", err))
	}
	return command.LastTx(ctx, m.source, func(ctx context.Context, tx *postgres.Tx) (Order, error) {
		if silent {
			return loadOrder(ctx, tx, c.OrderID)
		}
		return m.settle(ctx, tx, c, outcome)
	})
}

// resume goes on with a payment that an earlier run of the same request began: the gateway answers the same
// payment the same way.
func (m *Module) resume(ctx context.Context, payment string) (Order, error) {
	id, err := uuid.Parse(payment)
	if err != nil {
		return Order{}, fmt.Errorf("resume a payment: %w", err)
	}
	c, _, err := loadPayment(ctx, m.source, id)
	if err != nil {
		return Order{}, err
	}
	return m.pay(ctx, c)
}

// charge asks the gateway, within its time limit. It is called outside of any transaction.
func (m *Module) charge(ctx context.Context, c Charge) (Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, m.gatewayTimeout)
	defer cancel()
	outcome, err := m.gateway.Charge(ctx, c)
	if err != nil {
		return Outcome{}, fault.Wrap(err, fault.Unavailable, "sales.gateway_unavailable", "the payment gateway does not answer")
	}
	return outcome, nil
}

// settle records a payment's outcome, moves its order and publishes what happened. Whoever comes second finds
// the payment settled and changes nothing: the first one was told the same by the gateway.
func (m *Module) settle(ctx context.Context, tx *postgres.Tx, c Charge, outcome Outcome) (Order, error) {
	o, err := lockOrder(ctx, tx, c.OrderID)
	if err != nil {
		return Order{}, err
	}
	status := "approved"
	if !outcome.Approved {
		status = "declined"
	}
	tag, err := tx.Exec(ctx, `
		UPDATE sales.payments SET status = $2, reason = nullif($3, ''), settled_on = now() WHERE id = $1 AND status = 'initiated'`,
		c.PaymentID, status, outcome.Reason)
	if err != nil {
		return Order{}, fmt.Errorf("settle payment: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return o, nil
	}
	if !outcome.Approved {
		if err := o.MarkPaymentFailed(c.PaymentID, outcome.Reason); err != nil {
			return Order{}, err
		}
		if _, err := m.events.Publish(ctx, tx, salesapi.PaymentFailed{OrderID: o.ID, PaymentID: c.PaymentID}); err != nil {
			return Order{}, err
		}
		return o, saveOrder(ctx, tx, &o)
	}
	if err := o.MarkPaid(c.PaymentID); err != nil {
		return Order{}, err
	}
	paid := salesapi.OrderPaid{OrderID: o.ID, CustomerID: o.CustomerID}
	for _, l := range o.Lines {
		paid.Tickets = append(paid.Tickets, salesapi.Tickets{EventID: l.EventID, Quantity: l.Quantity})
	}
	if _, err := m.events.Publish(ctx, tx, paid); err != nil {
		return Order{}, err
	}
	return o, saveOrder(ctx, tx, &o)
}

// loadPayment reads a payment, and whether its outcome is still to be recorded.
func loadPayment(ctx context.Context, r postgres.Reader, id uuid.UUID) (c Charge, open bool, err error) {
	c = Charge{PaymentID: id}
	err = r.QueryRow(ctx, `SELECT order_id, method, amount, currency, status = 'initiated' FROM sales.payments WHERE id = $1`, id).
		Scan(&c.OrderID, &c.Method, &c.Amount.Amount, &c.Amount.Currency, &open)
	if errors.Is(err, pgx.ErrNoRows) {
		return Charge{}, false, fault.New(fault.NotFound, "sales.payment_not_found", "there is no such payment")
	}
	if err != nil {
		return Charge{}, false, fmt.Errorf("read payment: %w", err)
	}
	return c, open, nil
}

// A payment or a mail waits for somebody else's system. One that is away for the night must not cost the
// customer anything.
var (
	settleRetry = internalcommand.Retry(lease.Retry{MaxAttempts: 100, Base: 5 * time.Second, Max: 10 * time.Minute})
	mailRetry   = internalcommand.Retry(lease.Retry{MaxAttempts: 40, Base: 5 * time.Second, Max: 30 * time.Minute})
)
