package stripe

import (
	"math"
	"math/rand/v2"
	"testing"

	"foyer/sale"
)

// The examples are those of docs.stripe.com/currencies.
func TestAmountsAreStripes(t *testing.T) {
	for _, c := range []struct {
		currency     string
		ours, theirs int64 // theirs is 0 when Stripe cannot take it
	}{
		{"USD", 1000, 1000},
		{"EUR", 1, 1},
		{"JPY", 500, 500},
		{"KRW", 1, 1},
		{"ISK", 5, 500}, // "to charge 5 ISK, provide an amount value of 500"
		{"UGX", 5, 500},
		{"MGA", 500, 5}, // zero-decimal at Stripe, two decimals in ISO 4217
		{"MGA", 550, 0},
		{"HUF", 1045, 1045}, // special for payouts alone
		{"TWD", 80045, 80045},
		{"KWD", 5120, 5120},
		{"KWD", 5124, 0}, // "5.124 KWD must be rounded to 5120 or 5130"
		{"TND", 10, 10},
		{"BHD", 1, 0},
		{"EUR", 0, 0},
		{"EUR", -1, 0},
		{"ISK", math.MaxInt64 / 10, 0},
		{"EUR", math.MaxInt64, math.MaxInt64},
		{"eur", 100, 0},
		{"", 100, 0},
	} {
		got, err := toStripe(c.ours, c.currency)
		if got != c.theirs || (err == nil) != (c.theirs > 0) {
			t.Errorf("%d %s: got %d, %v, want %d", c.ours, c.currency, got, err, c.theirs)
		}
		if back, ok := fromStripe(got, c.currency); c.theirs > 0 && (!ok || back != c.ours) {
			t.Errorf("%d of Stripe's %s: got %d, %v, want %d", got, c.currency, back, ok, c.ours)
		}
	}
	for _, c := range []struct {
		currency string
		theirs   int64
	}{{"ISK", 550}, {"UGX", 1}, {"MGA", math.MaxInt64}, {"MGA", math.MinInt64}} {
		if got, ok := fromStripe(c.theirs, c.currency); ok {
			t.Errorf("%d of Stripe's %s: got %d, want none", c.theirs, c.currency, got)
		}
	}
	if got, ok := fromStripe(7, "XXY"); !ok || got != 7 {
		t.Errorf("a currency of tomorrow: got %d, %v", got, ok)
	}
}

// What Stripe takes is worth what we mean: in whole units, by its decimals and
// by ours, for every currency there is.
func TestEveryCurrencyComesBackAsItWent(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	known := 0
	for n := range 26 * 26 * 26 {
		currency := string([]byte{byte('A' + n/676), byte('A' + n/26%26), byte('A' + n%26)})
		if _, ok := sale.Exponent(currency); !ok {
			continue
		}
		known++
		for range 200 {
			ours := random.Int64N(1 << (1 + random.IntN(62)))
			theirs, err := toStripe(ours, currency)
			if err != nil {
				continue
			}
			if back, ok := fromStripe(theirs, currency); !ok || back != ours {
				t.Fatalf("%d %s went as %d and came back as %d, %v", ours, currency, theirs, back, ok)
			}
			there, ok := fromStripe(ours, currency)
			if !ok {
				continue
			}
			if again, err := toStripe(there, currency); err == nil && again != ours {
				t.Fatalf("%d of Stripe's %s came as %d and went back as %d", ours, currency, there, again)
			}
		}
	}
	if known < 140 {
		t.Errorf("only %d currencies were tried", known)
	}
}
