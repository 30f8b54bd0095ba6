// Package salesapi is what other modules may know of Sales: the events that it publishes.
package salesapi

import "github.com/google/uuid"

// PaymentFailed happened when a payment was declined. The order can be paid again while it is open.
type PaymentFailed struct {
	OrderID   uuid.UUID `json:"orderId"`
	PaymentID uuid.UUID `json:"paymentId"`
}

// EventName is the stored name.
func (PaymentFailed) EventName() string { return "sales.payment_failed" }

// OrderPaid happened when a payment was approved. It carries what a listener needs to act without asking
// Sales, which may be elsewhere.
type OrderPaid struct {
	OrderID    uuid.UUID `json:"orderId"`
	CustomerID uuid.UUID `json:"customerId"`
	Tickets    []Tickets `json:"tickets"`
}

// Tickets are the tickets to one event that an order is about.
type Tickets struct {
	EventID  uuid.UUID `json:"eventId"`
	Quantity int       `json:"quantity"`
}

// EventName is the stored name.
func (OrderPaid) EventName() string { return "sales.order_paid" }
