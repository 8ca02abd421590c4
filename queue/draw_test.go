package queue

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestDrawOrdersByTheLots(t *testing.T) {
	seed := []byte("a seed")
	name := func(b []byte, i int) []byte { return fmt.Appendf(b, "place %d", i) }
	order := Draw(seed, 1000, name)
	lot := func(i uint32) string {
		m := hmac.New(sha256.New, seed)
		m.Write(name(nil, int(i)))
		return string(m.Sum(nil))
	}
	if !slices.IsSortedFunc(order, func(a, b uint32) int { return cmpText(lot(a), lot(b)) }) {
		t.Error("the lots do not rise")
	}
	slices.Sort(order)
	for i, v := range order {
		if int(v) != i {
			t.Fatalf("entry %d is missing or there twice", i)
		}
	}
	if got := Draw(seed, 0, name); len(got) != 0 {
		t.Errorf("a draw of nobody gives %v", got)
	}
}

func cmpText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Equal names draw equal lots; entries then stand in their own order, and the
// draw comes to its end.
func TestEqualNamesKeepTheirOrder(t *testing.T) {
	if got := Draw([]byte{1}, 5, func(b []byte, _ int) []byte { return append(b, 'x') }); !slices.Equal(got, []uint32{0, 1, 2, 3, 4}) {
		t.Errorf("got %v", got)
	}
}

// TestDrawIsUniform holds 10 000 draws among eight against Pearson's chi-square:
// how often each entry gets each number, and each of the 40 320 orders' first three.
func TestDrawIsUniform(t *testing.T) {
	const draws, n = 10_000, 8
	rng := rand.New(rand.NewPCG(1, 2)) // the seeds of the draws, the same in every run
	var got [n][n]int
	firsts := map[[3]uint32]int{}
	for range draws {
		seed := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, rng.Uint64()), rng.Uint64())
		names := [n]uint64{}
		for i := range names {
			names[i] = rng.Uint64()
		}
		order := Draw(seed, n, func(b []byte, i int) []byte { return binary.BigEndian.AppendUint64(b, names[i]) })
		for number, entry := range order {
			got[entry][number]++
		}
		firsts[[3]uint32(order[:3])]++
	}
	chi := 0.0
	for _, row := range got {
		for _, c := range row {
			d := float64(c) - draws/n
			chi += d * d / (draws / n)
		}
	}
	if chi > 85.4 { // 49 degrees of freedom, p = 0.001
		t.Errorf("numbers: chi-square is %.1f", chi)
	}
	chi = 0
	const triples = n * (n - 1) * (n - 2)
	for _, c := range firsts {
		d := float64(c) - float64(draws)/triples
		chi += d * d / (float64(draws) / triples)
	}
	chi += float64(triples-len(firsts)) * draws / triples
	if chi > 443 { // 335 degrees of freedom, p < 0.0001
		t.Errorf("the first three: chi-square is %.1f over %d of %d", chi, len(firsts), triples)
	}
}

func BenchmarkDraw(b *testing.B) {
	ids := make([][16]byte, 2_000_000)
	for i := range ids {
		binary.BigEndian.PutUint64(ids[i][:], rand.Uint64())
	}
	for b.Loop() {
		Draw([]byte("seed"), len(ids), func(buf []byte, i int) []byte { return fmt.Appendf(buf, "%x", ids[i]) })
	}
}
