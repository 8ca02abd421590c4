package store

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

const fileName = "foyer.db"

// format is the version of the layout on disk. A newer one is refused.
const format = 1

// boltMagic opens every bbolt meta page (bbolt, internal/common/meta.go), after
// the 16-byte page header.
const boltMagic = 0xED0CDAED

var boltOptions = &bolt.Options{
	Timeout:         time.Second,
	FreelistType:    bolt.FreelistMapType,
	NoFreelistSync:  true,    // a synced free list is rewritten in every commit
	InitialMmapSize: 1 << 30, // address space only; growing it would make the writer wait for readers
}

func openFile(dir string) (*bolt.DB, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("%w: cannot make the folder %s: %v", ErrUnwritable, dir, errors.Unwrap(err))
	}
	path := filepath.Join(dir, fileName)
	switch err := inspect(path); {
	case errors.Is(err, fs.ErrNotExist):
		if err := create(path); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	}
	return openBolt(path)
}

// inspect refuses what bbolt would overwrite or stumble over.
func inspect(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil {
		return fmt.Errorf("%w: cannot read %s: %v", ErrUnwritable, path, errors.Unwrap(err))
	}
	defer f.Close()
	st, err := f.Stat()
	switch {
	case err != nil:
		return fmt.Errorf("%w: cannot read %s: %v", ErrBadFile, path, err)
	case st.IsDir():
		return fmt.Errorf("%w: %s is a folder", ErrBadFile, path)
	case st.Size() == 0:
		return fmt.Errorf("%w: %s is empty; restore a backup, or move the file away to start anew", ErrBadFile, path)
	}
	var head [20]byte
	if _, err := f.ReadAt(head[:], 0); err != nil || binary.NativeEndian.Uint32(head[16:]) != boltMagic {
		return fmt.Errorf("%w: %s was not made by foyer or is damaged; restore a backup, or name another folder with --data", ErrBadFile, path)
	}
	return nil
}

// openBolt opens the file and checks that it is ours.
func openBolt(path string) (db *bolt.DB, err error) {
	if err := guarded(path, func() error { return readThrough(path) }); err != nil {
		return nil, err
	}
	err = guarded(path, func() (err error) {
		db, err = bolt.Open(path, 0o600, boltOptions)
		return opened(path, err)
	})
	if err != nil {
		return nil, err
	}
	if err := checkFormat(db, path); err != nil {
		_ = db.Close()
		return nil, err
	}
	return db, nil
}

// opened puts bbolt's error into a sentence.
func opened(path string, err error) error {
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return fmt.Errorf("%w: %s is open in another foyer; stop that one first", ErrInUse, path)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: no permission to write %s", ErrUnwritable, path)
	case err != nil:
		return fmt.Errorf("%w: %s cannot be opened (%v); restore a backup", ErrBadFile, path, err)
	}
	return nil
}

// guarded runs what reads the file. On damaged pages bbolt panics, and a file
// that was cut short faults where the mapping has no file behind it; both
// become an error.
func guarded(path string, read func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %s is damaged (%v); restore a backup", ErrBadFile, path, p)
		}
	}()
	return read()
}

// readThrough reads every row once without writing anything. When bbolt opens a
// file for writing it walks the pages in a goroutine of its own, and what goes
// wrong there would end the program with a stack trace.
func readThrough(path string) error {
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, Timeout: boltOptions.Timeout})
	if err := opened(path, err); err != nil {
		return err
	}
	defer db.Close()
	sum := byte(0)
	err = db.View(func(tx *bolt.Tx) error {
		return tx.ForEach(func(_ []byte, b *bolt.Bucket) error {
			return b.ForEach(func(_, v []byte) error {
				if len(v) > 0 {
					sum += v[0] + v[len(v)-1]
				}
				return nil
			})
		})
	})
	runtime.KeepAlive(sum)
	return err
}

func checkFormat(db *bolt.DB, path string) error {
	return db.View(func(tx *bolt.Tx) error {
		meta := tx.Bucket(bucketMeta)
		if meta == nil || meta.Get(keyFormat) == nil {
			return fmt.Errorf("%w: %s is a database of another program; name another folder with --data", ErrBadFile, path)
		}
		switch v := meta.Get(keyFormat); {
		case len(v) != 8 || len(meta.Get(keySecret)) != 32:
			return fmt.Errorf("%w: %s is damaged; restore a backup", ErrBadFile, path)
		case binary.BigEndian.Uint64(v) > format:
			return fmt.Errorf("%w: %s has format %d, this foyer knows %d; use a newer foyer", ErrBadFile, path, binary.BigEndian.Uint64(v), format)
		}
		for _, b := range buckets {
			if tx.Bucket(b) == nil {
				return fmt.Errorf("%w: %s lacks its %q part; restore a backup", ErrBadFile, path, b)
			}
		}
		return nil
	})
}

// create makes the file under another name and moves it into place whole, so
// that a crash never leaves half a database (and a zero-length file is never
// one of ours).
func create(path string) error {
	dir := filepath.Dir(path)
	tmp, err := os.CreateTemp(dir, fileName+".new-*")
	if err != nil {
		return fmt.Errorf("%w: cannot write in %s: %v", ErrUnwritable, dir, errors.Unwrap(err))
	}
	defer os.Remove(tmp.Name())
	if err := tmp.Close(); err != nil {
		return fmt.Errorf("%w: %v", ErrUnwritable, err)
	}
	if err := fill(tmp.Name()); err != nil {
		return fmt.Errorf("%w: cannot write in %s: %v", ErrUnwritable, dir, err)
	}
	if err := os.Link(tmp.Name(), path); err != nil { // unlike a rename it never replaces a file
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%w: another foyer has just made %s", ErrInUse, path)
		}
		if err := os.Rename(tmp.Name(), path); err != nil { // a file system without hard links
			return fmt.Errorf("%w: cannot write in %s: %v", ErrUnwritable, dir, err)
		}
	}
	return syncDir(dir)
}

func fill(path string) error {
	db, err := bolt.Open(path, 0o600, boltOptions)
	if err != nil {
		return err
	}
	var secret [32]byte
	if _, err := rand.Read(secret[:]); err != nil {
		return err
	}
	err = db.Update(func(tx *bolt.Tx) error {
		for _, b := range buckets {
			if _, err := tx.CreateBucket(b); err != nil {
				return err
			}
		}
		meta := tx.Bucket(bucketMeta)
		return errors.Join(
			meta.Put(keyFormat, binary.BigEndian.AppendUint64(nil, format)),
			meta.Put(keySecret, bytes.Clone(secret[:])),
		)
	})
	return errors.Join(err, db.Sync(), db.Close())
}

func syncDir(dir string) error {
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
