package store_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"foyer/sale"
	"foyer/store"
)

func TestClosedDatabaseIsCopiedRestoredAndServes(t *testing.T) {
	dir := t.TempDir()
	path := filled(t, dir)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := s.Update(func(tx sale.Tx) error { tx.Audit(sale.Entry{At: tx.Now(), Act: "newest"}); return nil }); err != nil {
		t.Fatal(err)
	}
	secret := bytes.Clone(s.Secret())
	if err := store.CopyClosed(t.Context(), dir, io.Discard); !errors.Is(err, store.ErrInUse) {
		t.Errorf("while it is open: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var copied bytes.Buffer
	if err := store.CopyClosed(t.Context(), dir, &copied); err != nil {
		t.Fatal(err)
	}
	if copied.Len() >= len(before)+1<<20 {
		t.Errorf("the copy of a file of %d bytes has %d", len(before), copied.Len())
	}
	backup := filepath.Join(t.TempDir(), "backup")
	if err := os.WriteFile(backup, copied.Bytes(), 0o400); err != nil {
		t.Fatal(err)
	}
	if at, err := store.Newest(backup); err != nil || at.Before(began.Truncate(time.Millisecond)) || at.After(time.Now()) {
		t.Errorf("the newest row is of %s (%v)", at, err)
	}
	to := filepath.Join(t.TempDir(), "some", "where")
	r, err := store.Restore(t.Context(), to, backup)
	if err != nil {
		t.Fatal(err)
	}
	if r.Path != backup || !r.Rows {
		t.Errorf("the report is of %s, rows: %v", r.Path, r.Rows)
	}
	if now, err := os.ReadFile(filepath.Join(to, "foyer.db")); err != nil || !bytes.Equal(now, copied.Bytes()) {
		t.Errorf("what was restored is not the backup (%v)", err)
	}
	if st, err := os.Stat(filepath.Join(to, "foyer.db")); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v (%v)", st.Mode(), err)
	}
	only(t, to, "foyer.db", marker)
	s, err = store.Open(to, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	list, err := s.Entries(0, 1000)
	if err != nil || len(list) != 501 || list[0].Act != "newest" || !bytes.Equal(s.Secret(), secret) {
		t.Errorf("%d entries (%v), the same secret: %v", len(list), err, bytes.Equal(s.Secret(), secret))
	}
}

// only wants a folder to hold these files and no other.
func only(t *testing.T, dir string, names ...string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	var got []string
	for _, e := range list {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(names, " ") {
		t.Errorf("the folder holds %q, want %q", got, names)
	}
}

func TestRestoreNeverReplacesAFile(t *testing.T) {
	backup := filled(t, t.TempDir())
	for name, make := range map[string]func(path string) error{
		"a sound database": func(path string) error { filled(t, filepath.Dir(path)); return nil },
		"an empty file":    func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"a foreign file":   func(path string) error { return os.WriteFile(path, []byte("theirs"), 0o600) },
		"a folder":         func(path string) error { return os.Mkdir(path, 0o700) },
		"a dangling link":  func(path string) error { return os.Symlink("nowhere", path) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "foyer.db")
			if err := make(path); err != nil {
				t.Fatal(err)
			}
			before, _ := os.ReadFile(path)
			names, _ := os.ReadDir(dir)
			_, err := store.Restore(t.Context(), dir, backup)
			if !errors.Is(err, store.ErrBadFile) || !strings.Contains(err.Error(), "move it away first") {
				t.Errorf("got %v", err)
			}
			now, _ := os.ReadDir(dir)
			if after, _ := os.ReadFile(path); !bytes.Equal(after, before) || len(now) != len(names) {
				t.Errorf("the file or its folder was changed: %d files, before %d", len(now), len(names))
			}
		})
	}
}

func TestRestoreRefusesWhatCannotBeServedFrom(t *testing.T) {
	page := os.Getpagesize()
	sound, err := os.ReadFile(filled(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	hole := bytes.Clone(sound)
	clear(hole[100*page : 300*page])
	for name, content := range map[string][]byte{
		"empty": {}, "foreign": bytes.Repeat([]byte("no"), 5000), "cut short": sound[:1<<20], "a hole": hole,
	} {
		t.Run(name, func(t *testing.T) {
			backup := filepath.Join(t.TempDir(), "backup")
			if err := os.WriteFile(backup, content, 0o600); err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(t.TempDir(), "data")
			_, err := store.Restore(t.Context(), dir, backup)
			if !errors.Is(err, store.ErrBadFile) || !strings.Contains(err.Error(), backup) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v", err)
			}
			if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a folder was made for it (%v)", err)
			}
			if now, err := os.ReadFile(backup); err != nil || !bytes.Equal(now, content) {
				t.Errorf("the backup was changed (%v)", err)
			}
		})
	}
	if _, err := store.Restore(t.Context(), t.TempDir(), filepath.Join(t.TempDir(), "none")); err == nil || !strings.Contains(err.Error(), "there is no file") {
		t.Errorf("a backup that is not there: %v", err)
	}
}

func TestLostDatabaseIsRestoredOverItsMarker(t *testing.T) {
	backup, dir := filled(t, t.TempDir()), t.TempDir()
	if err := os.Remove(filled(t, dir)); err != nil {
		t.Fatal(err)
	}
	refuses(t, dir, store.ErrBadFile)
	if _, err := store.Restore(t.Context(), dir, backup); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
}

func TestRestoreThatIsStoppedLeavesNothing(t *testing.T) {
	backup, dir := filled(t, t.TempDir()), t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := store.Restore(ctx, dir, backup); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	only(t, dir)
}

func TestCopyOfNothingOrOfADamagedDatabaseIsRefused(t *testing.T) {
	if err := store.CopyClosed(t.Context(), t.TempDir(), io.Discard); err == nil || !strings.Contains(err.Error(), "there is no file") {
		t.Errorf("got %v", err)
	}
	dir := t.TempDir()
	if err := os.Truncate(filled(t, dir), 1<<20); err != nil {
		t.Fatal(err)
	}
	if err := store.CopyClosed(t.Context(), dir, io.Discard); !errors.Is(err, store.ErrBadFile) {
		t.Errorf("got %v", err)
	}
}

func TestRestoreIntoWhatIsNoFolderSaysSo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a-file")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := store.Restore(t.Context(), file, "no matter")
	if !errors.Is(err, store.ErrUnwritable) || !strings.Contains(err.Error(), "cannot look for") {
		t.Errorf("got %v", err)
	}
}
