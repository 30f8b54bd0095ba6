package sales

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/httpx"
)

// ListProducts asks for what is on sale, newest first.
type ListProducts struct {
	Limit int
	After uuid.UUID // the last product of the page before; zero: from the start
}

// Policy lets everybody look.
func (ListProducts) Policy() command.Policy { return command.Policy{Name: "sales.list_products"} }

func (m *Module) listProducts(ctx context.Context, q ListProducts) ([]Product, error) {
	rows, err := m.source.Query(ctx, `
		SELECT `+productColumns+` FROM sales.products
		WHERE $1::uuid = '00000000-0000-0000-0000-000000000000' OR id < $1 ORDER BY id DESC LIMIT $2`, q.After, q.Limit)
	if err != nil {
		return nil, fmt.Errorf("list products: %w", err)
	}
	return pgx.CollectRows(rows, scanProduct)
}

func (m *Module) getProducts(ctx context.Context, in struct{ httpx.Paging }) (httpx.Response[httpx.Page[Product]], error) {
	return httpx.ByID(ctx, in.Paging, func(ctx context.Context, limit int, after uuid.UUID) ([]Product, error) {
		return m.ListProducts(ctx, ListProducts{Limit: limit, After: after})
	}, func(p Product) uuid.UUID { return p.ID })
}
