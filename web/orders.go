package web

import (
	"net/http"

	"github.com/google/uuid"

	"example.com/plenary/modules/sales"
	"example.com/plenary/platform/fault"
)

// ordersData is a list of orders.
type ordersData struct {
	All    bool // everybody's
	Orders []sales.Order
	Tabs   []tab
	Status sales.Status
	Newest string // the address of the first page, on another one
	Next   string
}

// tab is a choice among views of the same list.
type tab struct {
	Word, Address string
	Current       bool
}

var orderStatuses = []sales.Status{
	sales.PaymentInitiated, sales.PaymentFailed, sales.Paid, sales.Cancelled, sales.Expired,
}

func (s *Site) orders(w http.ResponseWriter, r *http.Request) error {
	status, tabs, err := tabsOf(r, "status", orderStatuses, func(st sales.Status) string { return statusBadge(st).Word })
	if err != nil {
		return err
	}
	d := ordersData{Status: status, Tabs: tabs, All: s.mayReadAll(r), Newest: newest(r)}
	d.Orders, d.Next, err = keyset(r, 25, func(limit int, after uuid.UUID) ([]sales.Order, error) {
		return s.Sales.ListOrders(r.Context(), sales.ListOrders{Status: status, Limit: limit, After: after})
	}, func(o sales.Order) uuid.UUID { return o.ID })
	if err != nil {
		return err
	}
	title := "My orders"
	if d.All {
		title = "All orders"
	}
	return s.render(w, r, "orders", show{Title: title, Section: "orders", Data: d})
}

// newest returns the address of a list's first page, or "" on that page.
func newest(r *http.Request) string {
	if r.URL.Query().Get("cursor") == "" {
		return ""
	}
	return withQuery(r, "cursor", "")
}

// tabsOf reads the value of a filter from the address and returns a tab for each that it can have. A value that it
// cannot have is an Invalid fault: a misspelt filter must not show everything.
func tabsOf[S ~string](r *http.Request, name string, values []S, word func(S) string) (S, []tab, error) {
	current := S(r.URL.Query().Get(name))
	tabs := []tab{{Word: "All", Address: withQuery(r, name, ""), Current: current == ""}}
	known := current == ""
	for _, v := range values {
		tabs = append(tabs, tab{Word: word(v), Address: withQuery(r, name, string(v)), Current: v == current})
		known = known || v == current
	}
	if !known {
		return "", nil, fault.Newf(fault.Invalid, "unknown_value", "the filter %s has no such value", name)
	}
	return current, tabs, nil
}
