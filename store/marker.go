package store

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// markerName is a file that says: a database was made in this folder. Without
// it a lost database could not be told from one that never was, and a house
// whose orders are gone would open empty.
const markerName = fileName + ".made"

const markerText = `Foyer made its database, foyer.db, in this folder.
This file is the sign of it, written %s.

While it is here, Foyer does not start when foyer.db is missing: it would
open an empty house in the place of a lost one. When that happens, restore a backup:

    foyer restore --data THIS-FOLDER BACKUP

Remove this file only to begin anew with an empty house.
`

// lost refuses to make a database where there was one.
func lost(dir string) error {
	path := filepath.Join(dir, markerName)
	_, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%w: cannot look into %s: %v", ErrUnwritable, dir, errors.Unwrap(err))
	}
	if _, err := os.Lstat(filepath.Join(dir, fileName)); err == nil {
		return nil // another process has made both just now
	}
	return fmt.Errorf("%w: %s is gone, and %s tells that there was one; restore a backup (foyer restore --data %s BACKUP), or remove %s to begin anew",
		ErrBadFile, filepath.Join(dir, fileName), markerName, dir, path)
}

// mark leaves the marker, on disk when it returns. It comes after the database
// is in place for good: the other way round a crash in between would leave a
// folder that does not start. Whatever the marker holds, that it is there counts.
func mark(dir string) error {
	path := filepath.Join(dir, markerName)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: cannot write %s: %v", ErrUnwritable, path, errors.Unwrap(err))
	}
	_, err = fmt.Fprintf(f, markerText, time.Now().UTC().Format(time.RFC3339))
	if err := cmp.Or(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("%w: cannot write %s: %v", ErrUnwritable, path, err)
	}
	return syncDir(dir)
}
