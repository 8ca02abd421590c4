package cutfs

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
)

// synced makes a disk with a file of that many sectors of the letter a, all of it synced.
func synced(t *testing.T, sectors int) (*Disk, uint64) {
	t.Helper()
	d := New(nil, 1)
	id := must(t, "create")(d.create("f", true))
	must(t, "write")(d.write(id, 0, bytes.Repeat([]byte("a"), sectors*sector)))
	works(t, "sync", d.sync(id))
	works(t, "sync of the folder", d.syncFolder())
	return d, id
}

func must(t *testing.T, what string) func(any, syscall.Errno) uint64 {
	t.Helper()
	return func(v any, errno syscall.Errno) uint64 {
		t.Helper()
		works(t, what, errno)
		id, _ := v.(uint64)
		return id
	}
}

func works(t *testing.T, what string, errno syscall.Errno) {
	t.Helper()
	if errno != 0 {
		t.Fatalf("%s: %v", what, errno)
	}
}

func TestWhatWasSyncedOutlivesACutOfEveryKind(t *testing.T) {
	for _, loss := range []Loss{{}, {Sectors: 0.5, Names: 0.5}, {Sectors: 1, Names: 1}, {Torn: true}} {
		d, _ := synced(t, 9)
		d.Cut()
		for seed := range uint64(20) {
			if got := d.Left(loss, seed)["f"].Bytes(); !bytes.Equal(got, bytes.Repeat([]byte("a"), 9*sector)) {
				t.Errorf("%+v: %d bytes are left of what was synced", loss, len(got))
			}
		}
	}
}

func TestSectorsNotSyncedAreKeptAndLostByChanceAndWhole(t *testing.T) {
	const sectors = 8
	seen := map[string]int{}
	d, id := synced(t, sectors)
	for _, b := range []string{"b", "c"} { // the later one may get lost and the earlier stay
		must(t, "write")(d.write(id, 100, bytes.Repeat([]byte(b), (sectors-1)*sector)))
	}
	d.Cut()
	for seed := range uint64(400) {
		left := d.Left(Loss{Sectors: 0.5}, seed)["f"].Bytes()
		if len(left) != sectors*sector {
			t.Fatalf("%d bytes are left, want %d", len(left), sectors*sector)
		}
		if left[99] != 'a' || left[len(left)-1] != 'a' {
			t.Error("bytes that nobody wrote have changed")
		}
		whole := ""
		for i := range sectors - 2 {
			s := left[(i+1)*sector : (i+2)*sector]
			if len(bytes.Trim(s, string(s[:1]))) != 0 {
				t.Errorf("a sector is torn: %q", s)
			}
			whole += string(s[:1])
		}
		seen[whole]++
	}
	var all string
	for w := range seen {
		all += w
	}
	for _, b := range "abc" {
		if !bytes.ContainsRune([]byte(all), b) {
			t.Errorf("no cut left a sector of %q", b)
		}
	}
	if len(seen) < 50 {
		t.Errorf("400 cuts left %d different files", len(seen))
	}
}

// TestWritesNotSyncedComeInAnyOrder holds that the earlier of two writes often
// is what is left although the later one was kept, too.
func TestWritesNotSyncedComeInAnyOrder(t *testing.T) {
	d, id := synced(t, 1)
	for _, b := range []string{"b", "c"} {
		must(t, "write")(d.write(id, 0, []byte(b)))
	}
	d.Cut()
	early := 0
	for seed := range uint64(400) {
		if d.Left(Loss{Sectors: 0.9}, seed)["f"].Bytes()[0] == 'b' {
			early++
		}
	}
	if early < 120 {
		t.Errorf("400 cuts left the earlier of two writes %d times", early)
	}
}

func TestCutDropsAllOrKeepsAllWhenToldTo(t *testing.T) {
	for _, c := range []struct {
		loss  Loss
		want  string // the sectors
		names []string
	}{
		{Loss{}, "aaaa", []string{"f"}},
		{Loss{Sectors: 1, Names: 1}, "bbbbbb", []string{"g", "h"}},
		{Loss{Torn: true, Names: 1}, "aabbba", []string{"g", "h"}},
	} {
		d, id := synced(t, 4)
		if c.want == "aabbba" {
			works(t, "grow", d.resize(id, 6*sector))
			must(t, "write")(d.write(id, 0, bytes.Repeat([]byte("a"), 6*sector)))
			works(t, "sync", d.sync(id))
			must(t, "write")(d.write(id, 2*sector, bytes.Repeat([]byte("b"), 6*sector)))
		} else {
			must(t, "write")(d.write(id, 0, bytes.Repeat([]byte("b"), 6*sector)))
		}
		must(t, "create")(d.create("h", true))
		works(t, "rename", d.rename("f", "g", false))
		d.Cut()
		if got := slices.Sorted(maps.Keys(d.Left(c.loss, 1))); !slices.Equal(got, c.names) {
			t.Errorf("%+v: names %q, want %q", c.loss, got, c.names)
		}
		b := d.Left(c.loss, 1)[c.names[0]].Bytes()
		var got string
		for i := 0; i < len(b); i += sector {
			got += string(b[i : i+1])
		}
		if got != c.want {
			t.Errorf("%+v: sectors %s, want %s", c.loss, got, c.want)
		}
	}
}

