package queue

import (
	"slices"
	"testing"
)

// standing is a place of the model of two lines.
type standing struct {
	class  Class
	number uint64
	id     ID
}

// modelOf steps through the turns of those who stand, by rising number, one at a
// time: first those below what was called.
func modelOf(all []standing, c Cycle, called [2]uint64) (order []uint64) {
	waiting := [2][]uint64{}
	for _, s := range all {
		if s.number < called[s.class] {
			order = append(order, s.number)
			continue
		}
		waiting[s.class] = append(waiting[s.class], s.number)
	}
	owed := c.At
	for len(waiting[Public])+len(waiting[Member]) > 0 {
		class := Public
		switch {
		case len(waiting[Public]) == 0:
			class = Member
		case len(waiting[Member]) == 0:
		default:
			if owed += c.Share; owed >= 10 {
				owed -= 10
				class = Member
			}
		}
		order, waiting[class] = append(order, waiting[class][0]), waiting[class][1:]
	}
	return order
}

// agreeClasses holds everything that Classes answers against the model.
func agreeClasses(t *testing.T, l *Classes, all []standing, c Cycle, called [2]uint64) {
	t.Helper()
	slices.SortFunc(all, func(a, b standing) int { return int(a.number) - int(b.number) })
	waiting := [2][]uint64{}
	i := 0
	for number, id := range l.ByNumber() {
		if i == len(all) || all[i].number != number || all[i].id != id {
			t.Fatalf("ByNumber: step %d yields %d", i, number)
		}
		i++
	}
	if i != len(all) || l.Len() != len(all) {
		t.Fatalf("ByNumber yields %d and Len is %d, want %d", i, l.Len(), len(all))
	}
	for _, s := range all {
		waiting[s.class] = append(waiting[s.class], s.number)
		if n, class, ok := l.Number(s.id); !ok || n != s.number || class != s.class {
			t.Fatalf("Number: %d in line %d, %v; want %d in %d", n, class, ok, s.number, s.class)
		}
		if id, class, ok := l.At(s.number); !ok || id != s.id || class != s.class {
			t.Fatalf("At(%d): line %d, %v; want line %d", s.number, class, ok, s.class)
		}
	}
	back := [2]int{}
	for rank, number := range modelOf(all, c, called) {
		_, class, _ := l.At(number)
		if got := l.Rank(class, number, c, called); got != rank {
			t.Fatalf("%+v: number %d of line %d has rank %d, want %d of %v; called were those below %v", c, number, class, got, rank, modelOf(all, c, called), called)
		}
		if number < called[class] {
			back[class]++
		}
	}
	if got := l.Back(called); got != back {
		t.Fatalf("%v came back below %v, want %v", got, called, back)
	}
	order := modelOf(all, c, [2]uint64{})
	for _, n := range []int{0, 1, len(order) / 2, len(order), len(order) + 1} {
		dealt := Deal(c, waiting[Member], waiting[Public], n)
		if want := order[:min(n, len(order))]; !slices.Equal(dealt, want) {
			t.Fatalf("%+v: the first %d are %v, want %v", c, n, dealt, want)
		}
		rest := slices.DeleteFunc(slices.Clone(all), func(s standing) bool { return slices.Contains(dealt, s.number) })
		after := c.After(n, len(waiting[Member]), len(waiting[Public]))
		if got := modelOf(rest, after, [2]uint64{}); !slices.Equal(got, order[min(n, len(order)):]) {
			t.Fatalf("%+v: after %d turns the rest comes as %v, want %v", c, n, got, order[n:])
		}
	}
	for class, numbers := range waiting {
		class := Class(class)
		n, ok := l.First(class)
		if l.Count(class) != len(numbers) || ok != (len(numbers) > 0) || ok && n != numbers[0] {
			t.Fatalf("line %d: first %d of %d, want of %v", class, n, l.Count(class), numbers)
		}
		fifo := slices.DeleteFunc(slices.Clone(order), func(n uint64) bool { return !slices.Contains(numbers, n) })
		if !slices.IsSorted(fifo) {
			t.Fatalf("%+v: line %d is called as %v", c, class, fifo)
		}
	}
}

