//go:build linux

package store_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"

	"foyer/crash/cutfs"
	"foyer/store"
)

// Cut at every single call of a start, the file of format 1 has format 1 and nothing new, or a later one and all of it, and
// the next start goes on from there.
func TestPowerCutInAnUpgradeLeavesTheOldFormatOrTheNew(t *testing.T) {
	if dir := os.Getenv(restoreTo); dir != "" {
		s, err := store.Open(dir, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		fmt.Println("it is back")
		return
	}
	added := map[string]uint64{"rules": 2, "slots": 2, "ended": 2, "draws": 4, "uses": 4} // part -> the format that brought it
	path := filled(t, t.TempDir())
	edit(t, path, func(tx *bolt.Tx) error {
		for name := range added {
			if err := tx.DeleteBucket([]byte(name)); err != nil {
				return err
			}
		}
		return tx.Bucket([]byte("meta")).Put([]byte("format"), binary.BigEndian.AppendUint64(nil, 1))
	})
	old := cutfs.Image{}
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(filepath.Dir(path), f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		old[f.Name()] = cutfs.ContentOf(b)
	}
	rng := dice(t)
	found, n := map[uint64]int{}, 1
	for done := false; !done && !t.Failed(); n++ {
		d := cutfs.New(old, rng.Uint64())
		d.Judge(cutfs.CutAt(n, cutfs.Before))
		done = restoreOn(t, d, "")
		for _, o := range outcomes(rng) {
			dir := scratch(t)
			if err := d.Left(o.loss, rng.Uint64()).Save(dir); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, "foyer.db")
			version := uint64(0)
			edit(t, file, func(tx *bolt.Tx) error {
				version = binary.BigEndian.Uint64(tx.Bucket([]byte("meta")).Get([]byte("format")))
				for name, from := range added {
					if there := tx.Bucket([]byte(name)) != nil; there != (version >= from) {
						t.Errorf("cut at call %d, %s: the format is %d and the part %q is there: %v", n, o.name, version, name, there)
					}
				}
				return nil
			})
			found[version]++
			s, err := store.Open(dir, store.Options{})
			if err != nil {
				t.Fatalf("cut at call %d, %s: %v", n, o.name, err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			_ = os.RemoveAll(dir)
		}
	}
	if len(found) != 4 || found[1] == 0 || found[2] == 0 || found[3] == 0 || found[4] == 0 {
		t.Errorf("outcomes by format: %v, want all", found)
	}
	t.Logf("%d cuts, outcomes by format: %v", n-1, found)
}
