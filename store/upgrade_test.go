package store

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"

	"foyer/outbox"
	"foyer/sale"
)

// older gives the file of a busy house as the foyer of format 1 left it, in a folder of its own.
func older(t testing.TB) (path string, f busyFile) {
	t.Helper()
	path, f = busy(t)
	amend(t, path, func(tx *bolt.Tx) error {
		e := &sale.Event{}
		if err := json.Unmarshal(tx.Bucket(bucketEvents).Get(key32(1)), e); err != nil {
			return err
		}
		e.Rules.MemberShare = 0 // nobody knew of it
		return errors.Join(tx.Bucket(bucketEvents).Put(key32(1), encodeJSON(e)), tx.DeleteBucket(bucketRules), tx.DeleteBucket(bucketSlots), tx.DeleteBucket(bucketEnded), tx.DeleteBucket(bucketDraws), tx.DeleteBucket(bucketUses),
			tx.Bucket(bucketMeta).Put(keyFormat, binary.BigEndian.AppendUint64(nil, 1)))
	})
	return path, f
}

// formatOf reads the format of a file and how many transactions it has seen.
func formatOf(t testing.TB, path string) (version uint64, transactions int) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_ = db.View(func(tx *bolt.Tx) error {
		version, transactions = binary.BigEndian.Uint64(tx.Bucket(bucketMeta).Get(keyFormat)), tx.ID()
		return nil
	})
	return version, transactions
}

func TestFileOfFormat1IsBroughtToThisFormatAndLosesNothing(t *testing.T) {
	path, f := older(t)
	if found := looked(t, path).Findings; len(found) > 0 {
		t.Errorf("a check of the older file finds %v", found)
	}
	if version, _ := formatOf(t, path); version != 1 {
		t.Fatalf("looking made it format %d", version)
	}
	s, err := Open(filepath.Dir(path), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.View(func(r sale.Reader) error {
		if e, _ := r.Event("gala"); e.Rules.MemberShare != sale.DefaultSettings().Rules.MemberShare {
			t.Errorf("of ten turns %d go to members, want as many as in a new event", e.Rules.MemberShare)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	waiting, err := s.Messages(outbox.Waiting, 0, 1000)
	if err != nil || len(waiting) == 0 {
		t.Errorf("%d messages wait, %v", len(waiting), err)
	}
	if err := s.View(func(r sale.Reader) error {
		for name, id := range f.orders {
			if _, there := r.Order(id); !there {
				t.Errorf("order %q is lost", name)
			}
		}
		if len(r.LaneRules()) != 0 {
			t.Errorf("there are rules %v", r.LaneRules())
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	if err := errors.Join(s.Update(func(tx sale.Tx) error { tx.PutLaneRule("k", outbox.Rule{Concurrency: 2}); return nil }), s.Close()); err != nil {
		t.Fatal(err)
	}
	if version, _ := formatOf(t, path); version != format {
		t.Errorf("the file has format %d", version)
	}
	if found := looked(t, path).Findings; len(found) > 0 {
		t.Errorf("a check finds %v", found)
	}
	s = openWith(t, filepath.Dir(path), Options{})
	defer s.Close()
	if err := s.View(func(r sale.Reader) error {
		if r.LaneRules()["k"].Concurrency != 2 {
			t.Errorf("the rules are %v", r.LaneRules())
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

func TestUpgradeIsOneTransactionAndOfAnUpgradedFileNone(t *testing.T) {
	path, _ := older(t)
	_, before := formatOf(t, path)
	for _, want := range []int{format - 1, 0} { // one for each format
		db, err := bolt.Open(path, 0o600, &bolt.Options{NoFreelistSync: true}) // as the store does, else opening writes it
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(upgrade(db), db.Close()); err != nil {
			t.Fatal(err)
		}
		version, after := formatOf(t, path)
		if version != format || after-before != want {
			t.Errorf("it took %d transactions to format %d, want %d", after-before, version, want)
		}
		before = after
	}
}

func TestFileOfAnUnknownFormatIsRefusedAndLeftAlone(t *testing.T) {
	for _, version := range []uint64{0, format + 1, 1 << 40} {
		path, _ := busy(t)
		amend(t, path, func(tx *bolt.Tx) error {
			return tx.Bucket(bucketMeta).Put(keyFormat, binary.BigEndian.AppendUint64(nil, version))
		})
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Open(filepath.Dir(path), Options{})
		if !errors.Is(err, ErrBadFile) {
			t.Errorf("format %d: got %v", version, err)
		}
		if err == nil {
			_ = s.Close()
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
			t.Errorf("format %d: the file was changed, %v", version, err)
		}
	}
}
