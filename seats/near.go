package seats

import (
	"cmp"
	"math"
	"slices"
)

// group is count seats in neighbouring rows and what speaks against them, the heaviest first.
type group struct {
	reserved int     // accessible and companion seats in it
	spread   float64 // width and depth of the box around it, added, in the unit of the plan
	rank     int32   // of the row nearest the front
	seats    []int
}

func (a group) compare(b group) int {
	return cmp.Or(
		cmp.Compare(a.reserved, b.reserved),
		cmp.Compare(a.spread, b.spread),
		cmp.Compare(a.rank, b.rank),
		cmp.Compare(a.seats[0], b.seats[0]))
}

// near finds the closest group of count seats in neighbouring rows of one zone, or nil when no zone has so
// many. It looks at as few rows at a time as have enough seats, and at one more, since the seat behind may
// be nearer than the far end of the row.
func (h *hunt) near(count int) []int {
	var best group
	for from := 0; from < len(h.rows); {
		to := from + 1
		for to < len(h.rows) && h.rows[to].zone == h.rows[from].zone {
			to++
		}
		rows := h.rows[from:to]
		if deep := h.fewestRows(rows, count); deep > 0 {
			for r := range rows {
				h.closest(rows[r:min(r+deep, len(rows))], count, &best)
				h.closest(rows[r:min(r+deep+1, len(rows))], count, &best)
			}
		}
		from = to
	}
	slices.Sort(best.seats)
	return best.seats
}

// fewestRows is the smallest number of neighbouring rows that have count wanted seats, 0 if all have not.
func (h *hunt) fewestRows(rows []span, count int) int {
	have := make([]int, len(rows))
	fewest, sum, first := 0, 0, 0
	for r, row := range rows {
		for _, m := range h.marks[row.from:row.to] {
			have[r] += m.count(wanted)
		}
		for sum += have[r]; sum-have[first] >= count; first++ {
			sum -= have[first]
		}
		if deep := r - first + 1; sum >= count && (fewest == 0 || deep < fewest) {
			fewest = deep
		}
	}
	return fewest
}

// closest slides over the wanted seats of some rows from left to right, count at a time, and keeps the best.
func (h *hunt) closest(rows []span, count int, best *group) {
	var have []int
	for _, row := range rows {
		for i := int(row.from); i < int(row.to); i++ {
			if h.marks[i]&wanted != 0 {
				have = append(have, i)
			}
		}
	}
	slices.SortFunc(have, func(a, b int) int {
		return cmp.Or(cmp.Compare(h.seats[a].X, h.seats[b].X), cmp.Compare(a, b))
	})
	for k := 0; k+count <= len(have); k++ {
		g := h.gather(have[k : k+count])
		if best.seats == nil || g.compare(*best) < 0 {
			*best = g
			best.seats = slices.Clone(g.seats)
		}
	}
}

// gather weighs seats that are sorted by x.
func (h *hunt) gather(seats []int) group {
	g := group{rank: math.MaxInt32, seats: seats}
	top, bottom := math.Inf(1), math.Inf(-1)
	for _, i := range seats {
		top, bottom = min(top, h.seats[i].Y), max(bottom, h.seats[i].Y)
		g.rank = min(g.rank, h.rows[h.rowOf[i]].rank)
		g.reserved += h.marks[i].count(reserved)
	}
	g.spread = round(h.seats[seats[len(seats)-1]].X - h.seats[seats[0]].X + bottom - top)
	return g
}
