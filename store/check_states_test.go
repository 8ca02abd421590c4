package store_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"foyer/store"
)

// cannotLook wants an error of this kind with these words from a look.
func cannotLook(t *testing.T, path string, kind error, words string) {
	t.Helper()
	r, err := store.Inspect(path, nil)
	if err == nil {
		t.Errorf("it was looked at: %+v", r)
		return
	}
	if !errors.Is(err, kind) || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, want %v and %q", err, kind, words)
	}
}

// cannotOpen wants an error of this kind with these words from Open, and the
// folder as it was.
func cannotOpen(t *testing.T, dir string, kind error, words string) {
	t.Helper()
	before := listing(t, dir)
	s, err := store.Open(dir, store.Options{})
	if err == nil {
		_ = s.Close()
		t.Fatal("it was opened")
	}
	if !errors.Is(err, kind) || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, want %v and %q", err, kind, words)
	}
	if after := listing(t, dir); after != before {
		t.Errorf("the folder had %s and has %s", before, after)
	}
}

// listing names what lies in a folder, with kinds and sizes.
func listing(t *testing.T, dir string) (list string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err.Error()
	}
	for _, e := range entries {
		if st, err := e.Info(); err == nil {
			list += st.Name() + " " + st.Mode().String() + ";"
		}
	}
	return list
}

func TestB80PathsThatAreNoFileAreRefused(t *testing.T) {
	t.Run("a pipe", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			t.Skip("Windows has no such pipes")
		}
		dir := t.TempDir()
		if err := syscall.Mkfifo(filepath.Join(dir, "foyer.db"), 0o600); err != nil {
			t.Fatal(err)
		}
		cannotOpen(t, dir, store.ErrBadFile, "no plain file")
		cannotLook(t, dir, store.ErrUnwritable, "no plain file")
	})
	t.Run("a folder", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "foyer.db"), 0o700); err != nil {
			t.Fatal(err)
		}
		cannotOpen(t, dir, store.ErrBadFile, "is a folder")
		cannotLook(t, dir, store.ErrUnwritable, "no plain file")
	})
	t.Run("a link to nothing", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.Symlink(filepath.Join(dir, "disk", "foyer.db"), filepath.Join(dir, "foyer.db")); err != nil {
			t.Fatal(err)
		}
		cannotOpen(t, dir, store.ErrUnwritable, "is a link to")
		cannotLook(t, dir, store.ErrUnwritable, "is a link to")
	})
	t.Run("a link in a circle", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.Symlink("foyer.db", filepath.Join(dir, "foyer.db")); err != nil {
			t.Fatal(err)
		}
		cannotOpen(t, dir, store.ErrUnwritable, "cannot read")
		cannotLook(t, dir, store.ErrUnwritable, "cannot read")
	})
	t.Run("a path that vanished", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "gone")
		cannotLook(t, dir, store.ErrUnwritable, "there is no file")
		cannotLook(t, filepath.Join(dir, "foyer.db"), store.ErrUnwritable, "there is no file")
		if _, err := os.Stat(dir); err == nil {
			t.Error("a look made the folder")
		}
	})
	t.Run("an empty folder", func(t *testing.T) {
		dir := t.TempDir()
		cannotLook(t, dir, store.ErrUnwritable, "there is no file")
		if list := listing(t, dir); list != "" {
			t.Errorf("a look made %s", list)
		}
	})
	t.Run("a file as a folder", func(t *testing.T) {
		path := filled(t, t.TempDir())
		cannotLook(t, filepath.Join(path, "foyer.db"), store.ErrUnwritable, "cannot read")
	})
}

func TestFileBehindALinkIsLookedAt(t *testing.T) {
	path := filled(t, t.TempDir())
	link := filepath.Join(t.TempDir(), "copy.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if r, err := store.Inspect(link, nil); err != nil || !r.Rows {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestFileInUseIsNotLookedAt(t *testing.T) {
	dir := t.TempDir()
	s, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cannotLook(t, dir, store.ErrInUse, "foyer backup")
}

func TestFileOfOthersIsNotLookedAt(t *testing.T) {
	dir := t.TempDir()
	path := filled(t, dir)
	if err := os.Chmod(path, 0o000); err != nil {
		t.Fatal(err)
	}
	asNobody(t, dir, func() { cannotLook(t, path, store.ErrUnwritable, "permission") })
}

func TestReadOnlyFileInAReadOnlyFolderIsLookedAt(t *testing.T) {
	outer := t.TempDir()
	dir := filepath.Join(outer, "data")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filled(t, dir)
	if err := errors.Join(os.Chmod(path, 0o444), os.Chmod(dir, 0o555)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	asNobody(t, outer, func() {
		r, err := store.Inspect(path, nil)
		if err != nil || !r.Rows {
			t.Errorf("got %+v, %v", r, err)
		}
	})
	if after, err := os.Stat(path); err != nil || !after.ModTime().Equal(before.ModTime()) || after.Size() != before.Size() {
		t.Errorf("the look touched the file: %v", err)
	}
}

// What is there and is no file of ours is a finding, not a reason not to look.
func TestB80FilesThatAreNotOursAreFindings(t *testing.T) {
	for name, c := range map[string]struct {
		content []byte
		words   string
	}{
		"zero length": {nil, "is empty"},
		"a picture":   {append([]byte("\xff\xd8\xff\xe0\x00\x10JFIF\x00"), bytes.Repeat([]byte{7}, 9000)...), "was not made by foyer"},
		"one byte":    {[]byte{1}, "was not made by foyer"},
		"zeros":       {make([]byte, 1<<16), "was not made by foyer"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "some.db")
			if err := os.WriteFile(path, c.content, 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := store.Inspect(path, nil)
			if err != nil || len(r.Findings) != 1 || r.Findings[0].Code != "file" || !strings.Contains(r.Findings[0].What, c.words) || r.Rows {
				t.Errorf("got %+v, %v", r, err)
			}
		})
	}
}
