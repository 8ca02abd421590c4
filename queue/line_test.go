package queue

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"sync"
	"testing"
)

// visitor makes an id that differs in its first bytes only, as a careless client's might.
func visitor(n int) (id ID) {
	binary.BigEndian.PutUint64(id[:], uint64(n))
	return id
}

// model is a Line that is too simple to be wrong.
type model []member

type member struct {
	number uint64
	id     ID
}

func (m model) at(number uint64) int {
	return sort.Search(len(m), func(i int) bool { return m[i].number >= number })
}

func (m model) has(number uint64) bool {
	i := m.at(number)
	return i < len(m) && m[i].number == number
}

func (m *model) put(number uint64, id ID) {
	*m = slices.Insert(*m, m.at(number), member{number, id})
}

func (m *model) remove(number uint64) (member, bool) {
	if !m.has(number) {
		return member{}, false
	}
	i := m.at(number)
	gone := (*m)[i]
	*m = slices.Delete(*m, i, i+1)
	return gone, true
}

// agree compares everything a Line answers with the model: all of it while it is short, a sample when not.
func agree(t *testing.T, l *Line, m model) {
	t.Helper()
	if l.Len() != len(m) {
		t.Fatalf("Len: got %d, want %d", l.Len(), len(m))
	}
	i := 0
	for number, id := range l.All() {
		if i == len(m) || m[i] != (member{number, id}) {
			t.Fatalf("All: step %d yields number %d, which the model does not have there", i, number)
		}
		i++
	}
	if i != len(m) {
		t.Fatalf("All: got %d places, want %d", i, len(m))
	}
	for i := 0; i < len(m); i += 1 + len(m)/500 {
		number := m[i].number
		if got := l.Rank(number); got != i {
			t.Fatalf("Rank(%d): got %d, want %d", number, got, i)
		}
		if got := l.Rank(number + 1); number < math.MaxUint64 && got != i+1 {
			t.Fatalf("Rank(%d): got %d, want %d", number+1, got, i+1)
		}
		if got, ok := l.Number(m[i].id); !ok || got != number {
			t.Fatalf("Number: got %d %v, want %d", got, ok, number)
		}
	}
	if got := l.Rank(0); got != 0 {
		t.Fatalf("Rank(0): got %d, want 0", got)
	}
	sound(t, l)
}

// sound checks what the parts of a Line promise each other.
func sound(t *testing.T, l *Line) {
	t.Helper()
	blocks := 0
	for i, s := range l.spans {
		if s.chunk.n == 0 || l.chunks[s.chunk.handle] != s.chunk || s.chunk.base != s.key<<chunkBits {
			t.Fatalf("span %d: its chunk is empty or lost", i)
		}
		for b, p := range s.chunk.blocks {
			if (p != nil) != (s.chunk.counts[b] > 0) {
				t.Fatalf("span %d: block %d with %d waiting: allocated %v", i, b, s.chunk.counts[b], p != nil)
			}
			if p != nil {
				blocks++
			}
		}
	}
	if blocks != l.blocks || len(l.chunks)-len(l.free) != len(l.spans) {
		t.Fatalf("got %d blocks and %d chunks, want %d and %d", l.blocks, len(l.chunks)-len(l.free), blocks, len(l.spans))
	}
	seen := map[*table]bool{}
	entries := 0
	for i, tab := range l.index.tables {
		if l.index.tables[uint64(i)&(1<<tab.depth-1)] != tab {
			t.Fatalf("directory entry %d names another table than its prefix", i)
		}
		if !seen[tab] {
			entries += int(tab.n)
		}
		seen[tab] = true
	}
	if entries != l.n || len(seen) != l.index.count {
		t.Fatalf("index: got %d entries in %d tables, want %d in %d", entries, len(seen), l.n, l.index.count)
	}
}

