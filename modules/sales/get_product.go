package sales

import (
	"context"

	"github.com/google/uuid"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/httpx"
)

// GetProduct asks for one product.
type GetProduct struct{ ID uuid.UUID }

// Policy lets everybody look.
func (GetProduct) Policy() command.Policy { return command.Policy{Name: "sales.get_product"} }

func (m *Module) getProduct(ctx context.Context, q GetProduct) (Product, error) {
	return loadProduct(ctx, m.source, q.ID)
}

func (m *Module) getProductRoute(ctx context.Context, in struct {
	ID uuid.UUID `path:"id"`
},
) (httpx.Response[Product], error) {
	p, err := m.GetProduct(ctx, GetProduct{ID: in.ID})
	return httpx.OK(p), err
}