func TestSizesNotSyncedAreKeptAndLostByChance(t *testing.T) {
	for _, to := range []int64{sector, 9 * sector} {
		seen := map[int]int{}
		d, id := synced(t, 4)
		works(t, "resize", d.resize(id, to))
		d.Cut()
		for seed := range uint64(50) {
			seen[len(d.Left(Loss{Sectors: 0.5}, seed)["f"].Bytes())]++
		}
		if len(seen) != 2 || seen[4*sector] == 0 || seen[int(to)] == 0 {
			t.Errorf("from %d to %d bytes: left were %v", 4*sector, to, seen)
		}
	}
}

// TestNamesChangeWholeOrNotAtAll holds that a rename never leaves the file
// without a name or a link without the file.
func TestNamesChangeWholeOrNotAtAll(t *testing.T) {
	for what, c := range map[string]struct {
		change func(*Disk, uint64) syscall.Errno
		may    []string // lists of names
	}{
		"create": {func(d *Disk, _ uint64) syscall.Errno { _, e := d.create("g", true); return e }, []string{"f", "f g"}},
		"link":   {func(d *Disk, id uint64) syscall.Errno { return d.link(id, "g") }, []string{"f", "f g"}},
		"rename": {func(d *Disk, _ uint64) syscall.Errno { return d.rename("f", "g", false) }, []string{"f", "g"}},
		"unlink": {func(d *Disk, _ uint64) syscall.Errno { return d.unlink("f") }, []string{"f", ""}},
	} {
		seen := map[string]int{}
		d, id := synced(t, 1)
		works(t, what, c.change(d, id))
		d.Cut()
		for seed := range uint64(50) {
			names := ""
			for _, n := range slices.Sorted(maps.Keys(d.Left(Loss{Names: 0.5}, seed))) {
				names += n + " "
			}
			seen[string(bytes.TrimSpace([]byte(names)))]++
		}
		for _, n := range c.may {
			if seen[n] == 0 {
				t.Errorf("%s: no cut left %q", what, n)
			}
		}
		if len(seen) != len(c.may) {
			t.Errorf("%s: cuts left %v", what, seen)
		}
	}
}

func TestFileWithoutSyncOfItsOwnMayBeEmptyUnderItsName(t *testing.T) {
	d := New(nil, 1)
	id := must(t, "create")(d.create("f", true))
	must(t, "write")(d.write(id, 0, []byte("content")))
	works(t, "sync of the folder", d.syncFolder())
	d.Cut()
	if b, ok := d.Left(Loss{}, 1)["f"]; !ok || b.Len() != 0 {
		t.Errorf("left is %v, %v, want an empty file", b, ok)
	}
}

func TestSyncOfAFileKeepsNoName(t *testing.T) {
	d := New(nil, 1)
	id := must(t, "create")(d.create("f", true))
	must(t, "write")(d.write(id, 0, []byte("content")))
	works(t, "sync", d.sync(id))
	works(t, "link", d.link(id, "g"))
	d.Cut()
	if m := d.Left(Loss{}, 1); len(m) > 0 {
		t.Errorf("left is %v, and the folder was never synced", m)
	}
	if m := d.Left(Loss{Names: 1}, 1); len(m) != 2 || string(m["g"].Bytes()) != "content" {
		t.Errorf("left is %v, want both names of one file", m)
	}
}

func TestNextSyncDoesNotMakeUpForAFailedOne(t *testing.T) {
	for _, keep := range []float64{0, 1} {
		d, id := synced(t, 1)
		must(t, "write")(d.write(id, 0, []byte("b")))
		d.Judge(func(c Call) Verdict {
			return map[bool]Verdict{true: {Fail: syscall.EIO, Keep: keep}}[c.Kind == Sync && c.N == 2]
		})
		if errno := d.sync(id); errno != syscall.EIO {
			t.Fatalf("the failing sync says %v", errno)
		}
		works(t, "the next sync", d.sync(id))
		if got := d.Written()["f"].Bytes()[0]; got != 'b' {
			t.Errorf("a program sees %q after the failed sync, want b", got)
		}
		d.Cut()
		if got, want := d.Left(Loss{}, 1)["f"].Bytes()[0], "ab"[int(keep)]; got != want {
			t.Errorf("chance %v: left is %q, want %q", keep, got, want)
		}
	}
}

