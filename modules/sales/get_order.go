package sales

import (
	"context"

	"github.com/google/uuid"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/identity"
)

// GetOrder asks for one order.
type GetOrder struct{ ID uuid.UUID }

// Policy leaves the decision to the handler: it depends on whose order it is.
func (GetOrder) Policy() command.Policy { return command.Policy{Name: "sales.get_order"} }

// getOrder shows an order to its customer and to those who may see all. To anybody else it does not exist.
func (m *Module) getOrder(ctx context.Context, q GetOrder) (Order, error) {
	p := identity.PrincipalOf(ctx)
	if p.Anonymous() {
		return Order{}, fault.New(fault.Unauthenticated, "unauthenticated", "sign in first")
	}
	o, err := loadOrder(ctx, m.source, q.ID)
	if err != nil {
		return Order{}, err
	}
	if p.ID != o.CustomerID.String() && !m.permissions.Allows(p, PermissionReadOrders) {
		return Order{}, errNoOrder
	}
	return o, nil
}

func (m *Module) getOrderRoute(ctx context.Context, in struct {
	ID uuid.UUID `path:"id"`
},
) (httpx.Response[OrderView], error) {
	o, err := m.GetOrder(ctx, GetOrder{ID: in.ID})
	return showOrder(o), err
}