func FuzzTwoLinesAgreeWithSteppingThroughTheirTurns(f *testing.F) {
	f.Add(uint8(7), uint8(0), uint8(0), uint8(0), []byte{0, 1, 0, 1, 0, 1, 2, 0, 1, 3, 0, 0})
	f.Add(uint8(10), uint8(0), uint8(3), uint8(0), []byte{1, 1, 1, 0, 0, 0, 6, 7})
	f.Add(uint8(0), uint8(9), uint8(4), uint8(3), []byte{0, 1, 0, 1})
	f.Add(uint8(3), uint8(5), uint8(6), uint8(11), []byte{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 6, 3, 7})
	f.Fuzz(func(t *testing.T, share, at, public, member uint8, acts []byte) {
		called := [2]uint64{uint64(public), uint64(member)}
		c := Cycle{int(share % 11), int(at % 10)}
		if c.Share == 0 || c.Share == Tens {
			c.At = 0
		}
		l := NewClasses()
		var all, gone []standing
		for i, b := range acts[:min(len(acts), 200)] {
			switch b % 4 {
			case 0, 1: // joins
				s := standing{Class(b % 4), uint64(i + 1), visitor(i)}
				l.Append(s.class, s.number, s.id)
				all = append(all, s)
			case 2: // somebody leaves
				if len(all) > 0 {
					k := int(b) % len(all)
					s := all[k]
					if l.Remove(1-s.class, s.number) || !l.Remove(s.class, s.number) {
						t.Fatalf("number %d is not taken out of its own line alone", s.number)
					}
					all, gone = slices.Delete(all, k, k+1), append(gone, s)
				}
			case 3: // and comes back
				if k := len(gone); k > 0 {
					s := gone[k-1]
					l.Restore(s.class, s.number, s.id)
					all, gone = append(all, s), gone[:k-1]
				}
			}
			if i%16 == 0 {
				agreeClasses(t, l, all, c, called)
			}
		}
		agreeClasses(t, l, all, c, called)
	})
}

func TestOfAnyTenTurnsWithBothWaitingMembersHaveTheirShare(t *testing.T) {
	for share := range Tens + 1 {
		for at := range Tens {
			c, turns := Cycle{share, at}, make([]int, 0, 50)
			for range cap(turns) {
				turns = append(turns, int(c.Due()))
				c = c.Next()
			}
			run, longest := [2]int{}, [2]int{}
			for i := range turns {
				run[turns[i]]++
				run[1-turns[i]] = 0
				longest[turns[i]] = max(longest[turns[i]], run[turns[i]])
				if i+Tens <= len(turns) {
					members := 0
					for _, m := range turns[i : i+Tens] {
						members += m
					}
					if members != share {
						t.Fatalf("share %d from %d: %d of the ten turns from %d on go to members", share, at, members, i)
					}
				}
			}
			if share > 0 && share < Tens && (longest[Member] > (Tens-1)/(Tens-share)+1 || longest[Public] > (Tens-1)/share+1) {
				t.Errorf("share %d from %d: as many as %d members and %d others come in a row", share, at, longest[Member], longest[Public])
			}
		}
	}
}

func TestRankInTwoLinesTakesNoLongerAtTheBack(t *testing.T) {
	c := Cycle{Share: 7}
	if got, want := c.Rank(Public, 999_999, 5_000_000), 999_999+2_333_333; got < want-2 || got > want+2 {
		t.Errorf("rank %d behind a million, want about %d", got, want)
	}
	if got := c.Rank(Public, 999_999, 10); got != 1_000_009 {
		t.Errorf("rank %d behind a million and ten members, want them all", got)
	}
	if got := testing.AllocsPerRun(10, func() { c.Rank(Member, 1<<40, 1<<40) }); got != 0 {
		t.Errorf("it allocates %v times", got)
	}
}

// BenchmarkRankInTwoLines is a poll where one of ten is a member; compare with BenchmarkRank.
func BenchmarkRankInTwoLines(b *testing.B) { benchmarkClasses(b, 10) }

// BenchmarkRankInTwoLinesWithoutMembers is a poll where nobody is one.
func BenchmarkRankInTwoLinesWithoutMembers(b *testing.B) { benchmarkClasses(b, crowd+1) }

func benchmarkClasses(b *testing.B, every int) {
	l, ids, order := NewClasses(), ids(), order()
	for i, id := range ids {
		class := Public
		if (i+1)%every == 0 {
			class = Member
		}
		l.Append(class, uint64(i)+1, id)
	}
	b.ReportMetric(float64(l.Bytes())/crowd, "B/place")
	c, sum := Cycle{Share: 7}, 0
	b.ResetTimer()
	for i := range b.N {
		if number, class, ok := l.Number(ids[order[crowd-1-i%crowd]]); ok {
			sum += l.Rank(class, number, c, [2]uint64{})
		}
	}
	if sum == 0 {
		b.Fatal("got no ranks")
	}
}
