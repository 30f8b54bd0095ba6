package web

import (
	"context"
	"fmt"
	"net/http"

	"example.com/plenary/modules/sales"
	"example.com/plenary/platform/fault"
)

// card is a way to pay at the sandbox gateway.
type card struct{ Token, Name, Does string }

var cards = []card{
	{"tok_visa", "Good card", "Approved at once."},
	{"tok_declined", "Declined card", "Refused. The order waits for another try, and a mail says so."},
	{"tok_insufficient_funds", "Empty account", "Refused, for want of money."},
	{"tok_timeout", "Silent bank", "No answer. The order says so, and finds out by itself within a minute."},
	{"tok_flaky", "Flaky card", "Refused the first time, approved the next."},
}

// cardChoice is the part of a form that chooses a card.
type cardChoice struct {
	Cards  []card
	Chosen string
	Wrong  string
}

func chooseCard(chosen string, c complaints) cardChoice {
	return cardChoice{Cards: cards, Chosen: chosen, Wrong: c.For("paymentMethod")}
}

// checkoutData is the last look before an order.
type checkoutData struct {
	complaints
	Lines  []checkoutLine
	Total  sales.Money
	Card   cardChoice
	Change string // back to the catalogue, with what was chosen
	Action string
	Key    string
	Broken bool // it cannot be sent as it is
}

type checkoutLine struct {
	sales.Product
	Quantity int
	Total    sales.Money
	Wrong    string
}

func (s *Site) checkout(w http.ResponseWriter, r *http.Request) error {
	return s.showCheckout(w, r, 0, "", complaints{})
}

func (s *Site) placeOrder(w http.ResponseWriter, r *http.Request) error {
	form, err := readForm(w, r)
	if err != nil {
		return err
	}
	cmd := sales.PlaceOrder{Lines: readBasket(r.URL.Query()), PaymentMethod: form.Get("paymentMethod")}
	next, err := act(r, form, func(ctx context.Context) (sales.Order, error) { return s.Sales.PlaceOrder(ctx, cmd) }, orderAddress)
	if err == nil {
		http.Redirect(w, r, next, http.StatusSeeOther)
		return nil
	}
	wrong, status, ours := complain(err)
	if !ours {
		return err
	}
	return s.showCheckout(w, r, status, cmd.PaymentMethod, wrong)
}

func orderAddress(o sales.Order) string { return "/orders/" + o.ID.String() }

// showCheckout prices the basket in the address. What it finds wrong it says before the form is sent.
func (s *Site) showCheckout(w http.ResponseWriter, r *http.Request, status int, chosen string, wrong complaints) error {
	lines := readBasket(r.URL.Query())
	d := checkoutData{
		complaints: wrong, Card: chooseCard(chosen, wrong), Key: newKey(),
		Change: "/shop?" + lines.query(), Action: "/checkout?" + lines.query(),
	}
	if len(lines) > atMost {
		return fault.New(fault.Invalid, "too_many_lines", "an order has at most 20 lines")
	}
	for i, l := range lines {
		p, err := s.Sales.GetProduct(r.Context(), sales.GetProduct{ID: l.ProductID})
		if fault.KindOf(err) == fault.NotFound {
			gone := sales.Product{ID: l.ProductID, Name: "A ticket that is not on sale any more"}
			d.Lines, d.Broken = append(d.Lines, checkoutLine{Product: gone, Quantity: l.Quantity, Wrong: "will be left out when you change the order"}), true
			continue
		}
		if err != nil {
			return err
		}
		line := checkoutLine{Product: p, Quantity: l.Quantity, Wrong: wrong.For(fmt.Sprintf("lines[%d].quantity", i))}
		if line.Total, err = p.Price.Times(max(0, l.Quantity)); err == nil {
			if d.Total.Currency == "" {
				d.Total.Currency = p.Price.Currency
			}
			d.Total, err = d.Total.Plus(line.Total)
		}
		switch {
		case err != nil:
			d.Alert, d.Broken = sentence(fault.As(err).Message), true
		case l.Quantity < 1 || l.Quantity > atMost:
			line.Wrong, d.Broken = "must be 1 to 20", true
		case l.Quantity > p.Available:
			line.Wrong, d.Broken = fmt.Sprintf("only %d left", p.Available), true
		}
		d.Lines = append(d.Lines, line)
	}
	return s.render(w, r, "checkout", show{Status: status, Title: "Checkout", Section: "shop", Data: d})
}
