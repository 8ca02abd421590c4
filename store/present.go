package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// present is nil while the file that is open lies in its folder. A file that was
// moved away or removed takes writes as before, and all of them go with the
// process: so nothing is acknowledged until it is back. What was acknowledged
// before can still be saved, by a backup. It costs one stat.
func (s *Store) present() error {
	path := s.db.Path()
	switch st, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s was moved or removed while foyer has it open; move it back, and foyer goes on by itself, or save it with foyer backup --server, stop foyer and restore that", path)
	case err == nil && s.file != nil && !os.SameFile(s.file, st):
		return fmt.Errorf("%s was replaced by another file while foyer has its own open; save that with foyer backup --server and stop foyer before you look which is the right one", path)
	}
	return nil // the file cannot be looked at: its next write tells
}
