package web

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bojanz/currency"
	"golang.org/x/text/language"

	"foyer/sale"
)

// moneySign is how a currency is written before the digits; those without a
// sign of their own that everybody knows are written with their code.
func moneySign(code string) string {
	switch code {
	case "EUR":
		return "€"
	case "GBP":
		return "£"
	case "USD":
		return "$"
	case "JPY":
		return "¥"
	}
	return code + "\u00a0"
}

// locale is whose way of writing amounts a page follows. The zero value is the
// house's own, which is that of English with a plain code for most currencies.
type locale struct{ currency.Locale }

// localeOf is the language that a request likes best. The words of the pages are
// English whatever it is: amounts alone follow it. What bojanz/currency does not
// know it writes as English does.
func localeOf(r *http.Request) locale {
	tags, _, err := language.ParseAcceptLanguage(r.Header.Get("Accept-Language"))
	if err != nil || len(tags) == 0 {
		return locale{}
	}
	base, script, region := tags[0].Raw()
	if base.String() == "und" || base.String() == "mul" { // "*"
		return locale{}
	}
	l := currency.Locale{Language: base.String()}
	if l.Language == "zh" { // zh-TW is zh-Hant-TW (CLDR, likely subtags)
		script, _ = tags[0].Script()
	}
	if s := script.String(); s != "Zzzz" {
		l.Script = s
	}
	if t := region.String(); t != "ZZ" {
		l.Territory = t
	}
	return locale{l}
}

// formatMoney writes minor units for people: 4250 EUR is "€42.50", 4250 JPY is
// "¥4,250", 1250 KWD is "KWD 1.250", and in German "42,50 €". An unknown currency
// is taken to have two digits.
func formatMoney(minor int64, code string, in locale) string {
	if !in.IsEmpty() {
		if amount, err := currency.NewAmount(sale.Decimal(minor, code), code); err == nil {
			return in.formatter(code).Format(amount)
		}
	}
	plain := sale.Decimal(minor, code)
	minus := ""
	if minor < 0 {
		minus, plain = "−", plain[1:]
	}
	whole, part, dot := strings.Cut(plain, ".")
	var b strings.Builder
	b.WriteString(minus + moneySign(code))
	for i, r := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(r)
	}
	if dot {
		b.WriteString("." + part)
	}
	return b.String()
}

func (l locale) formatter(code string) *currency.Formatter {
	f := currency.NewFormatter(l.Locale)
	f.MinDigits = uint8(moneyDigits(code))
	f.MaxDigits = f.MinDigits
	return f
}

// moneyStyle is how a page's scripts write amounts that are not negative, so
// that they do it as formatMoney does; money.js reads it.
type moneyStyle struct {
	Before  string `json:"before"`
	After   string `json:"after"`
	Digits  int    `json:"digits"`  // after the decimal sign
	Decimal string `json:"decimal"` // sign
	Group   string `json:"group"`   // sign, or ""
	First   int    `json:"first"`   // digits in the last group
	Rest    int    `json:"rest"`    // digits in the others
	Least   int    `json:"least"`   // digits before the last group, without which nothing is grouped
	Zero    rune   `json:"zero"`    // the digit 0; the others follow it
}

// styleOf finds out a style from what formatMoney writes.
func styleOf(code string, in locale) moneyStyle {
	m := moneyStyle{Digits: moneyDigits(code)}
	power := func(digits int) int64 { // the smallest amount with so many digits before the decimal sign
		n := int64(1)
		for range digits + m.Digits - 1 {
			n *= 10
		}
		return n
	}
	before, parts, signs, after := split(formatMoney(power(10), code, in))
	m.Before, m.After, m.Zero = before, after, []rune(parts[0])[0]-1
	if m.Digits > 0 {
		m.Decimal, signs, parts = signs[len(signs)-1], signs[:len(signs)-1], parts[:len(parts)-1]
	}
	n := len(parts)
	if n < 2 {
		return m
	}
	m.Group, m.First, m.Rest, m.Least = signs[0], utf8.RuneCountInString(parts[n-1]), utf8.RuneCountInString(parts[max(1, n-2)]), 1
	for m.Least < 10-m.First {
		if _, p, _, _ := split(formatMoney(power(m.First+m.Least), code, in)); len(p) > 1+min(m.Digits, 1) {
			break
		}
		m.Least++
	}
	return m
}

// split cuts an amount into its parts of digits, the signs between them, and what
// stands around.
func split(amount string) (before string, parts, signs []string, after string) {
	first, last := strings.IndexFunc(amount, unicode.IsDigit), strings.LastIndexFunc(amount, unicode.IsDigit)
	_, size := utf8.DecodeRuneInString(amount[last:])
	number := amount[first : last+size]
	parts = strings.FieldsFunc(number, func(r rune) bool { return !unicode.IsDigit(r) })
	return amount[:first], parts, strings.FieldsFunc(number, unicode.IsDigit), amount[last+size:]
}

func moneyDigits(code string) int {
	if d, ok := sale.Exponent(code); ok {
		return d
	}
	return 2
}

var errMoney = errors.New("web: not an amount of money")

// parseMoney reads what staff type, "42.50", "42,5" or "42", into minor units.
// More digits than the currency has are refused, never rounded.
func parseMoney(text, code string) (int64, error) {
	digits := moneyDigits(code)
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
