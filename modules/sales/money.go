package sales

import (
	"math"
	"math/bits"

	"example.com/plenary/platform/fault"
)

// Money is an amount in the minor units of a currency: 12900 EUR is 129 euros, 12900 JPY is 12900 yen.
type Money struct {
	Amount   int64  `json:"amount" doc:"in minor units of the currency" example:"12900"`
	Currency string `json:"currency" doc:"ISO 4217" example:"EUR" pattern:"^[A-Z]{3}$"`
}

var errTooMuch = fault.New(fault.Invalid, "sales.amount_too_large", "the amount is too large")

// Times returns m taken n times, or an Invalid fault ("sales.amount_too_large") if that is not representable.
func (m Money) Times(n int) (Money, error) {
	if m.Amount < 0 || n < 0 {
		return Money{}, fault.New(fault.Invalid, "sales.negative_amount", "an amount must not be negative")
	}
	high, low := bits.Mul64(uint64(m.Amount), uint64(n))
	if high != 0 || low > math.MaxInt64 {
		return Money{}, errTooMuch
	}
	return Money{Amount: int64(low), Currency: m.Currency}, nil
}

// Plus returns the sum, or an Invalid fault if the currencies differ ("sales.mixed_currencies") or the sum is
// not representable.
func (m Money) Plus(other Money) (Money, error) {
	if m.Currency != other.Currency {
		return Money{}, fault.New(fault.Invalid, "sales.mixed_currencies", "an order has one currency")
	}
	if other.Amount > 0 && m.Amount > math.MaxInt64-other.Amount {
		return Money{}, errTooMuch
	}
	return Money{Amount: m.Amount + other.Amount, Currency: m.Currency}, nil
}
