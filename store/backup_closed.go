package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"foyer/sale"
)

// CopyClosed writes the database of a folder to w, as long as no running foyer
// has it open (else [ErrInUse]). It changes nothing in the folder.
func CopyClosed(ctx context.Context, dir string, w io.Writer) error {
	path, err := fileIn(filepath.Join(dir, fileName))
	if err != nil {
		return err
	}
	if err := inspect(path); err != nil {
		return err
	}
	return readOnly(path, func(tx *bolt.Tx) error {
		_, err := tx.WriteTo(cancelling{ctx, w})
		return err
	})
}

// cancelling is a writer that ends with ctx.
type cancelling struct {
	ctx context.Context
	w   io.Writer
}

func (c cancelling) Write(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.w.Write(b)
}

// readOnly runs fn over a closed database of ours, under the shared lock.
func readOnly(path string, fn func(*bolt.Tx) error) error {
	return guarded(path, func() error {
		_, db, err := openToRead(path)
		if err != nil {
			return err
		}
		defer db.Close()
		if err := checkFormat(db, path); err != nil {
			return err
		}
		return db.View(fn)
	})
}

// Newest is the time of the newest order, message or act of staff in a closed
// database; zero when there is none.
func Newest(path string) (newest time.Time, err error) {
	seen := func(t time.Time) {
		if t.After(newest) {
			newest = t.UTC()
		}
	}
	err = readOnly(path, func(tx *bolt.Tx) error {
		for _, bucket := range [][]byte{bucketOrders, bucketClosed} { // their ids are of UUID version 7
			if k, _ := tx.Bucket(bucket).Cursor().Last(); len(k) == 16 {
				sec, nsec := uuid.UUID(k).Time().UnixTime()
				seen(time.Unix(sec, nsec))
			}
		}
		if _, v := tx.Bucket(bucketAudit).Cursor().Last(); v != nil {
			var e sale.Entry
			if err := json.Unmarshal(v, &e); err != nil {
				return fmt.Errorf("entry: %w: %v", errDamaged, err)
			}
			seen(e.At)
		}
		if _, v := tx.Bucket(bucketOutbox).Cursor().Last(); v != nil {
			m, err := decodeMessage(0, v, false)
			if err != nil {
				return err
			}
			seen(m.CreatedAt)
		}
		return nil
	})
	return newest, err
}

// Unusable is nil when the report is of a file that foyer can serve from, and
// else an [ErrBadFile] with the first thing that stands against it. A file whose
// rows contradict each other, or hang in the air, can be served from.
func (r *Report) Unusable() error {
	why := r.unreadable
	for _, f := range r.Findings {
		if f.Code == "file" || f.Code == "page" {
			why = f.What
			break
		}
	}
	if why == "" {
		return nil
	}
	return fmt.Errorf("%w: %s cannot be used: %s", ErrBadFile, r.Path, why)
}

// Restore puts a backup in place as the database of a folder, which must not
// have one. The backup is checked before anything is written, and the copy is
// read through before it gets its name; a crash in between leaves no database.
// The marker of a database that is gone does not stand against it. The report is
// about the backup; an unusable one is an [ErrBadFile].
func Restore(ctx context.Context, dir, backup string) (*Report, error) {
	path := filepath.Join(dir, fileName)
	switch _, err := os.Lstat(path); {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: cannot look for %s: %v; see that --data names a folder that can be read", ErrUnwritable, path, cause(err))
	case err == nil:
		return nil, fmt.Errorf("%w: %s is there already, and it was not touched; move it away first and keep it", ErrBadFile, path)
	}
	r, err := Inspect(backup, nil)
	if err == nil {
		err = r.Unusable()
	}
	if err != nil {
		return nil, err
	}
	if err := makeFolder(dir); err != nil {
		return nil, err
	}
	to, err := os.CreateTemp(dir, restoreName)
	if err != nil {
		return nil, fmt.Errorf("%w: cannot write in %s: %v", ErrUnwritable, dir, cause(err))
	}
	defer os.Remove(to.Name())
	err = copyFile(ctx, to, r.Path)
	if err := errors.Join(err, to.Close()); err != nil {
		return nil, fmt.Errorf("store: cannot copy %s to %s: %w", backup, dir, err)
	}
	err = guarded(to.Name(), func() error { return sound(to.Name()) })
	if err != nil {
		return nil, err
	}
	switch err := MoveIn(to.Name(), path); {
	case errors.Is(err, fs.ErrExist):
		return nil, fmt.Errorf("%w: another foyer has just made %s; nothing was changed", ErrInUse, path)
	case err != nil:
		return nil, err
	}
	return r, mark(dir)
}

func copyFile(ctx context.Context, to *os.File, name string) error {
	from, err := os.Open(name)
	if err != nil {
		return err
	}
	defer from.Close()
	_, err = io.Copy(cancelling{ctx, to}, from)
	return err
}