func FuzzLine(f *testing.F) {
	f.Add([]byte{0, 3, 0, 200, 1, 0, 2, 5, 3, 0, 4, 9})
	f.Add([]byte{6, 255, 6, 255, 6, 255, 2, 100, 5, 200, 5, 200, 3, 0, 3, 1, 5, 255, 5, 255, 0, 1})
	f.Add([]byte{1, 255, 0, 1, 7, 9, 6, 80, 5, 79, 5, 2, 3, 0, 3, 0, 1, 200, 4, 17, 4, 9})
	f.Add([]byte{4, 255, 0, 0, 2, 255, 3, 0, 4, 20})
	f.Fuzz(func(t *testing.T, ops []byte) {
		l := NewLine()
		var m, gone model // gone: may come back under their own numbers
		last, fresh := uint64(0), 0
		join := func(gap uint64) {
			last, fresh = last+1+gap, fresh+1
			l.Append(last, visitor(fresh))
			m.put(last, visitor(fresh))
		}
		leave := func(number uint64) {
			who, want := m.remove(number)
			if got := l.Remove(number); got != want {
				t.Fatalf("Remove(%d): got %v, want %v", number, got, want)
			}
			if want {
				if _, ok := l.Number(who.id); ok {
					t.Fatalf("number %d still waits after it left", number)
				}
				gone.put(number, who.id)
			}
		}
		for len(ops) >= 2 && len(m) < 20000 {
			op, n := ops[0]%8, int(ops[1])
			ops = ops[2:]
			switch op {
			case 0: // a join, perhaps after a small gap
				join(uint64(n % 4))
			case 1: // a join far on, as after a restart
				join(uint64(n) * 7919)
			case 2: // somebody in the middle leaves, or somebody who is not there
				if len(m) > 0 {
					leave(m[n*len(m)/256].number + uint64(n%2))
				}
			case 3: // somebody comes back
				if len(gone) > 0 {
					back, _ := gone.remove(gone[n*len(gone)/256].number)
					l.Restore(back.number, back.id)
					m.put(back.number, back.id)
				}
			case 4: // a number the line never saw, anywhere
				number := uint64(n*n*n + 1)
				if n == 255 {
					number = math.MaxUint64
				}
				if !m.has(number) && !gone.has(number) && number <= last || number == math.MaxUint64 && !m.has(number) {
					gone.remove(number)
					fresh++
					l.Restore(number, visitor(fresh))
					m.put(number, visitor(fresh))
				}
			case 5: // the front is called
				for k := 0; k < n && len(m) > 0; k++ {
					leave(m[0].number)
				}
			case 6: // a crowd joins
				for range n {
					join(0)
				}
			case 7: // a number that never was
				leave(last + uint64(n))
			}
			agree(t, l, m)
		}
	})
}

func TestRanksStayExactAtTwoHundredThousandPlacesAfterLeaversAndReturners(t *testing.T) {
	const places, start = 200_000, 1_900_001
	random := rand.New(rand.NewPCG(1, 2))
	l := NewLine()
	waiting := make([]bool, places)
	for i := range places {
		l.Append(start+uint64(i), visitor(i))
		waiting[i] = true
	}
	exact := func() {
		t.Helper()
		rank := 0
		for i := range places {
			number, ok := l.Number(visitor(i))
			if ok != waiting[i] || ok && number != start+uint64(i) {
				t.Fatalf("Number of visitor %d: got %d %v, want waiting %v", i, number, ok, waiting[i])
			}
			if got := l.Rank(start + uint64(i)); got != rank {
				t.Fatalf("Rank of visitor %d: got %d, want %d", i, got, rank)
			}
			if waiting[i] {
				rank++
			}
		}
		if l.Len() != rank {
			t.Fatalf("Len: got %d, want %d", l.Len(), rank)
		}
	}
	exact()
	left := random.Perm(places)[:places/10]
	for _, i := range left {
		waiting[i] = !l.Remove(start + uint64(i))
	}
	for i := range 50_000 { // and the front is called
		l.Remove(start + uint64(i))
		waiting[i] = false
	}
	exact()
	for _, i := range left[:len(left)/2] {
		l.Restore(start+uint64(i), visitor(i))
		waiting[i] = true
	}
	exact()
	sound(t, l)
}

func TestChunksGoWhenNobodyInThemWaits(t *testing.T) {
	const places = 200_000
	l := NewLine()
	empty := l.Bytes()
	for i := range places {
		l.Append(uint64(i)+1, visitor(i))
	}
	crowded := l.Bytes()
	if per := float64(crowded) / places; per < 20 || per > 32 {
		t.Errorf("bytes a place: got %.1f, want 20 to 32", per)
	}
	for i := range places * 9 / 10 {
		l.Remove(uint64(i) + 1)
	}
	if got := l.Bytes(); got > crowded/4 {
		t.Errorf("after nine of ten were called: got %d bytes, want under a quarter of %d", got, crowded)
	}
	for i := places * 9 / 10; i < places; i++ {
		l.Remove(uint64(i) + 1)
	}
	if got := l.Bytes(); got > empty {
		t.Errorf("after all were called: got %d bytes, want %d", got, empty)
	}
	l.Append(places+1, visitor(0))
	if number, ok := l.Number(visitor(0)); !ok || number != places+1 {
		t.Errorf("after the line was empty: got %d %v, want %d", number, ok, places+1)
	}
}

