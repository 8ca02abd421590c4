package seats

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// pick asks for count seats of a picture: one row per line, zones apart by empty lines, '.' free, 'x' taken, 'w' a free wheelchair
// place, 'b' free and of the category B. It answers with the picture, the seats given as '#'.
func pick(t *testing.T, picture string, count int, category string) string {
	t.Helper()
	rows := strings.Split(picture, "\n")
	doc, zone := "zone,row,seat,category,accessible\n", 1
	for r, row := range rows {
		if row == "" {
			zone++
		}
		for s, c := range row {
			of := "K"
			if c == 'b' {
				of = "B"
			}
			doc += fmt.Sprintf("Z%d,%d,%d,%s,%v\n", zone, r, s, of, c == 'w')
		}
	}
	p := mustParse(t, doc)
	signs := []byte(strings.ReplaceAll(picture, "\n", ""))
	got := Best(p, count, category, func(i int) bool { return signs[i] != 'x' })
	if got == nil {
		return "none"
	}
	if len(got) != count || !slices.IsSorted(got) {
		t.Errorf("got %v, want %d seats in plan order", got, count)
	}
	for _, i := range got {
		signs[i] = '#'
	}
	for r := range rows {
		rows[r], signs = string(signs[:len(rows[r])]), signs[len(rows[r]):]
	}
	return strings.Join(rows, "\n")
}

func TestBestSeatsInPictures(t *testing.T) {
	for _, c := range []struct {
		name           string
		picture        string
		count          int
		category, want string
	}{
		{"front and middle", ".......\n.......", 3, "", "..###..\n......."},
		{"together before the front", "..x.x..\n.......", 3, "", "..x.x..\n..###.."},
		{"all of a row", "....", 4, "", "####"},
		{"no orphan at the end", ".....", 4, "", "####."},
		{"orphan avoided in the row", "xx...xx..xx", 2, "", "xx...xx##xx"},
		{"an orphan before a row behind", "...x\n....", 2, "", ".##x\n...."},
		{"no orphan at the middle", "....", 2, "", "##.."},
		{"taken middle", "...xx....", 2, "", "...xx##.."},
		{"one seat leaves no orphan", "...", 1, "", "#.."},
		{"category", "......\n..bb..", 2, "B", "......\n..##.."},
		{"category is no neighbour", "b.b.\n....", 2, "B", "#.#.\n...."},
		{"category unknown", "....", 1, "Q", "none"},
		{"front zone first", "..x\n\n...", 2, "", "##x\n\n..."},
		{"too few", ".x.", 3, "", "none"},
		{"none", ".x.", 0, "", "none"},
		{"fewer than none", ".x.", -1, "", "none"},
		{"more than there are seats", "...", 4, "", "none"},
		{"wheelchair places are left", "wwww....", 2, "", "wwww##.."},
		{"wheelchair places are left though others are apart", "ww.x.x", 2, "", "ww#x#x"},
		{"wheelchair places when nothing else is", "wwxx", 2, "", "##xx"},
		{"as few wheelchair places as there must be", "www.", 2, "", "ww##"},
		{"a wheelchair place beside is no orphan", "w..x...", 2, "", "w##x..."},
		{"split: the seat behind, not the far end", ".xxxxxx.\n.xxxxxxx", 2, "", "#xxxxxx.\n#xxxxxxx"},
		{"split: neighbouring rows", ".x.x\nxxxx\n..x.\n.xxx", 4, "", ".x.x\nxxxx\n##x#\n#xxx"},
		{"split in one zone", "x.x\n\n.x.", 2, "", "x.x\n\n#x#"},
		{"anything", "x.x\n\n.xx\n\n..x", 4, "", "x#x\n\n#xx\n\n##x"},
		{"anything from the front", ".x.\n\n.x.\n\n.x.", 5, "", "#x#\n\n#x#\n\n#x."},
	} {
		if got := pick(t, c.picture, c.count, c.category); got != c.want {
			t.Errorf("%s: %d of\n%s\n got\n%s\nwant\n%s", c.name, c.count, c.picture, got, c.want)
		}
	}
}

func TestBestAsksForEverySeatOnceAtMost(t *testing.T) {
	p := mustParse(t, csvHall(2, 3, 5))
	asked := map[int]int{}
	Best(p, 4, "", func(i int) bool { asked[i]++; return i%2 == 0 })
	for i, n := range asked {
		if n > 1 || i < 0 || i >= p.Len() {
			t.Errorf("seat %d was asked for %d times", i, n)
		}
	}
}

func TestBestAgreesWithBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 4000 {
		p := randomHall(t, rng)
		taken := make([]bool, p.Len())
		for i, sold := 0, rng.Float64(); i < len(taken); i++ {
			taken[i] = rng.Float64() < sold
		}
		free := func(i int) bool { return !taken[i] }
		category := []string{"", "K", "B"}[rng.IntN(3)]
		count := 1 + rng.IntN(5)
		got := Best(p, count, category, free)
		if fault := bruteFault(p, count, category, free, got); fault != "" {
			t.Fatalf("%s: Best(%d, %q) = %v\ntaken %v\n%s", fault, count, category, got, taken, p.JSON())
		}
	}
}

