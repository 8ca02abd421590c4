package store

import (
	"bytes"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"foyer/outbox"
	"foyer/sale"
)

// scribes write rows in pairs, an entry and a message, and keep a ledger of what
// was acknowledged.
type scribes struct {
	store *Store
	done  []atomic.Int64
	stop  atomic.Bool
	wg    sync.WaitGroup
}

func (w *scribes) start(t *testing.T, n int) {
	w.done = make([]atomic.Int64, n)
	body := bytes.Repeat([]byte("m"), 2000)
	for i := range n {
		w.wg.Go(func() {
			for k := int64(0); !w.stop.Load(); k++ {
				name := fmt.Sprintf("%d.%d", i, k)
				err := w.store.Update(func(tx sale.Tx) error {
					tx.Audit(sale.Entry{At: tx.Now(), Act: name})
					tx.Send(outbox.Message{ID: name, Topic: "t", Key: name, Sink: "log:", CreatedAt: tx.Now(), Body: body, State: outbox.Waiting})
					return nil
				})
				if err != nil {
					t.Error(err)
					return
				}
				w.done[i].Store(k + 1)
			}
		})
	}
}

// holds looks whether a store holds for every scribe the first so many acts, at
// least those that the ledger had, each whole and none behind a gap.
func (w *scribes) holds(t *testing.T, s *Store, ledger []int64) {
	t.Helper()
	entries, err := s.Entries(0, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, e := range entries {
		seen[e.Act]++
	}
	messages, err := s.Messages("", 0, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range messages {
		seen[m.ID] += 1 << 16
	}
	total := int64(0)
	for i := range w.done {
		k := int64(0)
		for seen[fmt.Sprintf("%d.%d", i, k)] == 1+1<<16 {
			k++
		}
		total += k
		if k < ledger[i] {
			t.Errorf("scribe %d: %d acts were acknowledged before the backup began, it holds the first %d", i, ledger[i], k)
		}
	}
	if int64(len(entries)) != total || int64(len(messages)) != total {
		t.Errorf("%d entries and %d messages where %d acts are whole: some are half, or behind a gap", len(entries), len(messages), total)
	}
}

func TestBackupWhileSellingIsAPrefixOfHistory(t *testing.T) {
	s := openAt(t, t.TempDir())
	defer s.Close()
	w := &scribes{store: s}
	w.start(t, 8)
	defer w.wg.Wait()
	defer w.stop.Store(true)
	for range 4 {
		before := w.done[0].Load()
		for deadline := time.Now().Add(20 * time.Second); w.done[0].Load() < before+20 && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		ledger := make([]int64, len(w.done))
		for i := range w.done {
			ledger[i] = w.done[i].Load()
		}
		asked := s.now()
		c, err := s.Backup(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if c.At.Before(asked) || c.At.After(s.now()) {
			t.Errorf("a backup of %s that was asked for at %s", c.At, asked)
		}
		dir := kept(t, c)
		whole(t, dir)
		copied := openAt(t, dir)
		w.holds(t, copied, ledger)
		if !bytes.Equal(copied.Secret(), s.Secret()) {
			t.Error("the copy has another secret")
		}
		if err := copied.Close(); err != nil {
			t.Error(err)
		}
	}
	if w.done[0].Load() < 80 {
		t.Errorf("the first scribe got %d acts done: that was no load", w.done[0].Load())
	}
	if left := unfinished(t, filepath.Dir(s.db.Path())); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}