func TestTheFrontIsCalledWhileTheLineIsWalked(t *testing.T) {
	l := NewLine()
	for i := range 40_000 {
		l.Append(uint64(i)+1, visitor(i))
	}
	called := uint64(0)
	for number, id := range l.All() {
		if number != called+1 || id != visitor(int(called)) {
			t.Fatalf("got number %d, want %d", number, called+1)
		}
		l.Remove(number)
		if called = number; called == 30_000 {
			break
		}
	}
	if l.Len() != 10_000 || l.Rank(30_001) != 0 {
		t.Errorf("got %d waiting, rank %d, want 10000 and 0", l.Len(), l.Rank(30_001))
	}
}

func TestSomebodyAsideReturnsToTheFront(t *testing.T) {
	l := NewLine()
	for i := range 5 {
		l.Append(uint64(i)+1_900_001, visitor(i))
	}
	l.Remove(1_900_001)
	l.Restore(1_900_001, visitor(0))
	l.Restore(17, visitor(9)) // was aside over a restart
	if got := l.Rank(17); got != 0 {
		t.Errorf("rank of number 17: got %d, want 0", got)
	}
	if got := l.Rank(1_900_001); got != 1 {
		t.Errorf("rank of number 1900001: got %d, want 1", got)
	}
	next, stop := iter.Pull2(l.All())
	defer stop()
	if number, id, _ := next(); number != 17 || id != visitor(9) {
		t.Errorf("front: got %d, want 17", number)
	}
}

func TestALineRefusesWhatItsCallerMustNotDo(t *testing.T) {
	for name, act := range map[string]func(*Line){
		"number zero":                   func(l *Line) { l.Restore(0, visitor(9)) },
		"appended number does not rise": func(l *Line) { l.Append(5, visitor(9)) },
		"appended below one that left":  func(l *Line) { l.Remove(5); l.Append(5, visitor(9)) },
		"visitor appended twice":        func(l *Line) { l.Append(6, visitor(5)) },
		"visitor restored while there":  func(l *Line) { l.Restore(2, visitor(5)) },
		"number restored while there":   func(l *Line) { l.Restore(5, visitor(9)) },
	} {
		t.Run(name, func(t *testing.T) {
			l := NewLine()
			l.Append(5, visitor(5))
			defer func() {
				if recover() == nil {
					t.Error("got no panic, want one")
				}
			}()
			act(l)
		})
	}
}

// Most visitors here share the low bits of their hash, so tables of very different depth stand side by side.
func TestAnUnevenIndexFindsEverybody(t *testing.T) {
	l := NewLine()
	var m model
	number := uint64(0)
	join := func(n int, fits func(hash uint64) bool) {
		for i := 1; n > 0; i++ {
			id := visitor(i)
			if _, waits := l.Number(id); waits || !fits(l.index.hash(&id)) {
				continue
			}
			number++
			l.Append(number, id)
			m.put(number, id)
			n--
		}
	}
	join(3000, func(hash uint64) bool { return hash%8 == 0 })
	agree(t, l, m)
	join(3000, func(hash uint64) bool { return hash%2 == 1 })
	agree(t, l, m)
	for i := 0; len(m) > 0; i++ {
		who := m[i*7919%len(m)]
		m.remove(who.number)
		l.Remove(who.number)
		if i%200 == 0 {
			agree(t, l, m)
		}
	}
	agree(t, l, m)
}

// Under -race this fails when a read writes.
func TestManyMayAskAtOnce(t *testing.T) {
	l := NewLine()
	for i := range 1000 {
		l.Append(uint64(i)+1, visitor(i))
	}
	var w Window
	w.Add(opening, 5)
	var f Flow
	run(&f, opening, 5, 5, 5, 5)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for i := range 1000 {
				number, ok := l.Number(visitor(i))
				if !ok || l.Rank(number) != i || l.Len() != 1000 || l.Bytes() == 0 {
					t.Errorf("visitor %d: got number %d %v", i, number, ok)
				}
			}
			for range l.All() {
				w.Count(opening)
				w.Next(opening, 5)
				f.Wait(7, 50)
			}
		})
	}
	wait.Wait()
}

func ExampleLine() {
	l := NewLine()
	ann, bob, eve := ID{1}, ID{2}, ID{3}
	l.Append(1, ann)
	l.Append(2, bob)
	l.Append(3, eve)
	l.Remove(1) // Ann's turn came, but she was not there
	fmt.Println("Eve's rank:", l.Rank(3))
	l.Restore(1, ann) // she is back
	fmt.Println("Eve's rank:", l.Rank(3))
	for number := range l.All() {
		fmt.Println("the front is number", number)
		break
	}
	// Output:
	// Eve's rank: 1
	// Eve's rank: 2
	// the front is number 1
}
