//go:build linux

package store_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"foyer/crash/cutfs"
	"foyer/store"
)

// moved moves a file in under a name that is free, and another under the same.
func moved(t *testing.T, dir string) {
	t.Helper()
	from, path := filepath.Join(dir, "from"), filepath.Join(dir, "path")
	for i, want := range []error{nil, fs.ErrExist} {
		_ = os.Remove(from) // the name that it had before, if it has it still
		if err := os.WriteFile(from, []byte{byte('a' + i)}, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := store.MoveIn(from, path); !errors.Is(err, want) {
			t.Errorf("file %d: got %v, want %v", i, err, want)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != "a" {
			t.Errorf("after file %d there is %q (%v)", i, b, err)
		}
	}
}

func TestFileThatIsMovedInReplacesNone(t *testing.T) { moved(t, t.TempDir()) }

func TestFileThatIsMovedInWithoutHardLinksReplacesNone(t *testing.T) {
	d := cutfs.New(nil, 1)
	d.Judge(cutfs.FailNth(cutfs.Link, 1, syscall.EPERM, true))
	_, dir, unmount := mount(t, d)
	defer unmount()
	moved(t, dir)
}

func TestFileThatWasMovedInOutlivesAPowerCut(t *testing.T) {
	d := cutfs.New(nil, 1)
	_, dir, unmount := mount(t, d)
	defer unmount()
	from := filepath.Join(dir, "from")
	if err := os.WriteFile(from, []byte("whole"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := store.MoveIn(from, filepath.Join(dir, "path")); err != nil {
		t.Fatal(err)
	}
	d.Cut()
	if c := d.Left(cutfs.Loss{}, 1)["path"]; c == nil || string(c.Bytes()) != "whole" {
		t.Error("it is gone, or its content is")
	}
}
