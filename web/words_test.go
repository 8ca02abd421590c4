package web

import (
	"testing"
	"time"
)

func TestMoneyForPeople(t *testing.T) {
	for _, c := range []struct {
		minor    int64
		currency string
		want     string
	}{
		{4250, "EUR", "€42.50"}, {5, "EUR", "€0.05"}, {0, "EUR", "€0.00"}, {4250, "JPY", "¥4,250"}, {0, "JPY", "¥0"}, {1250, "KWD", "KWD\u00a01.250"},
		{123456789, "USD", "$1,234,567.89"}, {100, "CHF", "CHF\u00a01.00"}, {-4250, "EUR", "−€42.50"}, {99900, "GBP", "£999.00"}, {100000, "GBP", "£1,000.00"},
		{-1 << 63, "JPY", "−¥9,223,372,036,854,775,808"}, {100, "XXX", "XXX\u00a01.00"},
	} {
		if got := formatMoney(c.minor, c.currency, locale{}); got != c.want {
			t.Errorf("formatMoney(%d, %s) = %q, want %q", c.minor, c.currency, got, c.want)
		}
	}
	for _, c := range []struct {
		text, currency string
		want           int64
	}{
		{"42.50", "EUR", 4250}, {" 42,5 ", "EUR", 4250}, {"42", "EUR", 4200}, {"0", "EUR", 0}, {"4250", "JPY", 4250}, {"1.25", "KWD", 1250},
		{"", "EUR", -1}, {"-1", "EUR", -1}, {"42.505", "EUR", -1}, {"1.5", "JPY", -1}, {"1.", "EUR", -1}, {".5", "EUR", -1}, {"1e3", "EUR", -1},
		{"1.000,00", "EUR", -1}, {"92233720368547758.08", "EUR", -1}, {"٣", "EUR", -1}, {"€5", "EUR", -1},
	} {
		got, err := parseMoney(c.text, c.currency)
		if err != nil {
			got = -1
		}
		if got != c.want {
			t.Errorf("parseMoney(%q, %s) = %d, want %d", c.text, c.currency, got, c.want)
		}
	}
}

func TestWallTimeIsTheHousesOwn(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"2027-01-10T10:00":    "2027-01-10T09:00:00Z",
		"2027-07-10T10:00":    "2027-07-10T08:00:00Z",
		"2027-07-10T10:00:30": "2027-07-10T08:00:30Z",
		"2027-10-31T02:30":    "2027-10-31T00:30:00Z", // comes twice: the first
		"2027-03-28T02:30":    "",                     // does not come
		"tomorrow":            "",
		"9999-12-31T23:59":    "", // no one writes later ones in every zone
		"0001-01-01T00:00":    "",
	} {
		got, err := wallTime(text, berlin)
		if err != nil && want == "" {
			continue
		}
		if err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("wallTime(%q) = %v, %v, want %q", text, got, err, want)
		}
	}
	if got, err := wallTime("", berlin); got != nil || err != nil {
		t.Errorf("no time gives %v, %v", got, err)
	}
}

func TestTimeZonesAreReadOnce(t *testing.T) {
	first, err := zone("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := zone("Europe/Berlin"); again != first || err != nil {
		t.Errorf("another zone the second time, %v", err)
	}
	if _, err := zone("Mars/Base"); err == nil {
		t.Error("there is a zone on Mars")
	}
}

func TestTimesInWords(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0:00", 0: "0:00", time.Millisecond: "0:01", 299 * time.Second: "4:59", 300 * time.Second: "5:00", 3725 * time.Second: "1:02:05",
	} {
		if got := clock(d); got != want {
			t.Errorf("clock(%v) = %q, want %q", d, got, want)
		}
	}
	for _, c := range []struct {
		low, high int
		want      string
	}{{0, 0, "less than a minute"}, {10, 59, "less than a minute"}, {48, 95, "about 1–2 minutes"}, {60, 60, "about 1 minute"}, {600, 900, "about 10–15 minutes"}, {3700, 7200, "about 1–2 hours"}} {
		if got := waitWords(c.low, c.high); got != c.want {
			t.Errorf("waitWords(%d, %d) = %q, want %q", c.low, c.high, got, c.want)
		}
	}
}
