package sales_test

import (
	"context"
	"testing"

	"github.com/google/uuid"

	"example.com/plenary/modules/sales"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/identity"
)

func TestListOrdersByWhoAsks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first, second := r.place("tok_visa"), r.place("tok_declined")
	bob := identity.WithPrincipal(context.Background(), identity.User(uuid.New(), "customer"))
	viewer := identity.WithPrincipal(context.Background(), identity.User(uuid.New(), "viewer"))

	list := func(ctx context.Context, q sales.ListOrders) []uuid.UUID {
		t.Helper()
		q.Limit = 10
		orders, err := r.ListOrders(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		ids := make([]uuid.UUID, len(orders))
		for i, o := range orders {
			if ids[i] = o.ID; len(o.Lines) != 1 {
				t.Errorf("%d lines", len(o.Lines))
			}
		}
		return ids
	}
	if got := list(r.alice, sales.ListOrders{}); len(got) != 2 || got[0] != second.ID || got[1] != first.ID {
		t.Errorf("newest first: %v", got)
	}
	if got := list(r.alice, sales.ListOrders{Status: sales.Paid}); len(got) != 1 || got[0] != first.ID {
		t.Errorf("by status: %v", got)
	}
	if got := list(r.alice, sales.ListOrders{After: second.ID}); len(got) != 1 || got[0] != first.ID {
		t.Errorf("the next page: %v", got)
	}
	if got := list(bob, sales.ListOrders{}); len(got) != 0 {
		t.Errorf("bob sees %v", got)
	}
	if got := list(viewer, sales.ListOrders{}); len(got) != 2 {
		t.Errorf("the viewer sees %v", got)
	}
	if _, err := r.ListOrders(context.Background(), sales.ListOrders{Limit: 1}); fault.KindOf(err) != fault.Unauthenticated {
		t.Errorf("nobody: %v", err)
	}
	if _, err := r.GetOrder(bob, sales.GetOrder{ID: first.ID}); !fault.Is(err, "sales.order_not_found") {
		t.Errorf("another's order: %v", err)
	}
}