func TestGatesFailTheCallsTheyNameAndNoOthers(t *testing.T) {
	d, id := synced(t, 1) // one write
	d.Judge(FailNth(Write, 3, syscall.ENOSPC, false))
	for i, want := range []syscall.Errno{0, syscall.ENOSPC, 0} {
		if _, errno := d.write(id, 0, []byte{'0' + byte(i)}); errno != want {
			t.Errorf("write %d: %v, want %v", i+2, errno, want)
		}
	}
	d.Judge(FailNth(Grow, 2, syscall.ENOSPC, true))
	for i, want := range []syscall.Errno{0, syscall.ENOSPC, syscall.ENOSPC} {
		if errno := d.resize(id, int64(i+2)*sector); errno != want {
			t.Errorf("growth %d: %v, want %v", i+1, errno, want)
		}
	}
	works(t, "shrink", d.resize(id, 1))
	d.Judge(func(c Call) Verdict { return Verdict{Through: 2} })
	if n, errno := d.write(id, 0, []byte("long")); n != 2 || errno != 0 {
		t.Errorf("a short write gives %d, %v", n, errno)
	}
	d.Judge(func(c Call) Verdict { return Verdict{Through: 1, Fail: syscall.EIO} })
	if _, errno := d.write(id, 0, []byte("XY")); errno != syscall.EIO {
		t.Errorf("a failing write says %v", errno)
	}
	if got := string(d.Written()["f"].Bytes()); got != "Xo" {
		t.Errorf("the file is %q, want Xo", got)
	}
}

func TestAfterACutNothingWorksAndTheCallAtItCountsOrNot(t *testing.T) {
	for _, c := range []struct {
		moment Moment
		want   byte
	}{{Before, 'a'}, {After, 'b'}} {
		d, id := synced(t, 1)
		d.Judge(CutAt(len(d.Calls())+1, c.moment))
		if _, errno := d.write(id, 0, []byte("b")); errno != syscall.EIO {
			t.Errorf("the write at the cut says %v", errno)
		}
		select {
		case <-d.Done():
		default:
			t.Error("nobody is told of the cut")
		}
		all := Loss{Sectors: 1, Names: 1}
		if got := d.Left(all, 1)["f"].Bytes()[0]; got != c.want {
			t.Errorf("left is %q, want %q", got, c.want)
		}
		before, calls := d.Left(all, 1), len(d.Calls())
		for what, errno := range map[string]syscall.Errno{
			"sync": d.sync(id), "sync of the folder": d.syncFolder(), "grow": d.resize(id, 9999), "unlink": d.unlink("f"),
			"link": d.link(id, "g"), "rename": d.rename("f", "g", false),
		} {
			if errno != syscall.EIO {
				t.Errorf("%s after the cut: %v", what, errno)
			}
		}
		if _, errno := d.read(id, 0, make([]byte, 1)); errno != syscall.EIO {
			t.Errorf("read after the cut: %v", errno)
		}
		if !maps.EqualFunc(before, d.Left(all, 1), equal) {
			t.Error("what was left has changed")
		}
		if n := len(d.Calls()); n != calls {
			t.Errorf("%d calls were counted after the cut", n-calls)
		}
	}
}

func TestOneSeedGivesOneOutcome(t *testing.T) {
	d, id := synced(t, 64)
	must(t, "write")(d.write(id, 0, bytes.Repeat([]byte("b"), 64*sector)))
	must(t, "create")(d.create("g", true))
	if m := d.Left(Loss{}, 1); m != nil {
		t.Errorf("with power on, left is %v", m)
	}
	d.Cut()
	left := func(seed uint64) Image { return d.Left(Loss{Sectors: 0.5, Names: 0.5}, seed) }
	if !maps.EqualFunc(left(7), left(7), equal) {
		t.Error("the same seed left different files")
	}
	if maps.EqualFunc(left(7), left(8), equal) {
		t.Error("different seeds left the same files")
	}
}

func equal(a, b *Content) bool { return bytes.Equal(a.Bytes(), b.Bytes()) }

// TestContentIsWhatASliceOfBytesWouldBe compares it with one after random changes.
func TestContentIsWhatASliceOfBytesWouldBe(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 0))
		c, want := ContentOf(nil), []byte{}
		for range 40 {
			off := rng.IntN(4 * block)
			before, was := c.clone(), bytes.Clone(want)
			if rng.IntN(3) == 0 {
				c.resize(int64(off))
				want = append(want, make([]byte, max(0, off-len(want)))...)[:off:off]
			} else {
				b := bytes.Repeat([]byte{byte(rng.IntN(256))}, 1+rng.IntN(2*block))
				c.write(int64(off), b)
				want = append(want, make([]byte, max(0, off+len(b)-len(want)))...)
				copy(want[off:], b)
			}
			if !bytes.Equal(c.Bytes(), want) {
				t.Fatal("differs from the bytes it should be")
			}
			if !bytes.Equal(before.Bytes(), was) {
				t.Fatal("a copy has changed with it")
			}
			part := make([]byte, rng.IntN(block))
			if n := c.read(int64(off), part); !bytes.Equal(part[:n], want[min(off, len(want)):min(off+len(part), len(want))]) {
				t.Fatal("a part differs")
			}
		}
	}
}
