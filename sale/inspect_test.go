package sale

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestManyFindingsOfOneKindAreCounted(t *testing.T) {
	i := NewInspection(time.Now(), false)
	for n := range findingsOfOne + 7 {
		i.Add("I4", "number %d", n)
	}
	i.Add("row", "one")
	i.Add(codeNote, "a note")
	found := i.Findings()
	if len(found) != findingsOfOne+3 || found[0].Code != "row" || found[len(found)-1].Code != codeNote {
		t.Errorf("%d findings, the first is %v, the last %v", len(found), found[0], found[len(found)-1])
	}
	if f := found[findingsOfOne+1]; f.Code != "I4" || !strings.Contains(f.What, "7 more") {
		t.Errorf("the rest is told as %v", f)
	}
	for _, f := range found {
		if f.Note() != (f.Code == codeNote) {
			t.Errorf("%v is a note: %v", f, f.Note())
		}
	}
}

func TestSumsThatAreTooLargeAreNotToldWrong(t *testing.T) {
	i := NewInspection(time.Now(), false)
	for n := range 3 {
		f := Fact{Provider: "bank", EventID: fmt.Sprint(n), Kind: FactSucceeded, Amount: math.MaxInt64, Currency: "EUR"}
		i.Receipt(uint64(n+1), &Receipt{Seq: uint64(n + 1), Fact: f, Outcome: "attention", Attention: unknownOrder})
	}
	if m := i.Tally().Money["EUR"]; m.Attention != math.MaxInt64 {
		t.Errorf("%d on the attention list", m.Attention)
	}
	if found := i.Findings(); len(found) != 1 || !found[0].Note() || !strings.Contains(found[0].What, "the sums of EUR") {
		t.Errorf("found %v", found)
	}
}

func TestBusiestSecondIsFoundAsByCounting(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		stamps := make([]int64, r.IntN(40))
		for n := range stamps {
			stamps[n] = int64(r.IntN(6000))
		}
		want := 0
		for _, end := range stamps {
			n := 0
			for _, s := range stamps {
				if s <= end && s >= end-1000 {
					n++
				}
			}
			want = max(want, n)
		}
		if got, _ := busiestSecond(slices.Clone(stamps)); got != want {
			t.Fatalf("%v: %d in the busiest second, want %d", stamps, got, want)
		}
	}
}

func TestMissingNumbersAreNamed(t *testing.T) {
	for _, c := range []struct {
		numbers []uint64
		want    string
	}{
		{[]uint64{1, 2, 3}, ""},
		{[]uint64{2, 3}, "number 1"},
		{[]uint64{1, 2, 4}, "number 3"},
		{[]uint64{1, 5, 6}, "the numbers 2 to 4"},
		{nil, ""},
	} {
		var r rowNumbers
		got := ""
		for _, n := range c.numbers {
			got += r.gap(n)
		}
		if got != c.want {
			t.Errorf("%v: %q, want %q", c.numbers, got, c.want)
		}
	}
}

// Those who only wait are many, and a quick look keeps nothing of them.
func TestQuickInspectionKeepsNothingOfThoseWhoWait(t *testing.T) {
	i := NewInspection(time.Now(), true)
	i.Event(1, &Event{Settings: Settings{ID: "gala"}, Ordinal: 1})
	i.Counts(1, 1_000_000, [2]uint64{1, 1})
	p := Place{Event: "gala"}
	per := testing.AllocsPerRun(1000, func() {
		p.Number++
		i.Place(1, p)
	})
	if per != 0 {
		t.Errorf("%v allocations for a place", per)
	}
	if found := i.Findings(); len(found) != 0 {
		t.Error(fmt.Sprint(found))
	}
}
