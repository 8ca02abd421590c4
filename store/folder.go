package store

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// The names of unfinished files (os.CreateTemp). What a crash left of them is
// removed at a later start, so they must be names that nobody gives to a copy of
// his own.
const (
	creationName = fileName + ".new-*.tmp"
	restoreName  = fileName + ".restore-*.tmp"
	backupName   = fileName + ".backup-*.tmp"
)

// leftover is the age from which an unfinished file is nobody's work any more.
var leftover = map[string]time.Duration{
	backupName:   0, // made only by who holds the database
	creationName: time.Hour,
	restoreName:  time.Hour,
}

// settle puts the folder of an open database in order: one of an older version
// gets its marker, and what crashes left of unfinished files goes.
func (s *Store) settle(dir string) {
	if err := mark(dir); err != nil { // a full disk must not keep a house shut
		s.log.Warn("cannot leave the sign that a database was made here", "error", err.Error())
	}
	names, err := os.ReadDir(dir)
	if err != nil {
		s.log.Warn("cannot look for what is left of unfinished files", "data", dir, "error", err.Error())
	}
	for _, e := range names {
		for name, age := range leftover {
			info, err := e.Info()
			if unfinished, _ := filepath.Match(name, e.Name()); unfinished && err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) >= age {
				_ = os.Remove(filepath.Join(dir, e.Name()))
			}
		}
	}
}

// MoveIn gives a finished file its name; its content and its name are on disk
// when it returns. It never replaces a file: that is fs.ErrExist.
func MoveIn(from, path string) error {
	if err := syncFile(from); err != nil {
		return fmt.Errorf("%w: cannot write %s: %v", ErrUnwritable, path, cause(err))
	}
	err := os.Link(from, path) // unlike a rename it never replaces a file
	switch {
	case errors.Is(err, fs.ErrExist):
		return err
	case err != nil: // a file system without hard links
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: %w", path, fs.ErrExist)
		}
		if err := os.Rename(from, path); err != nil {
			return fmt.Errorf("%w: cannot write %s: %v", ErrUnwritable, path, cause(err))
		}
	}
	return syncDir(filepath.Dir(path))
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0) // Windows syncs only what it may write
	if err != nil {
		return err
	}
	return cmp.Or(f.Sync(), f.Close())
}

// makeFolder makes a folder and those above it, where they are missing, and
// makes that last: a power cut must not take away the folder with all in it.
func makeFolder(dir string) error {
	var made []string
	for d := filepath.Clean(dir); ; d = filepath.Dir(d) {
		if _, err := os.Stat(d); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		made = append(made, d)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("%w: cannot make the folder %s (%v); %s", ErrUnwritable, dir, errors.Unwrap(err), remedy(err))
	}
	for _, d := range made {
		if err := syncDir(filepath.Dir(d)); err != nil {
			return err
		}
	}
	return nil
}

// remedy is what to do about a folder that cannot be written, for the end of a sentence.
func remedy(err error) string {
	if says(err, syscall.ENOSPC) || says(err, syscall.EDQUOT) {
		return "free some space, or name another folder with --data"
	}
	return "see that it can be written, or name another folder with --data"
}

// syncDir makes the names in a folder last. Windows knows no such thing.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("%w: %v", ErrUnwritable, err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("%w: cannot sync %s: %v", ErrUnwritable, dir, err)
	}
	return nil
}
