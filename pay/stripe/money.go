package stripe

import (
	"fmt"
	"math"

	"foyer/sale"
)

// digits are Stripe's decimal places where they are not those of ISO 4217.
// Source: docs.stripe.com/currencies, "Zero-decimal currencies" and "Special
// cases": ISK and UGX have no decimals any more but are still sent with two,
// which must be 00; MGA is sent whole, though ISO counts two. HUF and TWD are
// special for payouts alone and have two here.
var digits = map[string]int{"ISK": 2, "UGX": 2, "MGA": 0}

// steps says how Stripe's unit of a currency compares to the minor unit of ISO
// 4217: it is times up times smaller, or times down times larger.
func steps(currency string) (up, down int64, ok bool) {
	iso, ok := sale.Exponent(currency)
	up, down = 1, 1
	theirs, differs := digits[currency]
	if !ok || !differs {
		return up, down, ok
	}
	for ; iso < theirs; iso++ {
		up *= 10
	}
	for ; iso > theirs; iso-- {
		down *= 10
	}
	return up, down, true
}

// toStripe turns minor units of ISO 4217 into the number that Stripe wants. It
// refuses currencies that are none and sums that Stripe cannot take: it takes
// currencies with three decimals in steps of 10 (docs.stripe.com/currencies,
// "Three-decimal currencies").
func toStripe(minor int64, currency string) (int64, error) {
	up, down, ok := steps(currency)
	if !ok {
		return 0, fmt.Errorf("stripe: %q is no currency", clip(currency, 10))
	}
	step := down
	if iso, _ := sale.Exponent(currency); iso == 3 {
		step = 10
	}
	switch {
	case minor <= 0 || minor > math.MaxInt64/up:
		return 0, fmt.Errorf("stripe: %d minor units of %s is no sum to pay", minor, currency)
	case minor%step != 0:
		return 0, fmt.Errorf("stripe: Stripe takes %s in steps of %d minor units, and %d is none; change the prices", currency, step, minor)
	}
	return minor * up / down, nil
}

// fromStripe turns Stripe's number into minor units of ISO 4217. It is not ok
// when there is no such number of minor units. Currencies that we do not know
// are taken as they are.
func fromStripe(amount int64, currency string) (minor int64, ok bool) {
	up, down, _ := steps(currency)
	if amount%up != 0 || amount > math.MaxInt64/down || amount < math.MinInt64/down {
		return 0, false
	}
	return amount / up * down, true
}
