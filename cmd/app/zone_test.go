package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/plenary/platform/postgres/postgrestest"
)

// Where a machine says that it is changes neither what is stored nor what is shown.
func TestTZChangesNoTimes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	p := w.spawn("TZ", "Asia/Tokyo")
	alice := p.as("alice@example.com")
	_, _, answer, err := alice.try("POST", "/sales/orders", orderOf(1, "tok_declined"))
	if err != nil {
		t.Fatal(err)
	}
	var placed struct{ ID, CreatedOn, ExpiresOn, Number string }
	if err := json.Unmarshal(answer, &placed); err != nil {
		t.Fatal(err)
	}
	for _, shown := range []string{placed.CreatedOn, placed.ExpiresOn} {
		if at, err := time.Parse(time.RFC3339, shown); err != nil || !strings.HasSuffix(shown, "Z") || time.Until(at).Abs() > 2*time.Hour {
			t.Errorf("%q is not a time of now, in UTC: %v", shown, err)
		}
	}
	if age := postgrestest.Value[float64](t, w.sales, `SELECT abs(extract(epoch FROM now() - created_on))::float8 FROM sales.orders`); age > 60 {
		t.Errorf("the order is stored as placed %v seconds from now", age)
	}
	w.within("the mail", func() bool { return w.about(placed.Number) == 1 })
	if text := w.sent(t)[0].Text; !strings.Contains(text, time.Now().UTC().Format("15:")) && !strings.Contains(text, time.Now().UTC().Add(time.Hour).Format("15:")) {
		t.Errorf("the mail names another time than UTC's:\n%s", text)
	}
	var order order
	alice.do("GET", "/sales/orders/"+placed.ID, nil, http.StatusOK, &order)
	if _, offset := order.CreatedOn.Zone(); offset != 0 {
		t.Errorf("later it is shown as %v", order.CreatedOn)
	}
}
