package store

import (
	"bytes"
	"crypto/sha256"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// Whatever is changed between the passes, however long the file has become, the
// copy is what the second pass saw.
func TestSecondPassMendsWhatTheFirstGotWrong(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const blocks = 530 // between two and three pieces
	for name, change := range map[string]func(b []byte) []byte{
		"nothing":      func(b []byte) []byte { return b },
		"one byte":     func(b []byte) []byte { b[200*copyBlock+17]++; return b },
		"first, last":  func(b []byte) []byte { b[0]++; b[len(b)-1]++; return b },
		"around edges": func(b []byte) []byte { b[copyPiece-1]++; b[copyPiece]++; b[2*copyPiece]++; return b },
		"everything":   func(b []byte) []byte { return random(rng, len(b)) },
		"longer":       func(b []byte) []byte { return append(b, random(rng, 40*copyBlock)...) },
		"shorter":      func(b []byte) []byte { return b[:len(b)-200*copyBlock] },
		"here and there": func(b []byte) []byte {
			for range 100 {
				b[rng.IntN(len(b))]++
			}
			return b
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "from")
			then := random(rng, blocks*copyBlock)
			if err := os.WriteFile(path, then, 0o600); err != nil {
				t.Fatal(err)
			}
			to, err := os.Create(filepath.Join(dir, "to"))
			if err != nil {
				t.Fatal(err)
			}
			defer to.Close()
			c := newCopier(t.Context(), to)
			if err := c.roughly(path, int64(len(then))); err != nil {
				t.Fatal(err)
			}
			now := change(bytes.Clone(then))
			if n, err := c.ReadFrom(bytes.NewReader(now)); err != nil || n != int64(len(now)) {
				t.Fatalf("%d of %d, %v", n, len(now), err)
			}
			if err := c.finish(int64(len(now))); err != nil {
				t.Fatal(err)
			}
			d, err := c.digest(int64(len(now)))
			if err != nil || d != sha256.Sum256(now) {
				t.Errorf("the digest is another one (%v)", err)
			}
			if got, err := os.ReadFile(to.Name()); err != nil || !bytes.Equal(got, now) {
				t.Errorf("the copy is another one: %d bytes, want %d (%v)", len(got), len(now), err)
			}
		})
	}
}

func random(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

// What did not change is not written again under the transaction.
func TestSecondPassWritesOnlyWhatChanged(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "from")
	b := random(rand.New(rand.NewPCG(3, 4)), 2*copyPiece)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	to, err := os.Create(filepath.Join(dir, "to"))
	if err != nil {
		t.Fatal(err)
	}
	c := newCopier(t.Context(), to)
	if err := c.roughly(path, int64(len(b))); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ReadFrom(bytes.NewReader(b)); err != nil { // a write would fail now
		t.Errorf("something was written: %v", err)
	}
	b[len(b)-1]++
	c.at = 0
	if _, err := c.ReadFrom(bytes.NewReader(b)); err == nil {
		t.Error("a changed block was not written")
	}
}

func TestMappingIsLargerThanTheFileWillSoonBe(t *testing.T) {
	for _, c := range []struct {
		system string
		bits   int
		file   int64
		want   int64
	}{
		{"linux", 64, 0, 4 << 30},
		{"linux", 64, 1 << 30, 4 << 30},
		{"darwin", 64, 2 << 30, 4 << 30},
		{"linux", 64, 2<<30 + 1, 5 << 30},
		{"linux", 64, 10 << 30, 20 << 30},
		{"windows", 64, 10 << 30, 0},
		{"linux", 32, 1 << 20, 0},
	} {
		if got := mapSize(c.system, c.bits, c.file); int64(got) != c.want {
			t.Errorf("%s, %d bits, a file of %d bytes: %d, want %d", c.system, c.bits, c.file, got, c.want)
		}
	}
}
