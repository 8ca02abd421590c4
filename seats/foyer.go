package seats

// The fields of Foyer's own form; API.md, "Plan". The required ones come first.
var (
	foyerPlan     = shape{1, []string{"zones", "name", "categories"}}
	foyerCategory = shape{1, []string{"name", "color"}}
	foyerZone     = shape{2, []string{"name", "rows"}}
	foyerRow      = shape{2, []string{"name", "seats"}}
	foyerSeat     = shape{3, []string{"id", "number", "category", "x", "y", "accessible", "companion"}}
)

// readFoyer reads the document that w stands at as Foyer's own form.
func (d *draft) readFoyer(w *walker) {
	w.strict = true
	w.object(foyerPlan, func(field string) {
		switch field {
		case "name":
			d.name = w.optional(maxText)
		case "categories":
			d.readCategories(w)
		case "zones":
			w.array(func(z int) { d.foyerZone(w, z) })
		}
	})
}

// readCategories reads the list of categories, which Foyer's form and pretix share. Colours other than #rgb
// and #rrggbb are refused if w is strict and dropped otherwise.
func (d *draft) readCategories(w *walker) {
	listed := map[string]bool{}
	w.array(func(i int) {
		var c Category
		w.object(foyerCategory, func(field string) {
			if field == "name" {
				c.Name = w.text(maxText)
				return
			}
			given := w.optional(maxText)
			color, ok := cleanColor(given)
			if !ok && given != "" && w.strict {
				w.report.add(w, "%s is not a colour like #7a1f2b", quote(given))
			}
			c.Color = color
		})
		switch {
		case c.Name != "" && listed[c.Name]:
			w.report.add(w, "category %s is listed twice", quote(c.Name))
		case len(d.categories) == maxCategories:
			w.report.add(w, "the plan has more than %d categories", maxCategories)
		default:
			listed[c.Name] = true
			d.categories = append(d.categories, c)
		}
	})
}

func (d *draft) foyerZone(w *walker, z int) {
	var zone draftZone
	w.object(foyerZone, func(field string) {
		if field == "name" {
			zone.name = w.text(maxText)
			return
		}
		w.array(func(r int) {
			if row := d.foyerRow(w, z, r); len(row.seats) > 0 {
				zone.rows = append(zone.rows, row)
			}
		})
	})
	if len(zone.rows) > 0 {
		d.addZone(zone, w)
	}
}

func (d *draft) foyerRow(w *walker, z, r int) (row draftRow) {
	w.object(foyerRow, func(field string) {
		if field == "name" {
			row.name = w.text(maxText)
			return
		}
		w.array(func(i int) {
			if d.full() {
				w.skip()
				return
			}
			s := draftSeat{at: origin{zone: z, row: r, seat: i}}
			w.object(foyerSeat, func(field string) { s.foyerField(w, field) })
			d.addSeat(&row, s)
		})
	})
	return row
}

func (s *draftSeat) foyerField(w *walker, field string) {
	switch field {
	case "id":
		s.ID = w.text(maxID)
	case "number":
		s.Number = w.text(maxText)
	case "category":
		s.Category = w.text(maxText)
	case "x":
		s.X, s.hasX = w.number(), true
	case "y":
		s.Y, s.hasY = w.number(), true
	case "accessible":
		s.Accessible = w.boolean()
	case "companion":
		s.Companion = w.boolean()
	}
}
