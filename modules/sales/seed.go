package sales

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"example.com/plenary/platform/postgres"
)

// DemoEvent is the event that the demo products are tickets to.
var DemoEvent = uuid.MustParse("01936d10-0000-7000-8000-000000000001")

var demoProducts = []Product{
	{
		ID: uuid.MustParse("01936d10-0000-7000-8000-000000000101"), Slug: "conference-pass", Name: "Conference pass",
		Description: "Both days, all sessions, lunch included.", Price: Money{12900, "EUR"}, Available: 500, EventID: DemoEvent,
	},
	{
		ID: uuid.MustParse("01936d10-0000-7000-8000-000000000102"), Slug: "workshop-day", Name: "Workshop day",
		Description: "One day, one subject, twenty seats.", Price: Money{24900, "EUR"}, Available: 20, EventID: DemoEvent,
	},
	{
		ID: uuid.MustParse("01936d10-0000-7000-8000-000000000103"), Slug: "student-pass", Name: "Student pass",
		Description: "Both days for those with a student card.", Price: Money{4900, "EUR"}, Available: 100, EventID: DemoEvent,
	},
}

// Seed puts the demo products in. What is there already stays as it is.
func Seed(ctx context.Context, tx *postgres.Tx) error {
	for _, p := range demoProducts {
		_, err := tx.Exec(ctx, `
			INSERT INTO sales.products (id, slug, name, description, price, currency, available, event_id)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING`,
			p.ID, p.Slug, p.Name, p.Description, p.Price.Amount, p.Price.Currency, p.Available, p.EventID)
		if err != nil {
			return fmt.Errorf("seed product %s: %w", p.Slug, err)
		}
	}
	return nil
}
