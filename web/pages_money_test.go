package web

import (
	"encoding/json"
	"html"
	"net/http"
	"strings"
	"testing"
	"unicode"

	"github.com/bojanz/currency"
	"github.com/chromedp/chromedp"

	"foyer/sale"
)

func localeFrom(accept string) locale {
	return localeOf(&http.Request{Header: http.Header{"Accept-Language": {accept}}})
}

func TestMoneyInTheVisitorsWay(t *testing.T) {
	for _, c := range []struct {
		accept   string
		minor    int64
		currency string
		want     string
	}{
		{"", 4250, "EUR", "€42.50"}, {"*", 4250, "EUR", "€42.50"}, {"not a language at all", 4250, "EUR", "€42.50"}, {strings.Repeat("a-", 2000), 4250, "EUR", "€42.50"},
		{"en-US,en;q=0.9", 123456789, "USD", "$1,234,567.89"}, {"en;q=0.1, de-DE", 123456, "EUR", "1.234,56\u00a0€"}, {"de-AT", 4250, "EUR", "€\u00a042,50"},
		{"de-CH", 123456, "CHF", "CHF\u00a01'234.56"}, {"fr-FR", 123456, "EUR", "1\u202f234,56\u00a0€"}, {"es", 123456, "EUR", "1234,56\u00a0€"}, {"en-IN", 123456789, "INR", "₹12,34,567.89"},
		{"ja", 4250, "JPY", "￥4,250"}, {"ko", 4250, "KRW", "₩4,250"}, {"de", 4250, "KRW", "4.250\u00a0₩"}, {"de", 1250, "KWD", "1,250\u00a0KWD"}, {"zh-TW", 4250, "TWD", "$42.50"},
		{"ar-EG", 123456, "EUR", "\u200f١٬٢٣٤٫٥٦\u00a0€"}, {"tlh", 4250, "EUR", "€42.50"}, {"de", 4250, "BGN", "BGN\u00a042.50"}, {"de", 4250, "XXX", "XXX\u00a042.50"},
		{"de", 1, "KWD", "0,001\u00a0KWD"}, {"de", -5, "EUR", "-0,05\u00a0€"}, {"de", 5, "JPY", "5\u00a0¥"}, {"de", 9223372036854775807, "EUR", "92.233.720.368.547.758,07\u00a0€"},
	} {
		if got := formatMoney(c.minor, c.currency, localeFrom(c.accept)); got != c.want {
			t.Errorf("%.20s: formatMoney(%d, %s) = %q, want %q", c.accept, c.minor, c.currency, got, c.want)
		}
	}
}

func TestStaffReadAmountsInTheirWay(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	b := h.clerk("admin")
	b.language = "de-DE,de;q=0.9"
	const door, one = "/admin/events/gala/door", "42,50\u00a0€"
	sold := b.post(door, "once", b.get(door).once(), "count", "2", "category", "Stalls", "method", "cash").leads()
	order := "/admin/orders/" + sold[strings.LastIndex(sold, "/")+1:]
	_, held := h.held("gala", `["A-5"]`)
	h.money(held, "short", 4000)
	h.money("nobody", "p1", 4250)
	h.bought("gala", `["A-6"]`)
	for path, want := range map[string][]string{
		"/admin":                    {"The buyer paid 40,00\u00a0€. The order costs " + one, "Return " + one, ">127,50\u00a0€</span></td>"},
		"/admin/events/gala":        {">127,50\u00a0€</dd>"},
		"/admin/orders":             {one, "85,00\u00a0€"},
		order:                       {one, "<dt>Price</dt><dd>85,00\u00a0€", "<dt>Received</dt><dd>85,00\u00a0€"},
		order + "/refund?all=1":     {"85,00\u00a0€", one},
		order + "/tickets":          {one},
		"/admin/orders/" + held:     {"The buyer pays " + one + " here"},
		door:                        {one + ", 2 free", "[&#34;" + one + "&#34;,&#34;85,00\u00a0€&#34;"},
		door + "?by=seats":          {"Stalls, " + one + ", free"},
		sold:                        {"<title>Sold: 2 seats, 85,00\u00a0€", "Take 85,00\u00a0€ in cash"},
		"/admin/events/gala/shift":  {`<b class="sum">85,00` + "\u00a0€"},
		"/admin/events/gala/report": {"<dt>Received</dt><dd>127,50\u00a0€", "<b>85,00\u00a0€</b>", "40,00\u00a0€", one},
	} {
		b.get(path).want(200).says(want...).silent("€0", "€4", "€8", "€1")
	}
	seat := h.staff("GET", "/api/v1"+order, "").text("seats.0.id")
	b.follow(b.post(order+"/refund", "seat", seat, "release", "yes")).says("Give the buyer "+one+" in cash now", "Returned or to be returned</dt><dd>"+one)
}

// All currencies that events may have; BGN went into the euro in 2026, and bojanz/currency has let it go.
func TestDigitsAreThoseOfTheWorld(t *testing.T) {
	known := 0
	for a := 'A'; a <= 'Z'; a++ {
		for b := 'A'; b <= 'Z'; b++ {
			for c := 'A'; c <= 'Z'; c++ {
				code := string([]rune{a, b, c})
				ours, ok := sale.Exponent(code)
				if !ok {
					continue
				}
				known++
				if theirs, ok := currency.GetDigits(code); code != "BGN" && (!ok || int(theirs) != ours) {
					t.Errorf("%s has %d digits, bojanz/currency says %d, %t", code, ours, theirs, ok)
				}
			}
		}
	}
	if known < 150 {
		t.Errorf("only %d currencies", known)
	}
}

