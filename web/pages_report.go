package web

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"foyer/sale"
)

// reportData is a report as tables.
type reportData struct {
	staffPage
	Event        *sale.Event
	Report       *sale.Report
	Made         string
	Window       string // in words
	Since, Until string // as the form has them
	CSV          string // address of the same report
	Providers    []sumRow
	Operators    []sumRow
	Statuses     []statusRow
	Attention    []attentionRow
	Waived, Late string // "" for nothing
}

type sumRow struct {
	Locale       locale
	Name, Method string
	sale.Sums
}

type statusRow struct {
	Word string
	N    int
}

type attentionRow struct{ What, Sums string }

func (s *Server) reportPage(c echo.Context, by *sale.Key) error {
	e, _, err := s.office.Event(param(c, "event"))
	if err != nil {
		return err
	}
	v := &reportData{
		staffPage: staffFrame(c, by, "Report – "+e.Name, link{"/admin/events/" + e.ID, e.Name}), Event: e,
		Since: c.QueryParam("since"), Until: c.QueryParam("until"),
	}
	since, err1 := fromForm(v.Since, e.TimeZone)
	until, err2 := fromForm(v.Until, e.TimeZone)
	trouble := cmp.Or(err1, err2)
	if trouble == nil && !since.IsZero() && !until.IsZero() && !since.Before(until) {
		trouble = sayBad("“From” must be before “until”.")
	}
	if trouble != nil {
		since, until = time.Time{}, time.Time{}
	}
	status, err := v.fail(s, trouble)
	if err != nil {
		return err
	}
	if v.Report, err = s.office.Report(e.ID, since, until); err != nil {
		return err
	}
	v.fill(s, since, until)
	return s.render(c, status, "report", v)
}

func (v *reportData) fill(s *Server, since, until time.Time) {
	r, zone := v.Report, v.Event.TimeZone
	v.Made = dayTime(r.At, zone)
	v.CSV = api + "/admin/events/" + v.Event.ID + "/report.csv"
	window := url.Values{}
	var words []string
	for _, bound := range []struct {
		name, word string
		at         time.Time
	}{{"since", "from ", since}, {"until", "until ", until}} {
		if !bound.at.IsZero() {
			words = append(words, bound.word+dayTime(bound.at, zone))
			window.Set(bound.name, bound.at.UTC().Format(time.RFC3339))
		}
	}
	if v.Window = strings.Join(words, " "); v.Window == "" {
		v.Window = "the whole sale"
	} else {
		v.CSV += "?" + window.Encode()
	}
	for _, p := range r.Providers {
		v.Providers = append(v.Providers, sumRow{v.Locale, providerWord(p.Provider), "", p.Sums})
	}
	for _, o := range r.Operators {
		v.Operators = append(v.Operators, sumRow{v.Locale, s.operator(o.Operator), methodWord(o.Method), o.Sums})
	}
	for _, status := range slices.Sorted(maps.Keys(r.Orders)) {
		v.Statuses = append(v.Statuses, statusRow{orderWord(status), r.Orders[status]})
	}
	for _, a := range []struct {
		what string
		sums []sale.Money
	}{
		{"Nobody has decided about", r.Attention.Unsettled}, {"On its way back", r.Attention.Refunding}, {"Given back", r.Attention.Returned},
		{"Settled, not given back by Foyer", r.Attention.Kept}, {"For orders that nobody knows, of the whole house", r.Attention.Unplaced},
	} {
		var sums []string
		for _, m := range a.sums {
			sums = append(sums, moneyOf(m, v.Locale))
		}
		if sums != nil {
			v.Attention = append(v.Attention, attentionRow{a.what, strings.Join(sums, ", ")})
		}
	}
	if r.Waived.Amount != 0 {
		v.Waived = moneyOf(r.Waived, v.Locale)
	}
	if r.Late.Amount != 0 {
		v.Late = moneyOf(r.Late, v.Locale)
	}
}

func providerWord(name string) string {
	switch name {
	case "door":
		return "Box office"
	case "shop":
		return "The venue’s shop"
	case "free":
		return "Free"
	case "stripe":
		return "Stripe"
	case "demo":
		return "Demo (no real money)"
	}
	return name
}
