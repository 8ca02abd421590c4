package seats

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"testing"
	"unicode/utf8"
)

// checkPlan holds a plan to the promises of the package comment.
func checkPlan(t testing.TB, p *Plan) {
	t.Helper()
	if p.Len() < 1 || p.Len() > 100_000 || len(p.Zones) > 1000 {
		t.Fatalf("%d seats in %d zones", p.Len(), len(p.Zones))
	}
	n := 0
	for _, z := range p.Zones {
		for _, r := range z.Rows {
			for k := range r.Seats {
				if &r.Seats[k] != p.Seat(n) {
					t.Fatalf("Seat(%d) is not the seat of its row", n)
				}
				if zone, row := p.Place(n); zone != z.Name || row != r.Name {
					t.Fatalf("Place(%d) = %q, %q; want %q, %q", n, zone, row, z.Name, r.Name)
				}
				checkSeat(t, p, n)
				n++
			}
		}
	}
	if n != p.Len() {
		t.Fatalf("%d seats in rows, Len %d", n, p.Len())
	}
	again, err := Parse(p.JSON())
	if err != nil {
		t.Fatalf("Parse(p.JSON()): %v", err)
	}
	if !reflect.DeepEqual(again, p) || !bytes.Equal(again.JSON(), p.JSON()) || again.Version() != p.Version() {
		t.Fatalf("does not survive its own JSON: %.500s", p.JSON())
	}
}

func checkSeat(t testing.TB, p *Plan, n int) {
	t.Helper()
	s := p.Seat(n)
	if i, ok := p.Index(s.ID); i != n || !ok {
		t.Fatalf("Index(%q) = %d, %v; want %d: ids are not unique", s.ID, i, ok, n)
	}
	if c := utf8.RuneCountInString(s.ID); c < 1 || c > 64 || !utf8.ValidString(s.ID) {
		t.Fatalf("id %q", s.ID)
	}
	if !p.HasCategory(s.Category) {
		t.Fatalf("%q is in no category of the plan: %q", s.ID, s.Category)
	}
	for _, v := range []float64{s.X, s.Y} {
		if math.IsNaN(v) || math.Abs(v) > 1e6 || v == 0 && math.Signbit(v) {
			t.Fatalf("%q at %v, %v", s.ID, s.X, s.Y)
		}
	}
	for _, text := range []string{p.Label(n), s.ID, s.Category} {
		if fault := textFault(text, 400); fault != "" {
			t.Fatalf("%q %s", text, fault)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"hall.json", "hall.csv", "hall.pretix.json"} {
		f.Add([]byte(readTestdata(f, name)))
	}
	for _, doc := range []string{
		foyer(good), pretix(`{"seat_guid":"a","seat_number":"1","category":"K","position":{"x":-0,"y":1e-9}}`),
		"sep=;\nzone;row;seat;category;x;y\nS;\"A\n\";1;K;1,5;-0\n", utf16Text("\ufeffzone\trow\tseat\tcategory\r\nS\tA\t1\tK\r\n", true),
		`{"zones":[{"name":"S","rows":[{"name":"A","seats":[{"id":"\ud83d\ude00","number":"\\","category":"\"<"}]}]}]}`,
	} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		p, err := Parse(data)
		if !bytes.Equal(before, data) {
			t.Fatal("Parse changed its input")
		}
		Notices(data)
		if err == nil {
			checkPlan(t, p)
			return
		}
		var bad *BadPlan
		if !errors.As(err, &bad) || p != nil || len(bad.Problems) < 1 || len(bad.Problems) > 100 {
			t.Fatalf("Parse = %v, %v", p, err)
		}
		for _, b := range bad.Problems {
			if b.Where == "" || b.What == "" || !utf8.ValidString(b.Where+b.What) {
				t.Fatalf("problem %+v", b)
			}
		}
	})
}
