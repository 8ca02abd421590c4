package seats

import (
	"cmp"
	"math"
	"slices"
)

// Best returns count seats that are as good together as there are, by number in plan order, rising; nil if
// fewer than count are free. free says whether a seat can be had; it is asked once for every seat. An empty
// category means any.
//
//   - Together is best: seats that follow each other in one row. Among such blocks the one nearest the front
//     wins; in rows equally near, the one that leaves fewer single seats alone, then the one nearer the
//     middle of its row, then of the house.
//   - If no row has them together: the closest group in neighbouring rows of one zone; if no zone has
//     enough: from the front.
//   - Accessible and companion seats are for those who need them, and left out unless there are too few
//     others in the whole house.
//
// The front is where the rows of the plan begin. Aisles inside a row are not known: if neighbours in a row
// are not neighbours in the house, the plan should make them two rows.
func Best(p *Plan, count int, category string, free func(i int) bool) []int {
	if count <= 0 || count > p.Len() {
		return nil
	}
	h := survey(p, category, free)
	if h.wanted < count {
		return nil
	}
	if h.wanted-h.reserved >= count {
		h.leaveReserved()
	}
	if block := h.together(count); block != nil {
		return block
	}
	if group := h.near(count); group != nil {
		return group
	}
	return h.anywhere(count)
}

// mark is what a search knows of a seat.
type mark byte

const (
	wanted   mark = 1 << iota // free, and of the category: may be given
	reserved                  // accessible or companion
	loose                     // free and not reserved, of any category: may be left alone
)

// count is 1 if the bit is set.
func (m mark) count(bit mark) int {
	if m&bit != 0 {
		return 1
	}
	return 0
}

// hunt is one search.
type hunt struct {
	*Plan
	marks    []mark
	wanted   int // seats marked so
	reserved int // of these
}

func survey(p *Plan, category string, free func(i int) bool) *hunt {
	h := &hunt{Plan: p, marks: make([]mark, p.Len())}
	for i := range h.marks {
		s := &p.seats[i]
		var m mark
		if s.Accessible || s.Companion {
			m = reserved
		}
		if free(i) {
			if m&reserved == 0 {
				m |= loose
			}
			if category == "" || s.Category == category {
				m |= wanted
				h.wanted++
				h.reserved += m.count(reserved)
			}
		}
		h.marks[i] = m
	}
	return h
}

// leaveReserved takes accessible and companion seats out of the search.
func (h *hunt) leaveReserved() {
	for i := range h.marks {
		if h.marks[i]&reserved != 0 {
			h.marks[i] &^= wanted
		}
	}
	h.wanted -= h.reserved
	h.reserved = 0
}

// block is count seats in a row and what speaks against them, the heaviest first.
type block struct {
	reserved int     // accessible and companion seats in it
	rank     int32   // of the row, from the front
	orphans  int     // single free seats that it would leave beside it
	aside    int     // from the middle of the row, in half seats
	far      float64 // from the middle of the house, in the unit of the plan
	from     int
}

func (a block) compare(b block) int {
	return cmp.Or(
		cmp.Compare(a.reserved, b.reserved),
		cmp.Compare(a.rank, b.rank),
		cmp.Compare(a.orphans, b.orphans),
		cmp.Compare(a.aside, b.aside),
		cmp.Compare(a.far, b.far),
		cmp.Compare(a.from, b.from))
}

// together finds the best block, or nil.
func (h *hunt) together(count int) []int {
	var best block
	found := false
	for _, r := range h.byRank {
		row := h.rows[r]
		if found && h.reserved == 0 && row.rank > best.rank {
			break
		}
		run := 0
		for i := int(row.from); i < int(row.to); i++ {
			if h.marks[i]&wanted == 0 {
				run = 0
				continue
			}
			if run++; run < count {
				continue
			}
			if b := h.weigh(row, i-count+1, count); !found || b.compare(best) < 0 {
				best, found = b, true
			}
		}
	}
	if !found {
		return nil
	}
	seats := make([]int, count)
	for k := range seats {
		seats[k] = best.from + k
	}
	return seats
}

func (h *hunt) weigh(row span, from, count int) block {
	to := from + count
	return block{
		reserved: h.countReserved(from, to),
		rank:     row.rank,
		orphans:  h.alone(row, from-1, -1) + h.alone(row, to, 1),
		aside:    abs(from + to - int(row.from) - int(row.to)),
		far:      round(math.Abs((h.seats[from].X+h.seats[to-1].X)/2 - h.middle)),
		from:     from,
	}
}

func (h *hunt) countReserved(from, to int) (n int) {
	if h.reserved == 0 {
		return 0
	}
	for _, m := range h.marks[from:to] {
		n += m.count(reserved)
	}
	return n
}

// alone is 1 if seat i, beside a block, is loose and the next one away from the block is not.
func (h *hunt) alone(row span, i, step int) int {
	in := func(i int) bool { return i >= int(row.from) && i < int(row.to) && h.marks[i]&loose != 0 }
	if in(i) && !in(i+step) {
		return 1
	}
	return 0
}

// anywhere takes the ordinary seats from the front, in each row from its middle, then the reserved ones.
func (h *hunt) anywhere(count int) []int {
	var all []int
	for _, r := range h.byRank {
		row := h.rows[r]
		from := len(all)
		for i := int(row.from); i < int(row.to); i++ {
			if h.marks[i]&wanted != 0 {
				all = append(all, i)
			}
		}
		slices.SortStableFunc(all[from:], func(a, b int) int {
			sides := int(row.from) + int(row.to) - 1
			return cmp.Compare(abs(2*a-sides), abs(2*b-sides))
		})
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(h.marks[a]&reserved, h.marks[b]&reserved) })
	seats := all[:count]
	slices.Sort(seats)
	return seats
}

func abs(n int) int { return max(n, -n) }
