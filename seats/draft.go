package seats

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// draft is a plan while it is read, with the place of everything in the document. The readers of the
// three forms fill it; finish checks what can only be seen when all is read, and makes the plan.
type draft struct {
	report
	name       string
	categories []Category
	zones      []draftZone
	seats      int // read, also those that are too many to keep
}

type draftZone struct {
	name string
	rows []draftRow
}

type draftRow struct {
	name  string
	seats []draftSeat
}

type draftSeat struct {
	Seat
	hasX, hasY bool
	at         origin
}

// origin is where a seat stood: on a line, or without one at zones[zone].rows[row].seats[seat].
type origin struct{ line, zone, row, seat int }

func (o origin) String() string {
	if o.line > 0 {
		return line(o.line).String()
	}
	return fmt.Sprintf("zones[%d].rows[%d].seats[%d]", o.zone, o.row, o.seat)
}

// full says that there are too many seats; the rest need not be read.
func (d *draft) full() bool { return d.seats > maxSeats }

// addSeat keeps a seat unless there are too many.
func (d *draft) addSeat(row *draftRow, s draftSeat) {
	if d.seats++; d.seats == maxSeats+1 {
		d.add(s.at, "the plan has more than %d seats", maxSeats)
	}
	if !d.full() {
		row.seats = append(row.seats, s)
	}
}

// addZone keeps a zone unless there are too many; one too many is kept, so that it is reported once.
func (d *draft) addZone(z draftZone, at fmt.Stringer) {
	if len(d.zones) == maxZones {
		d.add(at, "the plan has more than %d zones", maxZones)
	}
	if len(d.zones) <= maxZones {
		d.zones = append(d.zones, z)
	}
}

// each visits the seats in plan order.
func (d *draft) each(visit func(zone *draftZone, row *draftRow, s *draftSeat)) {
	for z := range d.zones {
		zone := &d.zones[z]
		for r := range zone.rows {
			row := &zone.rows[r]
			for i := range row.seats {
				visit(zone, row, &row.seats[i])
			}
		}
	}
}

// finish returns the plan, or the *BadPlan.
func (d *draft) finish() (*Plan, error) {
	if d.seats == 0 && d.total == 0 {
		d.add(place("plan"), "there are no seats")
	}
	d.checkIDs()
	d.checkCategories()
	d.checkCoordinates()
	if err := d.err(); err != nil {
		return nil, err
	}
	p := d.plan()
	if err := p.complete(); err != nil {
		d.add(place("plan"), "cannot be written as JSON: %v", err)
	}
	if len(p.canonical) > maxBytes {
		d.add(place("plan"), "in Foyer's own form it is larger than %d MiB", maxBytes>>20)
	}
	if err := d.err(); err != nil {
		return nil, err
	}
	return p, nil
}

// checkIDs reports every use of an id but the first.
func (d *draft) checkIDs() {
	first := make(map[string]origin, d.seats)
	d.each(func(_ *draftZone, _ *draftRow, s *draftSeat) {
		if s.ID == "" {
			return // reported where it was read
		}
		if at, taken := first[s.ID]; taken {
			d.add(s.at, "seat id %s is taken by %v", quote(s.ID), at)
			return
		}
		first[s.ID] = s.at
	})
}

// checkCategories holds the seats to the list of categories, or makes the list if there is none, and gives colours.
func (d *draft) checkCategories() {
	collect := len(d.categories) == 0
	listed := map[string]bool{}
	for _, c := range d.categories {
		listed[c.Name] = true
	}
	d.each(func(_ *draftZone, _ *draftRow, s *draftSeat) {
		switch {
		case s.Category == "" || listed[s.Category]:
		case !collect:
			d.add(s.at, "category %s is not in the plan's list", quote(s.Category))
		case len(d.categories) == maxCategories:
			d.add(s.at, "category %s is one more than %d", quote(s.Category), maxCategories)
		default:
			listed[s.Category] = true
			d.categories = append(d.categories, Category{Name: s.Category})
		}
	})
	for i := range d.categories {
		if d.categories[i].Color == "" {
			d.categories[i].Color = nextColor(d.categories, i)
		}
	}
}

// palette is made to be told apart by people who see colours differently; source: M. Okabe and K. Ito,
// "Color Universal Design" (2008), without black.
var palette = []string{"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442"}

// nextColor picks the first colour of the palette that no category has, or for category i one that another has too.
func nextColor(categories []Category, i int) string {
	for _, color := range palette {
		if !slices.ContainsFunc(categories, func(c Category) bool { return strings.EqualFold(c.Color, color) }) {
			return color
		}
	}
	return palette[i%len(palette)]
}

// cleanColor returns a CSS hex colour as #rrggbb, or false.
func cleanColor(s string) (string, bool) {
	if len(s) == 4 {
		s = string([]byte{s[0], s[1], s[1], s[2], s[2], s[3], s[3]})
	}
	if len(s) != 7 || s[0] != '#' || strings.Trim(s[1:], "0123456789abcdefABCDEF") != "" {
		return "", false
	}
	return s, true
}

// checkCoordinates sees that all seats have finite coordinates or none, and then draws them.
func (d *draft) checkCoordinates() {
	with, without := 0, 0
	var bare origin
	d.each(func(_ *draftZone, _ *draftRow, s *draftSeat) {
		switch {
		case s.hasX != s.hasY:
			d.add(s.at, "has only one of x and y")
		case !s.hasX:
			if without++; without == 1 {
				bare = s.at
			}
		case !(math.Abs(s.X) <= maxCoordinate && math.Abs(s.Y) <= maxCoordinate):
			d.add(s.at, "is farther out than %.0f", maxCoordinate)
			with++
		default:
			with++
		}
	})
	switch {
	case with == 0:
		d.straighten()
	case without > 0:
		d.add(bare, "has no x and y, like %d of the %d seats; give them to all seats or to none", without, with+without)
	}
}

// How rows are drawn that have no coordinates, in seat widths.
const (
	seatPitch = 1.0
	rowPitch  = 1.2
	zoneGap   = 2.4 // more than rowPitch, between the last row of a zone and the first of the next
)

// straighten draws every row straight and centred, one behind the other, the first at y = 0.
func (d *draft) straighten() {
	widest, n := 0, 0
	for _, z := range d.zones {
		for _, r := range z.rows {
			widest = max(widest, len(r.seats))
		}
	}
	for z := range d.zones {
		for r := range d.zones[z].rows {
			row := d.zones[z].rows[r].seats
			left := float64(widest-len(row)) / 2
			for i := range row {
				row[i].X = (left + float64(i)) * seatPitch
				row[i].Y = float64(n)*rowPitch + float64(z)*zoneGap
			}
			n++
		}
	}
}

// plan puts all seats into one slice and cuts the rows out of it.
func (d *draft) plan() *Plan {
	p := &Plan{Name: d.name, Categories: d.categories, seats: make([]Seat, 0, d.seats)}
	for z, zone := range d.zones {
		rows := make([]Row, len(zone.rows))
		for r, row := range zone.rows {
			from := len(p.seats)
			for _, s := range row.seats {
				s.X, s.Y = round(s.X), round(s.Y)
				p.seats = append(p.seats, s.Seat)
			}
			to := len(p.seats)
			rows[r] = Row{row.name, p.seats[from:to:to]}
			p.rows = append(p.rows, span{int32(z), int32(r), int32(from), int32(to), 0})
		}
		p.Zones = append(p.Zones, Zone{zone.name, rows})
	}
	return p
}
