package sales

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/identity"
)

// ListOrders asks for orders, newest first: one's own, or everybody's for those who may see them.
type ListOrders struct {
	Status Status // "": any
	Limit  int
	After  uuid.UUID // the last order of the page before; zero: from the start
}

// Policy leaves the decision to the handler: everybody sees something.
func (ListOrders) Policy() command.Policy { return command.Policy{Name: "sales.list_orders"} }

func (m *Module) listOrders(ctx context.Context, q ListOrders) ([]Order, error) {
	p := identity.PrincipalOf(ctx)
	if p.Anonymous() {
		return nil, fault.New(fault.Unauthenticated, "unauthenticated", "sign in first")
	}
	var whose *uuid.UUID
	if !m.permissions.Allows(p, PermissionReadOrders) {
		id, _ := p.UserID()
		whose = &id
	}
	rows, err := m.source.Query(ctx, `
		SELECT `+orderColumns+` FROM sales.orders o
		WHERE ($1::uuid IS NULL OR o.customer_id = $1) AND ($2 = '' OR o.status = $2)
			AND ($3::uuid = '00000000-0000-0000-0000-000000000000' OR o.id < $3)
		ORDER BY o.id DESC LIMIT $4`, whose, q.Status, q.After, q.Limit)
	if err != nil {
		return nil, fmt.Errorf("list orders: %w", err)
	}
	orders, err := pgx.CollectRows(rows, scanOrder)
	if err != nil {
		return nil, fmt.Errorf("list orders: %w", err)
	}
	return orders, attachLines(ctx, m.source, orders)
}

type getOrdersInput struct {
	httpx.Paging
	Status string `query:"status" enum:"pending_payment,payment_initiated,payment_failed,paid,cancelled,expired"`
}

func (m *Module) getOrders(ctx context.Context, in getOrdersInput) (httpx.Response[httpx.Page[OrderView]], error) {
	return httpx.ByID(ctx, in.Paging, func(ctx context.Context, limit int, after uuid.UUID) ([]OrderView, error) {
		orders, err := m.ListOrders(ctx, ListOrders{Status: Status(in.Status), Limit: limit, After: after})
		views := make([]OrderView, len(orders))
		for i, o := range orders {
			views[i] = viewOf(o)
		}
		return views, err
	}, func(v OrderView) uuid.UUID { return v.ID })
}
