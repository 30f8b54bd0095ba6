package sales

import (
	"time"

	"github.com/google/uuid"

	"example.com/plenary/platform/httpx"
)

// OrderView is an order as the API shows it.
type OrderView struct {
	ID            uuid.UUID  `json:"id"`
	Number        string     `json:"number"`
	Status        Status     `json:"status" enum:"pending_payment,payment_initiated,payment_failed,paid,cancelled,expired"`
	CustomerID    uuid.UUID  `json:"customerId"`
	Lines         []LineView `json:"lines"`
	Total         Money      `json:"total"`
	FailureReason *string    `json:"failureReason"`
	CreatedOn     time.Time  `json:"createdOn"`
	ExpiresOn     time.Time  `json:"expiresOn"`
	Version       int64      `json:"version"`
}

// LineView is a line of an order as the API shows it.
type LineView struct {
	ProductID uuid.UUID `json:"productId"`
	Name      string    `json:"name"`
	Quantity  int       `json:"quantity"`
	UnitPrice Money     `json:"unitPrice"`
	Total     Money     `json:"total"`
}

func viewOf(o Order) OrderView {
	v := OrderView{
		ID: o.ID, Number: o.Number, Status: o.Status, CustomerID: o.CustomerID, Lines: make([]LineView, len(o.Lines)),
		Total: o.Total, CreatedOn: o.CreatedOn.UTC(), ExpiresOn: o.ExpiresOn.UTC(), Version: o.Version,
	}
	if o.FailureReason != "" {
		v.FailureReason = &o.FailureReason
	}
	for i, l := range o.Lines {
		// The product was representable when the order was placed, and nothing changes it afterwards.
		total := Money{Amount: l.UnitPrice.Amount * int64(l.Quantity), Currency: l.UnitPrice.Currency}
		v.Lines[i] = LineView{ProductID: l.ProductID, Name: l.Name, Quantity: l.Quantity, UnitPrice: l.UnitPrice, Total: total}
	}
	return v
}

// showOrder answers with an order as it stands.
func showOrder(o Order) httpx.Response[OrderView] { return httpx.OK(viewOf(o)).WithVersion(o.Version) }
