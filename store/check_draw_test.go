package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"foyer/sale"
)

// drawnFile is a closed file with an event whose draw was held among nine.
func drawnFile(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	o := sale.New(sale.Config{Store: s, Secret: s.Secret()})
	settings := sale.DefaultSettings()
	at := time.Now().Add(time.Hour)
	settings.ID, settings.Name, settings.Order, settings.OpensAt = "gala", "Gala", "draw", &at
	_, err = o.CreateEvent("staff", settings)
	for range 9 {
		if err == nil {
			_, _, err = o.Join("gala", uuid.New())
		}
	}
	if err == nil {
		_, err = o.OpenEvent("staff", "gala")
	}
	if err == nil {
		_, err = o.Tick("gala", time.Second)
	}
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "foyer.db")
}

// changedDraw changes what the first event says of its draw.
func changedDraw(tx *bolt.Tx, change func(*sale.Event)) {
	e := &sale.Event{}
	_ = json.Unmarshal(tx.Bucket(bucketEvents).Get(key32(1)), e)
	change(e)
	_ = tx.Bucket(bucketEvents).Put(key32(1), encodeJSON(e))
}

// brokenDraws are faults in the rows of a draw and the finding that each must give.
var brokenDraws = map[string]struct {
	code  string
	broke func(piece []byte, tx *bolt.Tx) []byte // gives the piece as it is to be; nil removes it
}{
	"two numbers are exchanged": {"I4", func(p []byte, _ *bolt.Tx) []byte {
		return slices.Concat(p[drawRecord:2*drawRecord], p[:drawRecord], p[2*drawRecord:])
	}},
	"somebody is missing": {"I4", func(p []byte, _ *bolt.Tx) []byte { return p[drawRecord:] }},
	"all are missing":     {"I4", func([]byte, *bolt.Tx) []byte { return nil }},
	"one is there twice": {"I4", func(p []byte, _ *bolt.Tx) []byte {
		return slices.Concat(p[:8*drawRecord], p[:drawRecord])
	}},
	"somebody was put in for another": {"I4", func(p []byte, _ *bolt.Tx) []byte { p[3] ^= 1; return p }},
	"the piece is cut":                {"row", func(p []byte, _ *bolt.Tx) []byte { return p[:len(p)-1] }},
	"a number is beyond all":          {"row", func(p []byte, _ *bolt.Tx) []byte { p[16] = 0xff; return p }},
	"a piece is of no event": {"row", func(p []byte, tx *bolt.Tx) []byte {
		_ = tx.Bucket(bucketDraws).Put(append(key32(77), key32(0)...), bytes.Clone(p))
		return p
	}},
	"the seed is another": {"I4", func(p []byte, tx *bolt.Tx) []byte {
		changedDraw(tx, func(e *sale.Event) { e.Draw.Seed = "zz" + e.Draw.Seed[2:] })
		return p
	}},
	"the commitment is another": {"I4", func(p []byte, tx *bolt.Tx) []byte {
		changedDraw(tx, func(e *sale.Event) { e.Draw.Commitment = "zz" + e.Draw.Commitment[2:] })
		return p
	}},
	"the event forgot it": {"I4", func(p []byte, tx *bolt.Tx) []byte {
		changedDraw(tx, func(e *sale.Event) { e.Draw = nil })
		return p
	}},
}

func TestCheckFindsWhatIsWrongWithADraw(t *testing.T) {
	if found := looked(t, drawnFile(t)).Findings; len(found) > 0 {
		t.Fatalf("a sound draw is found at fault: %v", found)
	}
	for name, c := range brokenDraws {
		t.Run(name, func(t *testing.T) {
			path := drawnFile(t)
			amend(t, path, func(tx *bolt.Tx) error {
				key := append(key32(1), key32(0)...)
				piece := c.broke(bytes.Clone(tx.Bucket(bucketDraws).Get(key)), tx)
				if piece == nil {
					return tx.Bucket(bucketDraws).Delete(key)
				}
				return tx.Bucket(bucketDraws).Put(key, piece)
			})
			found := looked(t, path).Findings
			if !slices.ContainsFunc(found, func(f sale.Finding) bool { return f.Code == c.code }) {
				t.Errorf("found %v, want a %s", found, c.code)
			}
		})
	}
}
