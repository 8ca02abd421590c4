package sale_test

import (
	"testing"

	"foyer/sale"
)

func TestDecimalsHaveTheDigitsOfTheirCurrency(t *testing.T) {
	for _, c := range []struct {
		minor    int64
		currency string
		want     string
	}{
		{0, "EUR", "0.00"}, {5, "EUR", "0.05"}, {-5, "EUR", "-0.05"}, {4250, "EUR", "42.50"}, {100000, "EUR", "1000.00"},
		{0, "JPY", "0"}, {4250, "JPY", "4250"}, {-7, "JPY", "-7"}, {1, "KWD", "0.001"}, {4250, "KWD", "4.250"}, {-1234, "KWD", "-1.234"},
		{12, "???", "0.12"}, {1<<63 - 1, "EUR", "92233720368547758.07"}, {-1 << 63, "EUR", "-92233720368547758.08"}, {-1 << 63, "KRW", "-9223372036854775808"},
	} {
		if got := sale.Decimal(c.minor, c.currency); got != c.want {
			t.Errorf("%d %s is %q, want %q", c.minor, c.currency, got, c.want)
		}
	}
}
