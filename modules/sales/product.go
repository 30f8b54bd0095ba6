package sales

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/postgres"
)

// Product is a kind of ticket to an event.
type Product struct {
	ID          uuid.UUID `json:"id"`
	Slug        string    `json:"slug"`
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Price       Money     `json:"price"`
	Available   int       `json:"available"`
	EventID     uuid.UUID `json:"eventId"`
}

const productColumns = `id, slug, name, description, price, currency, available, event_id`

func scanProduct(row pgx.CollectableRow) (Product, error) {
	var p Product
	err := row.Scan(&p.ID, &p.Slug, &p.Name, &p.Description, &p.Price.Amount, &p.Price.Currency, &p.Available, &p.EventID)
	return p, err
}

var errNoProduct = fault.New(fault.NotFound, "sales.product_not_found", "there is no such product")

// loadProduct reads a product. NotFound ("sales.product_not_found").
func loadProduct(ctx context.Context, r postgres.Reader, id uuid.UUID) (Product, error) {
	return postgres.One(ctx, r, "read product", scanProduct, errNoProduct, `SELECT `+productColumns+` FROM sales.products WHERE id = $1`, id)
}

// stockChange is how many of a product an order takes or gives back.
type stockChange struct {
	product  uuid.UUID
	quantity int
}

// changesOf adds up lines by product, in the one order in which everybody locks products.
func changesOf(lines []Line) []stockChange {
	var changes []stockChange
	for _, l := range lines {
		i := slices.IndexFunc(changes, func(c stockChange) bool { return c.product == l.ProductID })
		if i < 0 {
			changes = append(changes, stockChange{l.ProductID, l.Quantity})
		} else {
			changes[i].quantity += l.Quantity
		}
	}
	slices.SortFunc(changes, func(a, b stockChange) int { return bytes.Compare(a.product[:], b.product[:]) })
	return changes
}

// reserveStock takes what an order needs. Conflict ("sales.out_of_stock") if anything is not there.
func reserveStock(ctx context.Context, tx *postgres.Tx, lines []Line) error {
	for _, c := range changesOf(lines) {
		tag, err := tx.Exec(ctx, `UPDATE sales.products SET available = available - $2 WHERE id = $1 AND available >= $2`,
			c.product, c.quantity)
		if err != nil {
			return fmt.Errorf("reserve stock: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return fault.New(fault.Conflict, "sales.out_of_stock", "not enough tickets are left")
		}
	}
	return nil
}

// restoreStock gives back what an order took. It is called in the transaction that closes the order, whose row
// is locked: an order is closed once.
func restoreStock(ctx context.Context, tx *postgres.Tx, lines []Line) error {
	for _, c := range changesOf(lines) {
		if _, err := tx.Exec(ctx, `UPDATE sales.products SET available = available + $2 WHERE id = $1`, c.product, c.quantity); err != nil {
			return fmt.Errorf("restore stock: %w", err)
		}
	}
	return nil
}
