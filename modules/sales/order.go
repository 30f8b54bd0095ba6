package sales

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/postgres"
)

// Status is where an order stands:
//
//	pending_payment → payment_initiated → paid
//	                  payment_initiated → payment_failed → payment_initiated (paid again)
//	pending_payment, payment_failed     → cancelled, expired
//
// paid, cancelled and expired are final.
type Status string

// The statuses, as they are stored and shown.
const (
	PendingPayment   Status = "pending_payment"
	PaymentInitiated Status = "payment_initiated"
	PaymentFailed    Status = "payment_failed"
	Paid             Status = "paid"
	Cancelled        Status = "cancelled"
	Expired          Status = "expired"
)

// longestOpen is how long after its creation an order may stay open, however often a payment fails.
const longestOpen = 2 * time.Hour

// Order is what a customer wants to buy. Its methods are the only way to change it; they know nothing of the
// database. A change that the order's state forbids is a Conflict and changes nothing.
type Order struct {
	ID            uuid.UUID
	Number        string
	CustomerID    uuid.UUID
	Status        Status
	Lines         []Line
	Total         Money
	PaymentID     uuid.UUID // the latest payment
	FailureReason string
	CreatedOn     time.Time
	ExpiresOn     time.Time
	Version       int64

	stored audited // as it was read; what the trail compares with
}

// Line is one product in an order, with name and price as they were when it was placed.
type Line struct {
	ProductID uuid.UUID
	EventID   uuid.UUID
	Name      string
	Quantity  int
	UnitPrice Money
}

// InitiatePayment says that a payment is under way: from then on nothing but its outcome moves the order. It is
// refused when the order's time is up, even if nobody has expired it yet.
func (o *Order) InitiatePayment(payment uuid.UUID, now time.Time) error {
	if o.Status != PendingPayment && o.Status != PaymentFailed {
		return o.refuse()
	}
	if !now.Before(o.ExpiresOn) {
		return errClosed
	}
	o.Status, o.PaymentID, o.FailureReason = PaymentInitiated, payment, ""
	return nil
}

// MarkPaid records that payment was approved.
func (o *Order) MarkPaid(payment uuid.UUID) error {
	if o.Status != PaymentInitiated || o.PaymentID != payment {
		return o.refuse()
	}
	o.Status = Paid
	return nil
}

// MarkPaymentFailed records that payment was declined, and why.
func (o *Order) MarkPaymentFailed(payment uuid.UUID, reason string) error {
	if o.Status != PaymentInitiated || o.PaymentID != payment {
		return o.refuse()
	}
	o.Status, o.FailureReason = PaymentFailed, reason
	return nil
}

// ExtendAfterFailure gives the customer another window to pay, but not beyond two hours after the order was
// placed, and never takes time away.
func (o *Order) ExtendAfterFailure(now time.Time, window time.Duration) error {
	if o.Status != PaymentFailed {
		return o.refuse()
	}
	until := now.Add(window)
	if limit := o.CreatedOn.Add(longestOpen); until.After(limit) {
		until = limit
	}
	if until.After(o.ExpiresOn) {
		o.ExpiresOn = until
	}
	return nil
}

// Cancel ends an order that is not paid, because its customer says so. While a payment is under way it is
// refused: the customer may have paid.
func (o *Order) Cancel() error {
	if o.Status != PendingPayment && o.Status != PaymentFailed {
		return o.refuse()
	}
	o.Status = Cancelled
	return nil
}

// Expire ends an unpaid order whose time is up. While a payment is under way it is not: its outcome decides.
func (o *Order) Expire(now time.Time) error {
	if o.Status != PendingPayment && o.Status != PaymentFailed {
		return o.refuse()
	}
	if now.Before(o.ExpiresOn) {
		return fault.New(fault.Conflict, "sales.not_expired", "the order can still be paid")
	}
	o.Status = Expired
	return nil
}

var errClosed = fault.New(fault.Conflict, "sales.order_closed", "the order is closed")

func (o *Order) refuse() error {
	switch o.Status {
	case Paid:
		return fault.New(fault.Conflict, "sales.already_paid", "the order is paid already")
	case Cancelled, Expired:
		return errClosed
	case PaymentInitiated:
		return fault.New(fault.Conflict, "sales.payment_in_progress", "a payment of the order is under way")
	default:
		return fault.New(fault.Conflict, "sales.order_state", "the order's state does not allow that")
	}
}

