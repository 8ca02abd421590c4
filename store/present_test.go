package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"foyer/sale"
)

func TestAFileTakenAwayUnderARunningHouseStopsTheSaleUntilItIsBack(t *testing.T) {
	if os.PathSeparator == '\\' {
		t.Skip("Windows lets nobody move an open file")
	}
	dir := t.TempDir()
	s := openAt(t, dir)
	act := func(what string) error {
		return s.Update(func(tx sale.Tx) error { tx.Audit(sale.Entry{Act: what}); return nil })
	}
	refused := func(word string) {
		t.Helper()
		if err := act("lost"); !errors.Is(err, sale.ErrUnavailable) || !strings.Contains(err.(*sale.Refusal).Detail, word) {
			t.Errorf("a write into a file that is %s gave %v", word, err)
		}
		if err := s.Ready(); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("ready says %v, want that the file is %s", err, word)
		}
	}
	until := func(done func() bool) {
		for end := time.Now().Add(10 * time.Second); !done() && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		}
	}
	if err := act("before"); err != nil {
		t.Fatal(err)
	}
	path, away := filepath.Join(dir, "foyer.db"), filepath.Join(dir, "away")
	if err := os.Rename(path, away); err != nil {
		t.Fatal(err)
	}
	if err := s.Ready(); err == nil {
		t.Error("ready before a write has noticed, though the file is gone")
	}
	refused("moved or removed")
	c, err := s.Backup(context.Background())
	if err != nil {
		t.Fatalf("what was acknowledged cannot be saved: %v", err)
	}
	saved, err := io.ReadAll(c)
	if err := errors.Join(err, c.Close()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, saved, 0o600); err != nil {
		t.Fatal(err)
	}
	until(func() bool { return strings.Contains(fmt.Sprint(s.Ready()), "replaced") })
	refused("replaced")
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, saved) {
		t.Errorf("the other file was written (%v)", err)
	}
	if err := os.Rename(away, path); err != nil {
		t.Fatal(err)
	}
	until(func() bool { return s.Ready() == nil })
	if err := act("after"); err != nil {
		t.Fatalf("the file is back, and a write gives %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := openAt(t, dir)
	defer again.Close()
	list, err := again.Entries(0, 9)
	if err != nil || len(list) != 2 || list[0].Act != "after" || list[1].Act != "before" {
		t.Errorf("the entries are %v (%v), want the two that were acknowledged", list, err)
	}
}
