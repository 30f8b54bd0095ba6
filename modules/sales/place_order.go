package sales

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/later/internalcommand"
	"example.com/plenary/platform/postgres"
)

// PlaceOrder reserves tickets for the one who asks, and pays for them.
type PlaceOrder struct {
	Lines         []OrderedLine
	PaymentMethod string
}

// OrderedLine is what a customer says about a line; name and price are ours to say.
type OrderedLine struct {
	ProductID uuid.UUID
	Quantity  int
}

// Policy leaves the gateway its time, and the two transactions around it theirs.
func (PlaceOrder) Policy() command.Policy {
	return command.Policy{Name: "sales.place_order", Permission: PermissionOrder, Timeout: 15 * time.Second}
}

// Validate looks at what can be told without the database.
func (c PlaceOrder) Validate() error {
	var v fault.Violations
	v.Check(len(c.Lines) >= 1 && len(c.Lines) <= 20, "lines", "out_of_range", "an order has 1 to 20 lines")
	for i, l := range c.Lines {
		v.Check(l.Quantity >= 1 && l.Quantity <= 20, fmt.Sprintf("lines[%d].quantity", i), "out_of_range", "must be 1 to 20")
	}
	return v.Err()
}

// placeOrder runs outside of a transaction, because it asks the gateway. Order, reserved stock, payment,
// expiry and the later look at the payment are one fact: they commit together, before the gateway is asked.
// What happens after that, this process or settle_payment records.
func (m *Module) placeOrder(ctx context.Context, cmd PlaceOrder) (Order, error) {
	if payment, ok := command.Resumed(ctx); ok {
		return m.resume(ctx, payment)
	}
	customer, ok := identity.PrincipalOf(ctx).UserID()
	if !ok {
		return Order{}, fault.New(fault.Forbidden, "sales.not_a_customer", "only a user can order")
	}
	if err := m.checkMethod(cmd.PaymentMethod); err != nil {
		return Order{}, err
	}
	var c Charge
	err := command.FirstTx(ctx, m.source, func(ctx context.Context, tx *postgres.Tx) (string, error) {
		o, err := m.openOrder(ctx, tx, customer, cmd.Lines)
		if err != nil {
			return "", err
		}
		if c, err = newPayment(&o, cmd.PaymentMethod, o.CreatedOn); err != nil {
			return "", err
		}
		if err := m.insertOrder(ctx, tx, &o); err != nil {
			return "", err
		}
		return c.PaymentID.String(), m.storePayment(ctx, tx, c)
	})
	if err != nil {
		return Order{}, err
	}
	return m.pay(ctx, c)
}

// openOrder prices the lines from the catalogue and reserves the stock.
func (m *Module) openOrder(ctx context.Context, tx *postgres.Tx, customer uuid.UUID, ordered []OrderedLine) (Order, error) {
	products, err := catalogue(ctx, tx, ordered)
	if err != nil {
		return Order{}, err
	}
	now, err := databaseNow(ctx, tx)
	if err != nil {
		return Order{}, err
	}
	o := Order{
		ID: uuid.Must(uuid.NewV7()), CustomerID: customer, Status: PendingPayment,
		CreatedOn: now, ExpiresOn: now.Add(m.expiresAfter), Version: 1,
	}
	var v fault.Violations
	for i, l := range ordered {
		p, ok := products[l.ProductID]
		if !ok {
			v.Add(fmt.Sprintf("lines[%d].productId", i), "unknown_value", "is not a product")
			continue
		}
		o.Lines = append(o.Lines, Line{ProductID: p.ID, EventID: p.EventID, Name: p.Name, Quantity: l.Quantity, UnitPrice: p.Price})
	}
	if err := v.Err(); err != nil {
		return Order{}, err
	}
	if o.Total, err = totalOf(o.Lines); err != nil {
		return Order{}, err
	}
	return o, reserveStock(ctx, tx, o.Lines)
}

