package store

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// rowsByBbolt lists a bucket's rows, nested ones below their path.
func rowsByBbolt(b *bolt.Bucket, path string) (rows []string) {
	_ = b.ForEach(func(k, v []byte) error {
		if v == nil {
			rows = append(rows, rowsByBbolt(b.Bucket(k), path+"/"+string(k))...)
		} else {
			rows = append(rows, fmt.Sprintf("%s %x=%x", path, k, v))
		}
		return nil
	})
	return rows
}

// rowsByPages is the same, read by pages.
func rowsByPages(p *pages, row []byte, path string) (rows []string) {
	nested := 0
	p.bucket(row, 0, func(k, v []byte, bucket bool, _ int) {
		if bucket {
			nested++
			return
		}
		rows = append(rows, fmt.Sprintf("%s %x=%x", path, k, v))
	})
	return append(rows, make([]string, nested)...)
}

func randomBytes(r *rand.Rand, n int) []byte {
	b := make([]byte, 1+r.IntN(n))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// randomDatabase writes and deletes rows of all sizes in some transactions.
func randomDatabase(t *testing.T, r *rand.Rand, path string) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{PageSize: 1024 << r.IntN(5), NoFreelistSync: r.IntN(2) == 0, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"a", "b", "c", "d"}
	for range 1 + r.IntN(6) {
		err := db.Update(func(tx *bolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte(names[r.IntN(len(names))]))
			if err != nil {
				return err
			}
			if r.IntN(4) == 0 {
				if b, err = b.CreateBucketIfNotExists([]byte("inside")); err != nil {
					return err
				}
			}
			for range r.IntN(1500) {
				if err := b.Put(randomBytes(r, 20), randomBytes(r, 1+r.IntN(300))); err != nil {
					return err
				}
			}
			if r.IntN(2) == 0 {
				if err := b.Put([]byte("large"), make([]byte, r.IntN(100_000))); err != nil {
					return err
				}
			}
			var keys [][]byte
			_ = b.ForEach(func(k, v []byte) error {
				if v != nil && r.IntN(3) == 0 {
					keys = append(keys, bytes.Clone(k))
				}
				return nil
			})
			for _, k := range keys {
				if err := b.Delete(k); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestPagesReadWhatBboltReads(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 7))
		path := filepath.Join(t.TempDir(), "some.db")
		randomDatabase(t, r, path)
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		p, err := openPages(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			t.Fatal(err)
		}
		if err := p.sound(); err != nil {
			t.Errorf("seed %d: a sound file is said to be damaged: %v", seed, err)
		}
		p, _ = openPages(bytes.NewReader(content), int64(len(content)))
		var got, want []string
		rows := p.buckets()
		for _, name := range []string{"a", "b", "c", "d"} {
			if row, ok := rows[name]; ok {
				got = append(got, rowsByPages(p, row, name)...)
			}
		}
		db, err := bolt.Open(path, 0, &bolt.Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		_ = db.View(func(tx *bolt.Tx) error {
			return tx.ForEach(func(name []byte, b *bolt.Bucket) error {
				for _, row := range rowsByBbolt(b, string(name)) {
					if !strings.Contains(row, "/") {
						want = append(want, row)
					}
				}
				return nil
			})
		})
		_ = db.Close()
		got = slices.DeleteFunc(got, func(s string) bool { return s == "" })
		if !slices.Equal(got, want) {
			t.Errorf("seed %d: %d rows were read, bbolt reads %d", seed, len(got), len(want))
		}
	}
}
