package web

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"foyer/sale"
)

type eventForm struct {
	openingForm
	ID, Name, Venue, Zone, Starts, Currency, Buyer, Pace, Active, Seats, Prices, Order string
	Buyers                                                                             []string
}

// eventFields are the fields of the form of a new event, as [staffPage.beside] names them.
var eventFields = append([]string{"id", "name", "venue", "timeZone", "startsAt", "order", "currency", "buyer", "admitPerSecond", "maxActive", "maxSeatsPerOrder", "prices"}, openingFields...)

// readEventForm takes the fields as they were typed.
func readEventForm(c echo.Context) eventForm {
	return eventForm{
		openingForm: readOpeningForm(c),
		ID:          c.FormValue("id"), Name: c.FormValue("name"), Venue: c.FormValue("venue"), Zone: c.FormValue("timeZone"),
		Starts: c.FormValue("startsAt"), Currency: c.FormValue("currency"), Buyer: c.FormValue("buyer"),
		Pace: c.FormValue("admitPerSecond"), Active: c.FormValue("maxActive"), Seats: c.FormValue("maxSeats"), Prices: c.FormValue("prices"),
		Order: c.FormValue("order"),
	}
}

// settings reads the form. What the sale itself checks is left to it.
func (f *eventForm) settings() (sale.Settings, error) {
	v := sale.DefaultSettings()
	v.ID, v.Name, v.Venue, v.TimeZone, v.Currency = f.ID, f.Name, f.Venue, strings.TrimSpace(f.Zone), f.Currency
	v.Rules.Buyer, v.Order = f.Buyer, cmp.Or(f.Order, v.Order)
	loc, err := zone(v.TimeZone)
	if err != nil || v.TimeZone == "" || v.TimeZone == "Local" {
		return v, about("timeZone", sayBad("The time zone must be a name such as Europe/Berlin."))
	}
	if v.StartsAt, err = wallTime(f.Starts, loc); err != nil {
		return v, about("startsAt", err)
	}
	f.Share = cmp.Or(f.Share, strconv.Itoa(v.Rules.MemberShare))
	if err := f.apply(&v, loc); err != nil {
		return v, err
	}
	for _, n := range []struct {
		to    *int
		text  string
		field string
		what  string
	}{
		{&v.Rules.AdmitPerSecond, f.Pace, "admitPerSecond", "People let in per second"}, {&v.Rules.MaxActive, f.Active, "maxActive", "People choosing at one time"},
		{&v.Rules.MaxSeatsPerOrder, f.Seats, "maxSeatsPerOrder", "Seats per order"},
	} {
		if *n.to, err = strconv.Atoi(strings.TrimSpace(n.text)); err != nil {
			return v, about(n.field, sayBad(n.what+" must be a whole number."))
		}
	}
	v.Prices, err = readPrices(f.Prices, v.Currency)
	return v, about("prices", err)
}

// labels turns the names of settings, as the API has them, into those on the forms.
var labels = strings.NewReplacer(
	"rules.admitPerSecond", "People let in per second", "rules.maxActive", "People choosing at one time",
	"rules.maxSeatsPerOrder", "Seats per order", "rules.buyer", "Buyer's name and e-mail",
	"startsAt", "Performance starts", "opensAt", "Sale opens", "closesAt", "the end of the sale", "challengeCost", "Size of the task", "presaleAt", "Presale for members", "rules.memberShare", memberShareLabel, "access must", "Who may join must", "timeZone", "Time zone",
)

const memberShareLabel = "Members’ share of ten turns"

func sayBad(detail string) error { return refuse(sale.ErrBadEvent.Code, detail) }

// about is a refusal with the field that it speaks of; another error stays what it is.
func about(field string, err error) error {
	r := new(sale.Refusal)
	if !errors.As(err, &r) {
		return err
	}
	return r.About(field)
}

// wallTime reads a local time of the house. An hour that the change to summer
// time leaves out is refused; of an hour that comes twice the first is meant.
func wallTime(text string, loc *time.Location) (*time.Time, error) {
	if text == "" {
		return nil, nil
	}
	const layout, long = "2006-01-02T15:04", "2006-01-02T15:04:05"
	form := layout
	if len(text) == len(long) {
		form = long
	}
	t, err := time.ParseInLocation(form, text, loc)
	if err != nil {
		return nil, sayBad("A time must be written as 2027-03-01T19:00.")
	}
	if t.Format(form) != text {
		return nil, sayBad("The time " + text + " does not exist in " + loc.String() + ": the clocks are put forward then.")
	}
	if other, comesTwice := twin(t); comesTwice && other.Before(t) {
		t = other
	}
	if t = t.UTC(); !sale.Writable(&t) {
		return nil, sayBad("A time must lie in the years 1 to 9998.")
	}
	return &t, nil
}

// readPrices reads lines such as "Stalls = 42.50".
func readPrices(text, currency string) (map[string]int64, error) {
	prices := map[string]int64{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		cut := strings.LastIndex(line, "=")
		if cut < 0 {
			return nil, sayBad(fmt.Sprintf("The price line %q must look like Stalls = 42.50.", line))
		}
		name := strings.TrimSpace(line[:cut])
		minor, err := parseMoney(line[cut+1:], currency)
		if err != nil {
			return nil, sayBad(fmt.Sprintf("The price of %q must be an amount of %s with at most %s.", name, currency, count(moneyDigits(currency), "decimal")))
		}
		if _, twice := prices[name]; twice {
			return nil, sayBad(fmt.Sprintf("The category %q has two prices.", name))
		}
		prices[name] = minor
	}
	return prices, nil
}

func writePrices(prices map[string]int64, currency string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(prices)) {
		b.WriteString(name + " = " + sale.Decimal(prices[name], currency) + "\n")
	}
	return b.String()
}

// planDoc finds the document; looked tells that it is one shown before.
func planDoc(f *multipart.Form) (doc []byte, looked bool, err error) {
	if texts := f.Value["doc"]; len(texts) == 1 {
		return []byte(texts[0]), true, nil
	}
	files := f.File["file"]
	if len(files) != 1 {
		return nil, false, refuse("bad_request", "Choose a file first.")
	}
	file, err := files[0].Open()
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = file.Close() }() // read only
	doc, err = io.ReadAll(file)
	return doc, false, err
}
