package seats

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"slices"
)

// Plan is the drawing of a house. Make one with Parse, and do not change it: the methods read what Parse
// worked out.
//
// Seats are numbered from zero in plan order: zone by zone, row by row, in the order of the document.
type Plan struct {
	Name       string     `json:"name"` // may be empty: a CSV file has no place for it
	Categories []Category `json:"categories"`
	Zones      []Zone     `json:"zones"`

	seats     []Seat         // all seats in plan order; the rows above are windows on it
	index     map[string]int // id -> place in seats
	rowOf     []int32        // seat -> place in rows
	rows      []span
	byRank    []int32 // places in rows, from the front of the house to the back
	middle    float64 // x of the house's middle line
	canonical []byte
	version   string
}

// Category is a kind of seat that has one price. Color is "#rrggbb".
type Category struct {
	Name  string `json:"name"`
	Color string `json:"color"`
}

// Zone is a part of the house. Names need not be unique.
type Zone struct {
	Name string `json:"name"`
	Rows []Row  `json:"rows"`
}

// Row is a row of seats; seats that follow each other are neighbours. Names need not be unique.
type Row struct {
	Name  string `json:"name"`
	Seats []Seat `json:"seats"`
}

// Seat is one seat. X and Y are its middle, right and down on the screen, in whatever unit the plan uses; in
// seat widths when the document had none. Accessible is a wheelchair place, Companion the seat beside one.
type Seat struct {
	ID         string  `json:"id"`
	Number     string  `json:"number"`
	Category   string  `json:"category"`
	X          float64 `json:"x"`
	Y          float64 `json:"y"`
	Accessible bool    `json:"accessible"`
	Companion  bool    `json:"companion"`
}

// span is a row as a range of seats, from inclusive, to exclusive.
type span struct {
	zone, row int32 // p.Zones[zone].Rows[row]
	from, to  int32
	rank      int32 // 0 is the front; rows equally far from the front share a rank
}

// Len is the number of seats.
func (p *Plan) Len() int { return len(p.seats) }

// Seat returns the seat with number i, 0 <= i < Len. It belongs to the plan: read only.
func (p *Plan) Seat(i int) *Seat { return &p.seats[i] }

// Index finds a seat by its id, byte by byte.
func (p *Plan) Index(id string) (i int, ok bool) {
	i, ok = p.index[id]
	return i, ok
}

// Label names seat i for people: "Stalls, row A, seat 12". Labels need not be unique.
func (p *Plan) Label(i int) string {
	zone, row := p.Place(i)
	return zone + ", row " + row + ", seat " + p.seats[i].Number
}

// Place returns the names of the zone and the row of seat i.
func (p *Plan) Place(i int) (zone, row string) {
	r := p.rows[p.rowOf[i]]
	z := &p.Zones[r.zone]
	return z.Name, z.Rows[r.row].Name
}

// HasCategory says whether the plan lists a category of this name.
func (p *Plan) HasCategory(name string) bool {
	return slices.ContainsFunc(p.Categories, func(c Category) bool { return c.Name == name })
}

// JSON returns the plan in Foyer's own form, always the same bytes for the same plan. They are shared: read only.
func (p *Plan) JSON() []byte { return p.canonical }

// Version is the first 12 hex digits of the SHA-256 of JSON.
func (p *Plan) Version() string { return p.version }

// complete works out everything that the exported fields imply.
func (p *Plan) complete() error {
	p.index = make(map[string]int, len(p.seats))
	p.rowOf = make([]int32, len(p.seats))
	left, right := math.Inf(1), math.Inf(-1)
	for r, row := range p.rows {
		for i := row.from; i < row.to; i++ {
			p.index[p.seats[i].ID] = int(i)
			p.rowOf[i] = int32(r)
			left, right = min(left, p.seats[i].X), max(right, p.seats[i].X)
		}
	}
	p.middle = (left + right) / 2
	p.rankRows()
	doc, err := json.Marshal(p)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(doc)
	p.canonical, p.version = doc, hex.EncodeToString(sum[:])[:12]
	return nil
}

// rankRows orders the rows from the front to the back. How far a row is from the front is its mean y. On
// which side the front is, the plan tells by the order of its rows, which begins at the stage: mostly
// rising y means at the top.
func (p *Plan) rankRows() {
	depth := make([]float64, len(p.rows))
	rising := 0
	for r, row := range p.rows {
		for _, s := range p.seats[row.from:row.to] {
			depth[r] += s.Y
		}
		depth[r] = round(depth[r] / float64(row.to-row.from))
		if r > 0 && p.rows[r-1].zone == row.zone {
			rising += cmp.Compare(depth[r], depth[r-1])
		}
	}
	if rising < 0 {
		for r := range depth {
			depth[r] = -depth[r]
		}
	}
	p.byRank = make([]int32, len(p.rows))
	for r := range p.byRank {
		p.byRank[r] = int32(r)
	}
	slices.SortStableFunc(p.byRank, func(a, b int32) int { return cmp.Compare(depth[a], depth[b]) })
	rank := int32(0)
	for k, r := range p.byRank {
		if k > 0 && depth[r] != depth[p.byRank[k-1]] {
			rank++
		}
		p.rows[r].rank = rank
	}
}

// round drops what binary fractions add beyond six decimals, and the sign of zero.
func round(v float64) float64 { return math.Round(v*1e6)/1e6 + 0 }
