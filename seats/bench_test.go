package seats

import (
	"encoding/json"
	"strings"
	"testing"
)

// bigHall has 50 000 seats: 10 zones of 50 rows of 100.
func bigHall(b *testing.B) *Plan {
	p, err := Parse([]byte(csvHall(10, 50, 100)))
	if err != nil {
		b.Fatal(err)
	}
	return p
}

func BenchmarkParse50000(b *testing.B) {
	p := bigHall(b)
	for name, doc := range map[string][]byte{"foyer": p.JSON(), "csv": []byte(csvHall(10, 50, 100)), "pretix": asPretix(p)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(doc); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("floor: json.Valid and Marshal", func(b *testing.B) {
		for b.Loop() {
			json.Valid(p.JSON())
			json.Marshal(p)
		}
	})
}

// asPretix writes a plan in pretix's form, near enough.
func asPretix(p *Plan) []byte {
	doc := string(p.JSON())
	doc = strings.ReplaceAll(doc, `"id":`, `"seat_guid":`)
	doc = strings.ReplaceAll(doc, `"number":`, `"seat_number":`)
	doc = strings.ReplaceAll(doc, `"x":`, `"position":{"x":`)
	return []byte(strings.ReplaceAll(doc, `,"accessible"`, `},"accessible"`))
}

func BenchmarkBest50000(b *testing.B) {
	p := bigHall(b)
	for _, c := range []struct {
		name  string
		count int
		free  func(i int) bool
	}{
		{"all free", 4, func(int) bool { return true }},
		{"last rows free", 4, func(i int) bool { return i > 49_000 }},
		{"every second free", 4, func(i int) bool { return i%2 == 0 }},
		{"every second free, 40 wanted", 40, func(i int) bool { return i%2 == 0 }},
		{"every second free, 1000 wanted", 1000, func(i int) bool { return i%2 == 0 }},
		{"too few", 4, func(i int) bool { return i < 3 }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Best(p, c.count, "", c.free)
			}
		})
	}
}
