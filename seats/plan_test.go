package seats

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// mustParse parses a document that must be good, and holds it to the promises of every plan.
func mustParse(t testing.TB, doc string) *Plan {
	t.Helper()
	p, err := Parse([]byte(doc))
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	checkPlan(t, p)
	return p
}

// problems parses a document that must be refused and returns "where: what" lines.
func problems(t testing.TB, doc string) []string {
	t.Helper()
	p, err := Parse([]byte(doc))
	var bad *BadPlan
	if !errors.As(err, &bad) || p != nil {
		t.Fatalf("Parse(%.80q) = %v, %v; want a *BadPlan", doc, p, err)
	}
	var lines []string
	for _, b := range bad.Problems {
		lines = append(lines, b.Where+": "+b.What)
	}
	if len(lines) == 0 || len(lines) > 100 {
		t.Fatalf("%d problems, want 1 to 100", len(lines))
	}
	return lines
}

func readTestdata(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// csvHall is a CSV plan of zones x rows x seats, of one category.
func csvHall(zones, rows, seats int) string {
	var b strings.Builder
	b.WriteString("zone,row,seat,category\n")
	for z := range zones {
		for r := range rows {
			for s := range seats {
				fmt.Fprintf(&b, "Z%d,%d,%d,Seat\n", z+1, r+1, s+1)
			}
		}
	}
	return b.String()
}

func TestThreeFormsOfOneHallAreOneHall(t *testing.T) {
	want := []string{"A-1 Stalls, row A, seat 1", "A-2 Stalls, row A, seat 2", "A-3 Stalls, row A, seat 3",
		"B-1 Stalls, row B, seat 1", "B-2 Stalls, row B, seat 2", "B-3 Stalls, row B, seat 3", "B-4 Stalls, row B, seat 4",
		"R-1 Balcony, row R, seat 1", "R-2 Balcony, row R, seat 2"}
	for _, name := range []string{"hall.json", "hall.csv", "hall.pretix.json"} {
		p := mustParse(t, readTestdata(t, name))
		var got []string
		for i := range p.Len() {
			got = append(got, p.Seat(i).ID+" "+p.Label(i))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n got %q\nwant %q", name, got, want)
		}
		if len(p.Zones) != 2 {
			t.Errorf("%s: %d zones, want 2: those without seats are left out", name, len(p.Zones))
		}
		if len(p.Categories) != 2 || !p.HasCategory("Balcony") || p.HasCategory("balcony") || p.HasCategory("") {
			t.Errorf("%s: categories %v", name, p.Categories)
		}
	}
}

func TestFoyerAndCSVGiveTheSameDrawing(t *testing.T) {
	a, b := mustParse(t, readTestdata(t, "hall.json")), mustParse(t, readTestdata(t, "hall.csv"))
	if !reflect.DeepEqual(a.Zones, b.Zones) {
		t.Errorf("zones differ:\n%+v\n%+v", a.Zones, b.Zones)
	}
}

func TestIndexFindsIDsByteByByte(t *testing.T) {
	p := mustParse(t, "zone,row,seat,category,id\nS,A,1,K,A1\nS,A,2,K,a1\nS,A,3,K,\u00e9\nS,A,4,K,e\u0301\n")
	for i, id := range []string{"A1", "a1", "\u00e9", "e\u0301"} {
		if got, ok := p.Index(id); got != i || !ok {
			t.Errorf("Index(%q) = %d, %v; want %d", id, got, ok, i)
		}
	}
	for _, id := range []string{" A1", "A1 ", "", "A\u200b1"} {
		if got, ok := p.Index(id); ok {
			t.Errorf("Index(%q) = %d, want none", id, got)
		}
	}
}

func TestVersionChangesWithThePlan(t *testing.T) {
	a := mustParse(t, csvHall(1, 2, 3))
	again := mustParse(t, csvHall(1, 2, 3))
	other := mustParse(t, csvHall(1, 3, 3))
	if a.Version() != again.Version() || a.Version() == other.Version() {
		t.Errorf("versions %s, %s, %s; want the first two equal, the third not", a.Version(), again.Version(), other.Version())
	}
	if len(a.Version()) != 12 || strings.Trim(a.Version(), "0123456789abcdef") != "" {
		t.Errorf("version %q, want 12 hex digits", a.Version())
	}
}

func TestSeatsAlwaysShowTheirCoordinatesAndFlagsInJSON(t *testing.T) {
	p := mustParse(t, csvHall(1, 1, 1))
	want := `{"name":"","categories":[{"name":"Seat","color":"#0072b2"}],"zones":[{"name":"Z1","rows":[{"name":"1","seats":` +
		`[{"id":"1-1","number":"1","category":"Seat","x":0,"y":0,"accessible":false,"companion":false}]}]}]}`
	if got := string(p.JSON()); got != want {
		t.Errorf("JSON\n got %s\nwant %s", got, want)
	}
}

func TestRowsWithoutCoordinatesAreStraightAndCentred(t *testing.T) {
	p := mustParse(t, readTestdata(t, "hall.json"))
	want := [][2]float64{{0.5, 0}, {1.5, 0}, {2.5, 0}, {0, 1.2}, {1, 1.2}, {2, 1.2}, {3, 1.2}, {1, 4.8}, {2, 4.8}}
	for i, w := range want {
		if s := p.Seat(i); s.X != w[0] || s.Y != w[1] {
			t.Errorf("%s at %v, %v; want %v", s.ID, s.X, s.Y, w)
		}
	}
}

func TestFrontIsWhereTheRowsBegin(t *testing.T) {
	head := "zone,row,seat,category,x,y\n"
	for _, c := range []struct{ name, doc, front string }{
		{"stage at the top", head + "S,A,1,K,0,0\nS,B,1,K,0,10\nS,C,1,K,0,20\n", "A-1"},
		{"stage at the bottom", head + "S,A,1,K,0,20\nS,B,1,K,0,10\nS,C,1,K,0,0\n", "A-1"},
		{"zones listed from the back", head + "Back,X,1,K,0,20\nBack,Y,1,K,0,30\nFront,A,1,K,0,0\nFront,B,1,K,0,10\n", "A-1"},
	} {
		p := mustParse(t, c.doc)
		got := Best(p, 1, "", func(int) bool { return true })
		if len(got) != 1 || p.Seat(got[0]).ID != c.front {
			t.Errorf("%s: best is %v, want %s", c.name, got, c.front)
		}
	}
}

func TestCountsNameEverySeatOnce(t *testing.T) {
	got := Count([]State{Available, Held, Sold, OffSale, Available, 0, 'X'})
	if want := (Counts{Available: 2, Held: 1, Sold: 1, OffSale: 3}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	doc, _ := json.Marshal(got)
	if want := `{"available":2,"held":1,"sold":1,"offSale":3}`; string(doc) != want {
		t.Errorf("got %s, want %s", doc, want)
	}
}

func TestWishIsCheckedInOrder(t *testing.T) {
	many := make([]string, 600)
	for _, c := range []struct {
		name string
		ids  []string
		max  int
		want error
	}{
		{"nil", nil, 4, ErrNone},
		{"empty", []string{}, 4, ErrNone},
		{"none before too many", nil, -1, ErrNone},
		{"one", []string{"A1"}, 4, nil},
		{"four", []string{"A1", "A2", "A3", "A4"}, 4, nil},
		{"five", []string{"A1", "A2", "A3", "A4", "A5"}, 4, ErrTooMany},
		{"600 equal ones are too many before they are duplicates", many, 4, ErrTooMany},
		{"twice", []string{"A1", "A1"}, 4, ErrDuplicate},
		{"twice, apart", []string{"A1", "A2", "A1"}, 4, ErrDuplicate},
		{"three different strings", []string{"A1", " A1", "a1"}, 4, nil},
		{"composed and decomposed", []string{"\u00e9", "e\u0301"}, 4, nil},
		{"no room at all", []string{"A1"}, 0, ErrTooMany},
	} {
		before := slices.Clone(c.ids)
		if got := CheckWish(c.ids, c.max); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
		if !slices.Equal(before, c.ids) {
			t.Errorf("%s: the wish was changed to %q", c.name, c.ids)
		}
	}
}