func randomHall(t *testing.T, rng *rand.Rand) *Plan {
	doc := "zone,row,seat,category,accessible,companion\n"
	for z := range 1 + rng.IntN(3) {
		for r := range 1 + rng.IntN(3) {
			for s := range 1 + rng.IntN(7) {
				doc += fmt.Sprintf("Z%d,%d,%d,%c,%v,%v\n", z, r, s, "KKKB"[rng.IntN(4)], rng.IntN(8) == 0, rng.IntN(8) == 0)
			}
		}
	}
	p, err := Parse([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// bruteFault says which promise of Best is broken by got, by trying all blocks of the house.
func bruteFault(p *Plan, count int, category string, free func(int) bool, got []int) string {
	special := func(i int) bool { return p.Seat(i).Accessible || p.Seat(i).Companion }
	all, ordinary := 0, 0
	for i := range p.Len() {
		if free(i) && (category == "" || p.Seat(i).Category == category) {
			all++
			if !special(i) {
				ordinary++
			}
		}
	}
	if (got == nil) != (all < count) {
		return "nil if and only if too few are free"
	}
	if got == nil {
		return ""
	}
	may := func(i int) bool {
		return free(i) && (category == "" || p.Seat(i).Category == category) && (ordinary < count || !special(i))
	}
	if len(got) != count || len(slices.Compact(slices.Clone(got))) != count || !slices.IsSorted(got) {
		return "distinct seats in plan order"
	}
	for _, i := range got {
		if !may(i) {
			return fmt.Sprintf("seat %d may not be given", i)
		}
	}
	blocks := bruteBlocks(p, count, may)
	if len(blocks) == 0 {
		return ""
	}
	if !slices.Contains(blocks, got[0]) || got[count-1] != got[0]+count-1 {
		return "together when there is a block"
	}
	if ordinary >= count {
		return bruteBetter(p, count, blocks, got[0], func(i int) bool { return free(i) && !special(i) })
	}
	return ""
}

// bruteBlocks are the first seats of all blocks.
func bruteBlocks(p *Plan, count int, may func(int) bool) (first []int) {
	from := 0
	for _, z := range p.Zones {
		for _, r := range z.Rows {
			for k := 0; k+count <= len(r.Seats); k++ {
				ok := true
				for i := from + k; i < from+k+count; i++ {
					ok = ok && may(i)
				}
				if ok {
					first = append(first, from+k)
				}
			}
			from += len(r.Seats)
		}
	}
	return first
}

// bruteBetter says why another block is better: its row is nearer (in these halls: earlier), or it leaves fewer alone, or it is nearer the middle.
func bruteBetter(p *Plan, count int, blocks []int, got int, loose func(int) bool) string {
	row := func(i int) (from, to int) {
		for from = i; from > 0 && p.rowOf[from-1] == p.rowOf[i]; from-- {
		}
		for to = i; to < p.Len() && p.rowOf[to] == p.rowOf[i]; to++ {
		}
		return from, to
	}
	orphans := func(first int) (n int) {
		from, to := row(first)
		gone := func(i int) bool { return i < from || i >= to || !loose(i) || i >= first && i < first+count }
		for i := from; i < to; i++ {
			if beside := i == first-1 || i == first+count; beside && !gone(i) && gone(i-1) && gone(i+1) {
				n++
			}
		}
		return n
	}
	aside := func(first int) int {
		from, to := row(first)
		return max(first-from+first+count-to, to-first-count-first+from)
	}
	for _, b := range blocks {
		switch {
		case p.rowOf[b] < p.rowOf[got]:
			return fmt.Sprintf("block %d is nearer the front", b)
		case p.rowOf[b] != p.rowOf[got]:
		case orphans(b) < orphans(got):
			return fmt.Sprintf("block %d leaves fewer alone", b)
		case orphans(b) == orphans(got) && aside(b) < aside(got):
			return fmt.Sprintf("block %d is nearer the middle", b)
		}
	}
	return ""
}

func TestSideBySideZonesFillFromTheMiddleOfTheHouse(t *testing.T) {
	doc := "zone,row,seat,category,x,y\n"
	for z, name := range []string{"Left", "Centre", "Right"} {
		for r := range 2 {
			for s := range 5 {
				doc += fmt.Sprintf("%s,%d,%d,K,%d,%d\n", name, r+1, s+1, z*10+s, r)
			}
		}
	}
	p := mustParse(t, doc)
	got := Best(p, 2, "", func(int) bool { return true })
	if len(got) != 2 || p.Label(got[0]) != "Centre, row 1, seat 1" {
		t.Errorf("got %v, want the front of the centre", got)
	}
}