func catalogue(ctx context.Context, tx *postgres.Tx, ordered []OrderedLine) (map[uuid.UUID]Product, error) {
	ids := make([]uuid.UUID, len(ordered))
	for i, l := range ordered {
		ids[i] = l.ProductID
	}
	rows, err := tx.Query(ctx, `SELECT `+productColumns+` FROM sales.products WHERE id = ANY($1)`, ids)
	if err != nil {
		return nil, fmt.Errorf("read products: %w", err)
	}
	list, err := pgx.CollectRows(rows, scanProduct)
	products := map[uuid.UUID]Product{}
	for _, p := range list {
		products[p.ID] = p
	}
	return products, err
}

func totalOf(lines []Line) (Money, error) {
	total := Money{Currency: lines[0].UnitPrice.Currency}
	for _, l := range lines {
		amount, err := l.UnitPrice.Times(l.Quantity)
		if err == nil {
			total, err = total.Plus(amount)
		}
		if err != nil {
			return Money{}, err
		}
	}
	return total, nil
}

// insertOrder stores a new order, payment under way, and arms its expiry.
func (m *Module) insertOrder(ctx context.Context, tx *postgres.Tx, o *Order) error {
	err := tx.QueryRow(ctx, `
		INSERT INTO sales.orders (id, customer_id, status, total, currency, payment_id, created_on, expires_on)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING number`,
		o.ID, o.CustomerID, o.Status, o.Total.Amount, o.Total.Currency, o.PaymentID, o.CreatedOn, o.ExpiresOn).Scan(&o.Number)
	if err != nil {
		return fmt.Errorf("store order: %w", err)
	}
	if err := insertLines(ctx, tx, o); err != nil {
		return err
	}
	if err := auditAdded(ctx, tx, o); err != nil {
		return err
	}
	_, err = m.commands.Schedule(ctx, tx, ExpireUnpaidOrder{OrderID: o.ID}, internalcommand.At(o.ExpiresOn))
	return err
}

func insertLines(ctx context.Context, tx *postgres.Tx, o *Order) error {
	products, events := make([]uuid.UUID, len(o.Lines)), make([]uuid.UUID, len(o.Lines))
	names, quantities, prices := make([]string, len(o.Lines)), make([]int32, len(o.Lines)), make([]int64, len(o.Lines))
	for i, l := range o.Lines {
		products[i], events[i], names[i], quantities[i], prices[i] = l.ProductID, l.EventID, l.Name, int32(l.Quantity), l.UnitPrice.Amount
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO sales.order_lines (order_id, position, product_id, event_id, name, quantity, unit_price)
		SELECT $1, position, product_id, event_id, name, quantity, unit_price
		FROM unnest($2::uuid[], $3::uuid[], $4::text[], $5::int[], $6::bigint[])
			WITH ORDINALITY AS l(product_id, event_id, name, quantity, unit_price, position)`,
		o.ID, products, events, names, quantities, prices)
	if err != nil {
		return fmt.Errorf("store order lines: %w", err)
	}
	return nil
}

type postOrderInput struct {
	Body struct {
		Lines         []postOrderLine `json:"lines" minItems:"1" maxItems:"20"`
		PaymentMethod string          `json:"paymentMethod" example:"tok_visa"`
	}
}

type postOrderLine struct {
	ProductID uuid.UUID `json:"productId"`
	Quantity  int       `json:"quantity" minimum:"1" maximum:"20"`
}

// postOrder answers 201 for an order whose card was declined, too: the order exists and can be paid again.
func (m *Module) postOrder(ctx context.Context, in postOrderInput) (httpx.Response[OrderView], error) {
	cmd := PlaceOrder{PaymentMethod: in.Body.PaymentMethod}
	for _, l := range in.Body.Lines {
		cmd.Lines = append(cmd.Lines, OrderedLine(l))
	}
	return httpx.Act(ctx, m.PlaceOrder, cmd, func(o Order) httpx.Response[OrderView] {
		return httpx.Created("/api/v1/sales/orders/"+o.ID.String(), viewOf(o)).WithVersion(o.Version)
	})
}
