package web

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"foyer/sale"
)

// moneySign is how a currency is written before the digits; those without a
// sign of their own that everybody knows are written with their code.
func moneySign(currency string) string {
	switch currency {
	case "EUR":
		return "€"
	case "GBP":
		return "£"
	case "USD":
		return "$"
	case "JPY":
		return "¥"
	}
	return currency + "\u00a0"
}

// formatMoney writes minor units for people: 4250 EUR is "€42.50", 4250 JPY is
// "¥4,250", 1250 KWD is "KWD 1.250". An unknown currency is taken to have two
// digits.
func formatMoney(minor int64, currency string) string {
	digits := moneyDigits(currency)
	minus := ""
	abs := uint64(minor)
	if minor < 0 {
		minus, abs = "−", -abs // two's complement: right for the smallest number too
	}
	s := strconv.FormatUint(abs, 10)
	for len(s) <= digits {
		s = "0" + s
	}
	whole, part := s[:len(s)-digits], s[len(s)-digits:]
	var b strings.Builder
	b.WriteString(minus + moneySign(currency))
	for i, r := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(r)
	}
	if digits > 0 {
		b.WriteString("." + part)
	}
	return b.String()
}

func moneyDigits(currency string) int {
	if d, ok := sale.Exponent(currency); ok {
		return d
	}
	return 2
}

var errMoney = errors.New("web: not an amount of money")

// parseMoney reads what staff type, "42.50", "42,5" or "42", into minor units.
// More digits than the currency has are refused, never rounded.
func parseMoney(text, currency string) (int64, error) {
	digits := moneyDigits(currency)
	whole, part, dot := strings.Cut(strings.Replace(strings.TrimSpace(text), ",", ".", 1), ".")
	if whole == "" || len(part) > digits || dot && part == "" {
		return 0, errMoney
	}
	for _, r := range whole + part {
		if r < '0' || r > '9' {
			return 0, errMoney
		}
	}
	n, err := strconv.ParseUint(whole+part+strings.Repeat("0", digits-len(part)), 10, 63)
	if err != nil || n > math.MaxInt64 {
		return 0, errMoney
	}
	return int64(n), nil
}