const orderColumns = `o.id, o.number, o.customer_id, o.status, o.total, o.currency, o.payment_id, coalesce(o.failure_reason, ''),
	o.created_on, o.expires_on, o.version`

func scanOrder(row pgx.CollectableRow) (Order, error) {
	var o Order
	var payment *uuid.UUID
	err := row.Scan(&o.ID, &o.Number, &o.CustomerID, &o.Status, &o.Total.Amount, &o.Total.Currency, &payment, &o.FailureReason,
		&o.CreatedOn, &o.ExpiresOn, &o.Version)
	if payment != nil {
		o.PaymentID = *payment
	}
	return o, err
}

var errNoOrder = fault.New(fault.NotFound, "sales.order_not_found", "there is no such order")

// loadOrder reads an order with its lines. NotFound ("sales.order_not_found").
func loadOrder(ctx context.Context, r postgres.Reader, id uuid.UUID) (Order, error) {
	return readOrder(ctx, r, id, "")
}

// lockOwnOrder is lockOrder for the customer of the order. To anybody else it does not exist.
func lockOwnOrder(ctx context.Context, tx *postgres.Tx, id uuid.UUID) (Order, error) {
	customer, ok := identity.PrincipalOf(ctx).UserID()
	if !ok {
		return Order{}, fault.New(fault.Unauthenticated, "unauthenticated", "sign in first")
	}
	o, err := lockOrder(ctx, tx, id)
	if err == nil && o.CustomerID != customer {
		return Order{}, errNoOrder
	}
	return o, err
}

// lockOrder is loadOrder that keeps others from changing the order until tx ends. Products are locked only
// after orders, so that nobody waits in a circle.
func lockOrder(ctx context.Context, tx *postgres.Tx, id uuid.UUID) (Order, error) {
	return readOrder(ctx, tx, id, " FOR NO KEY UPDATE")
}

func readOrder(ctx context.Context, r postgres.Reader, id uuid.UUID, lock string) (Order, error) {
	o, err := postgres.One(ctx, r, "read order", scanOrder, errNoOrder, `SELECT `+orderColumns+` FROM sales.orders o WHERE o.id = $1`+lock, id)
	if err != nil {
		return Order{}, err
	}
	o.stored = auditedOf(o)
	orders := []Order{o}
	err = attachLines(ctx, r, orders)
	return orders[0], err
}

// attachLines reads the lines of several orders at once.
func attachLines(ctx context.Context, r postgres.Reader, orders []Order) error {
	ids := make([]uuid.UUID, len(orders))
	for i, o := range orders {
		ids[i] = o.ID
	}
	rows, err := r.Query(ctx, `
		SELECT order_id, product_id, event_id, name, quantity, unit_price
		FROM sales.order_lines WHERE order_id = ANY($1) ORDER BY order_id, position`, ids)
	if err != nil {
		return fmt.Errorf("read order lines: %w", err)
	}
	var orderID uuid.UUID
	var l Line
	_, err = pgx.ForEachRow(rows, []any{&orderID, &l.ProductID, &l.EventID, &l.Name, &l.Quantity, &l.UnitPrice.Amount}, func() error {
		o := &orders[slices.IndexFunc(orders, func(o Order) bool { return o.ID == orderID })]
		l.UnitPrice.Currency = o.Total.Currency
		o.Lines = append(o.Lines, l)
		return nil
	})
	if err != nil {
		return fmt.Errorf("read order lines: %w", err)
	}
	return nil
}

// saveOrder writes what the methods of an order that was locked have changed, and counts the version up.
func saveOrder(ctx context.Context, tx *postgres.Tx, o *Order) error {
	err := tx.QueryRow(ctx, `
		UPDATE sales.orders SET status = $2, payment_id = $3, failure_reason = nullif($4, ''), expires_on = $5, version = version + 1
		WHERE id = $1 RETURNING version`,
		o.ID, o.Status, o.PaymentID, o.FailureReason, o.ExpiresOn).Scan(&o.Version)
	if err != nil {
		return fmt.Errorf("save order: %w", err)
	}
	return auditModified(ctx, tx, o)
}

// databaseNow returns the database's clock, by which expiries are decided.
func databaseNow(ctx context.Context, tx *postgres.Tx) (now time.Time, err error) {
	err = tx.QueryRow(ctx, `SELECT now()`).Scan(&now)
	return now, err
}
