package web

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"example.com/plenary/modules/sales"
	"example.com/plenary/platform/httpx"
)

// atMost is how many tickets of one kind an order has.
const atMost = 20

// shopData is the catalogue.
type shopData struct {
	Products []offer
	Next     string // the address of the next page, or ""
}

// offer is a product with what was chosen of it.
type offer struct {
	sales.Product
	Chosen int
	Most   int
}

func (s *Site) shop(w http.ResponseWriter, r *http.Request) error {
	chosen := readBasket(r.URL.Query())
	d := shopData{}
	page, next, err := keyset(r, 24, func(limit int, after uuid.UUID) ([]sales.Product, error) {
		return s.Sales.ListProducts(r.Context(), sales.ListProducts{Limit: limit, After: after})
	}, func(p sales.Product) uuid.UUID { return p.ID })
	if err != nil {
		return err
	}
	d.Next = next
	for _, p := range page {
		o := offer{Product: p, Most: min(atMost, p.Available)}
		for _, l := range chosen {
			if l.ProductID == p.ID {
				o.Chosen = max(0, min(l.Quantity, o.Most))
			}
		}
		d.Products = append(d.Products, o)
	}
	return s.render(w, r, "shop", show{Title: "Tickets", Section: "shop", Data: d})
}

// basket is what somebody wants to buy. It lives in the address, so that it survives a sign-in, a reload and the
// way back: a field quantity.<product id> for each product.
type basket []sales.OrderedLine

const quantityField = "quantity."

// readBasket reads the quantities that are not zero. A quantity that is no number becomes -1, for the command to
// complain about.
func readBasket(values url.Values) basket {
	var b basket
	for name := range values {
		text, isQuantity := strings.CutPrefix(name, quantityField)
		id, err := parseID(text)
		if !isQuantity || err != nil {
			continue
		}
		n, err := strconv.Atoi(cmp.Or(strings.TrimSpace(values.Get(name)), "0"))
		if err != nil {
			n = -1
		}
		if n != 0 {
			b = append(b, sales.OrderedLine{ProductID: id, Quantity: n})
		}
	}
	slices.SortFunc(b, func(x, y sales.OrderedLine) int { return strings.Compare(y.ProductID.String(), x.ProductID.String()) })
	return b
}

// query is the basket as the part of an address after "?".
func (b basket) query() string {
	values := url.Values{}
	for _, l := range b {
		values.Set(quantityField+l.ProductID.String(), strconv.Itoa(l.Quantity))
	}
	return values.Encode()
}

// keyset reads one page of a list whose order is the descending id, and the address of the next one.
func keyset[T any](r *http.Request, limit int, list func(limit int, after uuid.UUID) ([]T, error), idOf func(T) uuid.UUID) (rows []T, next string, err error) {
	paging := httpx.Paging{Limit: limit, Cursor: r.URL.Query().Get("cursor")}
	after, err := httpx.After[uuid.UUID](paging)
	if err != nil {
		return nil, "", err
	}
	if after == nil {
		after = &uuid.UUID{}
	}
	if rows, err = list(paging.Fetch(), *after); err != nil {
		return nil, "", err
	}
	page, err := httpx.NewPage(paging, rows, idOf)
	return page.Items, nextPage(r, page.NextCursor), err
}

// nextPage returns the address of r with another cursor, or "" if there is none.
func nextPage(r *http.Request, cursor *string) string {
	if cursor == nil {
		return ""
	}
	return withQuery(r, "cursor", *cursor)
}

// withQuery returns the address of r with a parameter changed, or left out if value is "". Another filter begins
// at the first page, and what was just done is said once.
func withQuery(r *http.Request, name, value string) string {
	query := r.URL.Query()
	query.Del("cursor")
	query.Del("notice")
	query.Del(name)
	if value != "" {
		query.Set(name, value)
	}
	if len(query) == 0 {
		return r.URL.Path
	}
	return r.URL.Path + "?" + query.Encode()
}
