package web

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"example.com/plenary/modules/sales"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/identity"
)

// orderData is one order, with what can be done about it now.
type orderData struct {
	complaints
	sales.Order
	Own      bool
	Customer string // who ordered, for who is somebody else
	Says     string // where the order stands, in a sentence
	Steps    []step
	Moves    bool // its status can still change
	Open     bool // it can be paid again or cancelled
	Card     cardChoice
	PayKey   string
	EndKey   string
}

// step is a station on an order's way.
type step struct {
	State string // done, now, failed, ahead
	Word  string
	Note  string
}

func (s *Site) order(w http.ResponseWriter, r *http.Request) error {
	return s.showOrder(w, r, 0, "", complaints{})
}

func (s *Site) showOrder(w http.ResponseWriter, r *http.Request, status int, chosen string, wrong complaints) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	o, err := s.Sales.GetOrder(r.Context(), sales.GetOrder{ID: id})
	if err != nil {
		return err
	}
	d := orderData{complaints: wrong, Order: o, Says: says(o), Steps: stepsOf(o), Card: chooseCard(chosen, wrong), PayKey: newKey(), EndKey: newKey()}
	d.Own = identity.PrincipalOf(r.Context()).ID == o.CustomerID.String()
	if !d.Own {
		if d.Customer, err = s.nameOf(r.Context(), o.CustomerID); err != nil {
			return err
		}
	}
	d.Open = o.Status == sales.PendingPayment || o.Status == sales.PaymentFailed
	d.Moves = d.Open || o.Status == sales.PaymentInitiated
	return s.render(w, r, "order", show{Status: status, Title: "Order " + o.Number, Section: "orders", Data: d})
}

func (s *Site) nameOf(ctx context.Context, id uuid.UUID) (string, error) {
	user, err := s.Login.ByID(ctx, id)
	if fault.KindOf(err) == fault.NotFound {
		return "somebody who is gone", nil
	}
	return user.Name, err
}

// mayReadAll reports whether who asks sees everybody's orders.
func (s *Site) mayReadAll(r *http.Request) bool {
	return s.Permissions.Allows(identity.PrincipalOf(r.Context()), sales.PermissionReadOrders)
}

func (s *Site) payOrder(w http.ResponseWriter, r *http.Request) error {
	form, err := readForm(w, r)
	if err != nil {
		return err
	}
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	cmd := sales.PayOrder{OrderID: id, PaymentMethod: form.Get("paymentMethod")}
	next, err := act(r, form, func(ctx context.Context) (sales.Order, error) { return s.Sales.PayOrder(ctx, cmd) }, orderAddress)
	return s.afterOrder(w, r, next, cmd.PaymentMethod, err)
}

func (s *Site) cancelOrder(w http.ResponseWriter, r *http.Request) error {
	form, err := readForm(w, r)
	if err != nil {
		return err
	}
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	cmd := sales.CancelOrder{OrderID: id}
	next, err := act(r, form, func(ctx context.Context) (sales.Order, error) { return s.Sales.CancelOrder(ctx, cmd) }, orderAddress)
	return s.afterOrder(w, r, next, "", err)
}

// afterOrder goes on to the order, or shows it again as it is now with what stood in the way.
func (s *Site) afterOrder(w http.ResponseWriter, r *http.Request, next, chosen string, err error) error {
	if err == nil {
		http.Redirect(w, r, next, http.StatusSeeOther)
		return nil
	}
	wrong, status, ours := complain(err)
	if !ours {
		return err
	}
	return s.showOrder(w, r, status, chosen, wrong)
}

// says tells where an order stands.
func says(o sales.Order) string {
	switch o.Status {
	case sales.PendingPayment:
		return "The tickets are set aside, and wait to be paid."
	case sales.PaymentInitiated:
		return "The bank has been asked and has not answered yet. This page finds out by itself; nobody needs to pay again."
	case sales.PaymentFailed:
		return "The payment did not go through: " + failureText(o.FailureReason) + ". Nothing was charged, and the tickets are kept for now."
	case sales.Paid:
		return "The tickets are paid for. A confirmation goes out by mail."
	case sales.Cancelled:
		return "The one who ordered has cancelled it. Nothing was charged, and the tickets are on sale again."
	case sales.Expired:
		return "Nobody paid in time. Nothing was charged, and the tickets are on sale again."
	default:
		return ""
	}
}

// stepsOf draws an order's way from where it stands.
func stepsOf(o sales.Order) []step {
	placed := step{"done", "Ordered", "tickets set aside"}
	switch o.Status {
	case sales.PendingPayment:
		return []step{placed, {"now", "Payment", "waiting for it"}, {"ahead", "Tickets", ""}}
	case sales.PaymentInitiated:
		return []step{placed, {"now", "Payment", "the bank is asked"}, {"ahead", "Tickets", ""}}
	case sales.PaymentFailed:
		return []step{placed, {"failed", "Payment", "did not go through"}, {"now", "Pay again", "or cancel"}, {"ahead", "Tickets", ""}}
	case sales.Paid:
		return []step{placed, {"done", "Payment", "approved"}, {"done", "Tickets", "paid for"}}
	case sales.Cancelled:
		return []step{placed, {"failed", "Cancelled", "by the customer"}}
	default:
		return []step{placed, {"failed", "Payment", "none in time"}, {"failed", "Expired", "by itself"}}
	}
}