var styledLanguages = []string{
	"", "en", "de", "de-AT", "de-CH", "fr", "fr-CH", "en-IN", "en-ZA", "zh-TW", "zh", "ja", "ko", "ar", "ar-EG", "fa", "es", "es-MX", "pt-PT", "pt-BR", "pl", "hi", "my", "bn", "ne", "mr",
	"sv", "nb", "da", "fi", "nl", "it", "lv", "cs", "hu", "tr", "uk", "he", "th", "vi", "bg", "et", "tlh", "ur", "sw", "lt",
}

var styledAmounts = []int64{0, 1, 5, 99, 100, 999, 1000, 4250, 9999, 10000, 99999, 100000, 123456, 1234567, 12345678, 123456789, 1234567890123, 9007199254740991}

// write is what money.js does, told in Go.
func (m moneyStyle) write(minor int64) string {
	whole, part, _ := strings.Cut(sale.Decimal(minor, map[int]string{0: "JPY", 2: "EUR", 3: "KWD"}[m.Digits]), ".")
	if m.Group != "" && len(whole) >= m.First+m.Least {
		rest := whole[:len(whole)-m.First]
		whole = whole[len(rest):]
		for ; rest != ""; rest = rest[:max(0, len(rest)-m.Rest)] {
			whole = rest[max(0, len(rest)-m.Rest):] + m.Group + whole
		}
	}
	if m.Digits > 0 {
		whole += m.Decimal + part
	}
	return m.Before + strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return m.Zero + r - '0'
		}
		return r
	}, whole) + m.After
}

func TestStylesWriteAsFormatMoneyDoes(t *testing.T) {
	for _, accept := range styledLanguages {
		for _, code := range []string{"EUR", "USD", "JPY", "KRW", "KWD", "CHF", "BGN", "INR"} {
			in := localeFrom(accept)
			m := styleOf(code, in)
			if strings.ContainsFunc(m.Before+m.After+m.Group+m.Decimal, unicode.IsDigit) {
				t.Errorf("%s %s: a digit in %+v", accept, code, m)
			}
			for _, n := range styledAmounts {
				if got, want := m.write(n), formatMoney(n, code, in); got != want {
					t.Errorf("%s: %d %s is %q by its style, want %q (%+v)", accept, n, code, got, want, m)
				}
			}
		}
	}
}

// The script writes what the server writes.
func TestBrowserWritesMoneyAsTheServerDoes(t *testing.T) {
	ctx := chrome(t)
	g := newStage(t)
	type sample struct {
		Style moneyStyle `json:"style"`
		Minor int64      `json:"minor"`
		Want  string     `json:"want"`
	}
	var all []sample
	for _, accept := range styledLanguages {
		for _, code := range []string{"EUR", "JPY", "KWD"} {
			in := localeFrom(accept)
			for _, n := range styledAmounts {
				all = append(all, sample{styleOf(code, in), n, formatMoney(n, code, in)})
			}
		}
	}
	samples, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	run(ctx, t, chromedp.Navigate(g.url+"/"),
		js(`import('/static/money.js').then(m => { document.title = 'wrong: ' + JSON.stringify(`+string(samples)+`.filter(s => m.money(s.style, s.minor) != s.want).slice(0, 5)) }); 0`),
		see(`document.title.startsWith('wrong: ')`))
	if got := ask[string](ctx, t, "document.title"); got != "wrong: []" {
		t.Error(got)
	}
}

// Pages follow the language, are never kept by caches, and the waiting page, which is, shows no amount.
func TestB38PagesWriteAmountsInTheVisitorsWay(t *testing.T) {
	for currency, want := range map[string][2]string{"EUR": {"33,33\u00a0€", "99,99\u00a0€"}, "JPY": {"3.333\u00a0¥", "9.999\u00a0¥"}, "KRW": {"3.333\u00a0₩", "9.999\u00a0₩"}, "KWD": {"3,333\u00a0KWD", "9,999\u00a0KWD"}} {
		h := newHouse(t)
		h.event("gala", `"currency":"`+currency+`"`)
		h.staff("PATCH", "/api/v1/admin/events/gala", `{"prices":{"Stalls":3333}}`).want(200)
		visitor, order := h.held("gala", `["A-1","A-2","A-3"]`)
		for path, text := range map[string]string{"/orders/" + order: want[1], "/events/gala/seats": want[0]} {
			a := h.do("GET", path, "", "Cookie", "foyer_visitor="+visitor, "Accept-Language", "de-DE,de;q=0.9,en;q=0.5").want(200)
			page := html.UnescapeString(string(a.Body))
			if !strings.Contains(page, text) || !strings.Contains(page, `<html lang="en"`) {
				t.Errorf("%s does not show %q", path, text)
			}
			if a.Header.Get("Cache-Control") != "no-store" || !strings.Contains(a.Header.Get("Vary"), "Accept-Language") {
				t.Errorf("%s: headers %v", path, a.Header)
			}
		}
		wait := h.do("GET", "/events/gala", "", "Accept-Language", "de").want(200)
		page := strings.NewReplacer(assetPath("wait.js"), "", assetPath("wait.css"), "").Replace(string(wait.Body)) // hashes have digits
		if vary := wait.Header.Get("Vary"); strings.Contains(vary, "Language") || strings.Contains(page, "33") {
			t.Errorf("the waiting page varies by %q", vary)
		}
	}
}
