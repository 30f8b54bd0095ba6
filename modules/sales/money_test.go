package sales

import (
	"math"
	"testing"

	"example.com/plenary/platform/fault"
)

func TestMoneyNeverWraps(t *testing.T) {
	t.Parallel()
	cases := []struct {
		amount int64
		times  int
		want   int64
		code   string
	}{
		{12900, 2, 25800, ""},
		{12900, 0, 0, ""},
		{math.MaxInt64, 1, math.MaxInt64, ""},
		{math.MaxInt64, 2, 0, "sales.amount_too_large"},
		{math.MaxInt64/20 + 1, 20, 0, "sales.amount_too_large"},
		{-1, 2, 0, "sales.negative_amount"},
		{1, -2, 0, "sales.negative_amount"},
	}
	for _, c := range cases {
		got, err := Money{c.amount, "EUR"}.Times(c.times)
		if got.Amount != c.want || (err == nil) != (c.code == "") || (err != nil && !fault.Is(err, c.code)) {
			t.Errorf("%d × %d = %d, %v", c.amount, c.times, got.Amount, err)
		}
	}
	if _, err := (Money{math.MaxInt64, "EUR"}).Plus(Money{1, "EUR"}); !fault.Is(err, "sales.amount_too_large") {
		t.Errorf("a sum that is too large: %v", err)
	}
	if _, err := (Money{1, "EUR"}).Plus(Money{1, "JPY"}); !fault.Is(err, "sales.mixed_currencies") {
		t.Errorf("two currencies: %v", err)
	}
}

func TestMoneyIsWrittenByItsCurrency(t *testing.T) {
	t.Parallel()
	for want, m := range map[string]Money{
		"129.00 EUR": {12900, "EUR"}, "0.05 EUR": {5, "EUR"}, "12900 JPY": {12900, "JPY"}, "1.234 KWD": {1234, "KWD"},
	} {
		if got := m.String(); got != want {
			t.Errorf("%d %s is written %q, want %q", m.Amount, m.Currency, got, want)
		}
	}
}
