package store_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"foyer/store"
)

const marker = "foyer.db.made"

func TestB80LostFileIsNotReplacedByAnEmptyHouse(t *testing.T) {
	dir := t.TempDir()
	path := filled(t, dir)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		refuses(t, dir, store.ErrBadFile)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something was made in its place (%v)", err)
	}
	_, err := store.Open(dir, store.Options{})
	for _, word := range []string{"foyer restore --data " + dir, "remove " + filepath.Join(dir, marker)} {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("the sentence does not say %q: %v", word, err)
		}
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refuses(t, dir, store.ErrBadFile)
	if err := errors.Join(os.Remove(path), os.Remove(filepath.Join(dir, marker))); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatalf("without the marker: %v", err)
	}
	_ = s.Close()
}

func TestDatabaseOfAnOlderVersionGetsItsMarker(t *testing.T) {
	dir := t.TempDir()
	path := filled(t, dir)
	if err := os.Remove(filepath.Join(dir, marker)); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	text, err := os.ReadFile(filepath.Join(dir, marker))
	if err != nil || !strings.Contains(string(text), "foyer restore") {
		t.Errorf("the marker is %q (%v)", text, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	refuses(t, dir, store.ErrBadFile)
}

func TestMarkerThatIsThereIsLeftAsItIs(t *testing.T) {
	dir := t.TempDir()
	filled(t, dir)
	path := filepath.Join(dir, marker)
	if err := os.WriteFile(path, []byte("words of the operator"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	if b, err := os.ReadFile(path); err != nil || string(b) != "words of the operator" {
		t.Errorf("the marker is %q (%v)", b, err)
	}
}

func TestRefusedFileGetsNoMarker(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "foyer.db"), []byte("not ours"), 0o600); err != nil {
		t.Fatal(err)
	}
	refuses(t, dir, store.ErrBadFile) // it counts the files too
}

// What a crash leaves after each step of a creation is a folder that starts,
// with the database if it had its name already.
func TestCrashAtAnyStepOfACreationLeavesAFolderThatStarts(t *testing.T) {
	whole := t.TempDir()
	db, err := os.ReadFile(filled(t, whole))
	if err != nil {
		t.Fatal(err)
	}
	sample, err := store.Open(whole, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	secret := bytes.Clone(sample.Secret())
	_ = sample.Close()
	type files map[string][]byte
	for step, left := range map[string]files{
		"folder made":         {},
		"temporary file made": {"foyer.db.new-7.tmp": nil},
		"half filled":         {"foyer.db.new-7.tmp": db[:5000]},
		"filled":              {"foyer.db.new-7.tmp": db},
		"linked":              {"foyer.db.new-7.tmp": db, "foyer.db": db},
		"other name gone":     {"foyer.db": db},
		"marker made":         {"foyer.db": db, marker: nil},
		"marker half written": {"foyer.db": db, marker: []byte("Foyer ma")},
	} {
		t.Run(step, func(t *testing.T) {
			dir := t.TempDir()
			for name, content := range left {
				if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				s, err := store.Open(dir, store.Options{})
				if err != nil {
					t.Fatal(err)
				}
				if _, named := left["foyer.db"]; named && !bytes.Equal(s.Secret(), secret) {
					t.Error("another database was made")
				}
				_ = s.Close()
			}
			if _, err := os.Stat(filepath.Join(dir, marker)); err != nil {
				t.Errorf("no marker: %v", err)
			}
		})
	}
}

// The order of the steps is what keeps a folder out of the one state that does
// not start, a marker without a database. Inotify tells it as the kernel saw it.
func TestMarkerComesAfterTheDatabase(t *testing.T) {
	for name, act := range map[string]func(dir, backup string) error{
		"creation": func(dir, _ string) error {
			s, err := store.Open(dir, store.Options{})
			if err == nil {
				err = s.Close()
			}
			return err
		},
		"restoring": func(dir, backup string) error {
			_, err := store.Restore(t.Context(), dir, backup)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			backup, dir := filled(t, t.TempDir()), t.TempDir()
			watch, err := syscall.InotifyInit1(syscall.IN_NONBLOCK)
			if err != nil {
				t.Fatal(err)
			}
			defer syscall.Close(watch)
			if _, err := syscall.InotifyAddWatch(watch, dir, syscall.IN_CREATE|syscall.IN_MOVED_TO); err != nil {
				t.Fatal(err)
			}
			if err := act(dir, backup); err != nil {
				t.Fatal(err)
			}
			seen := make([]byte, 8192)
			n, err := syscall.Read(watch, seen)
			if err != nil {
				t.Fatal(err)
			}
			db, made := bytes.Index(seen[:n], []byte("foyer.db\x00")), bytes.Index(seen[:n], []byte(marker+"\x00"))
			if db < 0 || made < db {
				t.Errorf("foyer.db got its name at %d, the marker at %d", db, made)
			}
		})
	}
}

func TestMarkerThatCannotBeWrittenDoesNotKeepAHouseShut(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	path := filled(t, dir)
	if err := errors.Join(os.Remove(filepath.Join(dir, marker)), os.Chmod(path, 0o666), os.Chmod(dir, 0o555)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	asNobody(t, filepath.Dir(dir), func() {
		s, err := store.Open(dir, store.Options{})
		if err != nil {
			t.Error(err)
			return
		}
		_ = s.Close()
	})
	if _, err := os.Stat(filepath.Join(dir, marker)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it could be written, so this has tried nothing (%v)", err)
	}
}
