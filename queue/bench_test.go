package queue

import (
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"
)

// crowd is the size that the limits of this package are promised for.
const crowd = 2_000_000

// ids are random, as real visitors' are; order is a random order to ask in.
var ids = sync.OnceValue(func() []ID {
	random := rand.New(rand.NewPCG(8, 9))
	ids := make([]ID, crowd)
	for i := range ids {
		binary.NativeEndian.PutUint64(ids[i][:8], random.Uint64())
		binary.NativeEndian.PutUint64(ids[i][8:], random.Uint64())
	}
	return ids
})

var order = sync.OnceValue(func() []int {
	return rand.New(rand.NewPCG(10, 11)).Perm(crowd)
})

func build() *Line {
	l := NewLine()
	for i, id := range ids() {
		l.Append(uint64(i)+1, id)
	}
	return l
}

// crowded is shared; who changes it puts it back.
var crowded = sync.OnceValue(build)

// thinned is the same after every tenth left.
var thinned = sync.OnceValue(func() *Line {
	l := build()
	for _, i := range order()[:crowd/10] {
		l.Remove(uint64(i) + 1)
	}
	return l
})

// BenchmarkJoin is the mean over a line's growth to two million.
func BenchmarkJoin(b *testing.B) {
	ids, l := ids(), NewLine()
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if l.Len() == crowd {
			l = NewLine()
		}
		l.Append(uint64(l.Len())+1, ids[l.Len()])
	}
}

// BenchmarkWorstJoin reports the longest single join, with whatever else the machine did in that moment.
func BenchmarkWorstJoin(b *testing.B) {
	ids := ids()
	var worst time.Duration
	for b.Loop() {
		l := NewLine()
		for i, id := range ids {
			start := time.Now()
			l.Append(uint64(i)+1, id)
			worst = max(worst, time.Since(start))
		}
	}
	b.ReportMetric(float64(worst.Microseconds()), "worst-us")
}

func BenchmarkRank(b *testing.B) { benchmarkRank(b, crowded()) }

func BenchmarkRankAfterLeaving(b *testing.B) { benchmarkRank(b, thinned()) }

// benchmarkRank looks up an id and asks for its rank: what a poll does. The first of the order have left
// a thinned line, so it asks from the back.
func benchmarkRank(b *testing.B, l *Line) {
	ids, order := ids(), order()
	sum := 0
	b.ResetTimer()
	for i := range b.N {
		if number, ok := l.Number(ids[order[crowd-1-i%crowd]]); ok {
			sum += l.Rank(number)
		}
	}
	if sum == 0 {
		b.Fatal("got no ranks")
	}
}

// BenchmarkRankOfNumber is a poll whose ticket carries the number.
func BenchmarkRankOfNumber(b *testing.B) {
	l, order := thinned(), order()
	b.ResetTimer()
	for i := range b.N {
		l.Rank(uint64(order[i%crowd]) + 1)
	}
}

// BenchmarkLeave takes random places out of a full line.
func BenchmarkLeave(b *testing.B) {
	l, order := crowded(), order()
	benchmarkRemovals(b, l, func(i int) uint64 {
		number := uint64(order[i]) + 1
		l.Remove(number)
		return number
	})
}

// BenchmarkPopFront calls the front, as admission does.
func BenchmarkPopFront(b *testing.B) {
	l := crowded()
	benchmarkRemovals(b, l, func(int) (front uint64) {
		for front = range l.All() {
			break
		}
		l.Remove(front)
		return front
	})
}

// benchmarkRemovals times remove and, untimed, restores after every hundred thousand.
func benchmarkRemovals(b *testing.B, l *Line, remove func(i int) uint64) {
	gone := make([]uint64, 0, 100_000)
	restore := func() {
		for _, number := range gone {
			l.Restore(number, ids()[number-1])
		}
		gone = gone[:0]
	}
	b.ResetTimer()
	for range b.N {
		if len(gone) == cap(gone) {
			b.StopTimer()
			restore()
			b.StartTimer()
		}
		gone = append(gone, remove(len(gone)))
	}
	b.StopTimer()
	restore()
}

// BenchmarkBytesPerPlace says what Bytes claims and what the heap shows.
func BenchmarkBytesPerPlace(b *testing.B) {
	ids()
	for b.Loop() {
		before := heap()
		l := build()
		b.ReportMetric(float64(heap()-before)/crowd, "heap-B/place")
		b.ReportMetric(float64(l.Bytes())/crowd, "B/place")
		runtime.KeepAlive(l)
	}
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func BenchmarkCollectGarbageBesideACrowd(b *testing.B) {
	l := crowded()
	for b.Loop() {
		runtime.GC()
	}
	runtime.KeepAlive(l)
}
