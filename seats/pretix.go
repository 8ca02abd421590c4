package seats

import "strconv"

// The fields of the pretix seating plan that a house is made of; source: seating-plan.schema.json of pretix,
// version 0.0.1. Whatever else there is (size, areas, uuid, labels) is drawing, and skipped. A position is
// optional here though the schema demands it of zones and seats.
var (
	pretixPlan     = shape{1, []string{"zones", "name", "categories"}}
	pretixZone     = shape{1, []string{"rows", "name", "zone_id", "position"}}
	pretixRow      = shape{1, []string{"seats", "row_number", "position"}}
	pretixSeat     = shape{3, []string{"seat_guid", "seat_number", "category", "position"}}
	pretixPosition = shape{2, []string{"x", "y"}}
)

// isPretix tells pretix's form by a field that Foyer's lacks: row_number in a row or seat_guid in a seat.
// It leaves w where it is.
func (w *walker) isPretix() bool {
	ahead := func() *walker { return &walker{data: w.data, at: w.at, report: &report{}} }
	return ahead().has("zones", "rows", "row_number") || ahead().has("zones", "rows", "seats", "seat_guid")
}

// has says whether the object at w has the last field, when every field before is a list of objects.
func (w *walker) has(fields ...string) (found bool) {
	w.object(shape{0, fields[:1]}, func(string) {
		if len(fields) == 1 {
			found = true
			w.skip()
			return
		}
		w.array(func(int) { found = w.has(fields[1:]...) || found })
	})
	return found
}

// point is a position; set says that one was given.
type point struct {
	x, y float64
	set  bool
}

// readPretix reads the document that w stands at as a pretix seating plan.
func (d *draft) readPretix(w *walker) {
	w.object(pretixPlan, func(field string) {
		switch field {
		case "name":
			d.name = w.optional(maxText)
		case "categories":
			d.readCategories(w)
		case "zones":
			w.array(func(z int) { d.pretixZone(w, z) })
		}
	})
}

func (d *draft) pretixZone(w *walker, z int) {
	var zone draftZone
	var id string
	var at point
	w.object(pretixZone, func(field string) {
		switch field {
		case "name":
			zone.name = w.optional(maxText)
		case "zone_id":
			id = w.optional(maxText)
		case "position":
			at = w.position()
		case "rows":
			w.array(func(r int) {
				if row := d.pretixRow(w, z, r); len(row.seats) > 0 {
					zone.rows = append(zone.rows, row)
				}
			})
		}
	})
	for r := range zone.rows {
		zone.rows[r].move(at)
	}
	if zone.name == "" {
		zone.name = id
	}
	if zone.name == "" {
		zone.name = "Zone " + strconv.Itoa(z+1)
	}
	if len(zone.rows) > 0 {
		d.addZone(zone, w)
	}
}

func (d *draft) pretixRow(w *walker, z, r int) (row draftRow) {
	var at point
	w.object(pretixRow, func(field string) {
		switch field {
		case "row_number":
			row.name = w.optional(maxText)
		case "position":
			at = w.position()
		case "seats":
			w.array(func(i int) {
				if d.full() {
					w.skip()
					return
				}
				s := draftSeat{at: origin{zone: z, row: r, seat: i}}
				w.object(pretixSeat, func(field string) { s.pretixField(w, field) })
				d.addSeat(&row, s)
			})
		}
	})
	row.move(at)
	if row.name == "" {
		row.name = strconv.Itoa(r + 1)
	}
	return row
}

func (s *draftSeat) pretixField(w *walker, field string) {
	switch field {
	case "seat_guid":
		s.ID = w.text(maxID)
	case "seat_number":
		s.Number = w.text(maxText)
	case "category":
		s.Category = w.text(maxText)
	case "position":
		at := w.position()
		s.X, s.Y, s.hasX, s.hasY = at.x, at.y, at.set, at.set
	}
}

// move adds the position of the row or of its zone to those of its seats. A seat without one stays without.
func (r *draftRow) move(by point) {
	for i := range r.seats {
		s := &r.seats[i]
		if s.hasX {
			s.X, s.Y = s.X+by.x, s.Y+by.y
		}
	}
}

func (w *walker) position() (p point) {
	p.set = w.object(pretixPosition, func(field string) {
		if field == "x" {
			p.x = w.number()
		} else {
			p.y = w.number()
		}
	})
	return p
}
