package store

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

const fileName = "foyer.db"

// format is the version of the layout on disk. A newer one is refused.
const format = 4

// boltMagic opens every bbolt meta page (bbolt, internal/common/meta.go), after
// the 16-byte page header.
const boltMagic = 0xED0CDAED

var boltOptions = &bolt.Options{
	Timeout:        time.Second,
	FreelistType:   bolt.FreelistMapType,
	NoFreelistSync: true, // a synced free list is rewritten in every commit
}

// optionsFor is how a file of ours is opened. A file that outgrows its mapping
// makes the writer wait for every reader, so the mapping is larger than the file
// will soon be.
func optionsFor(path string) *bolt.Options {
	o := *boltOptions
	size := int64(0)
	if st, err := os.Stat(path); err == nil {
		size = st.Size()
	}
	o.InitialMmapSize = mapSize(runtime.GOOS, strconv.IntSize, size)
	return &o
}

// mapSize is how much of the address space a file of so many bytes gets. On
// Windows bbolt makes the file as long as its mapping, and elsewhere 32 bits
// have no room: there bbolt doubles the mapping when it must.
func mapSize(system string, bits int, file int64) int {
	const least, step = 4 << 30, 1 << 30
	if system == "windows" || bits < 64 {
		return 0
	}
	return int(max(least, (2*file+step-1)/step*step))
}

func openFile(dir string) (*bolt.DB, error) {
	if err := makeFolder(dir); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, fileName)
	switch err := inspect(path); {
	case errors.Is(err, fs.ErrNotExist):
		if err := lost(dir); err != nil {
			return nil, err
		}
		if err := create(path); err != nil {
			return nil, err
		}
		if err := mark(dir); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	}
	return openBolt(path)
}

// inspect refuses what bbolt would overwrite or stumble over. It opens nothing
// but plain files: opening a pipe would wait for ever.
func inspect(path string) error {
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if to, linkErr := os.Readlink(path); linkErr == nil {
			return fmt.Errorf("%w: %s is a link to %s, which is not there; mount the disk that holds it, or remove the link", ErrUnwritable, path, to)
		}
		return err
	case err != nil:
		return fmt.Errorf("%w: cannot read %s: %v", ErrUnwritable, path, cause(err))
	case st.IsDir():
		return fmt.Errorf("%w: %s is a folder", ErrBadFile, path)
	case !st.Mode().IsRegular():
		return fmt.Errorf("%w: %s is no plain file; move it away, or name another folder with --data", ErrBadFile, path)
	case st.Size() == 0:
		return fmt.Errorf("%w: %s is empty; restore a backup, or move the file away to start anew", ErrBadFile, path)
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("%w: cannot read %s: %v", ErrUnwritable, path, cause(err))
	}
	defer f.Close()
	if _, err := openPages(f, st.Size()); err != nil {
		return fmt.Errorf("%w: %s was not made by foyer or is damaged; restore a backup, or name another folder with --data", ErrBadFile, path)
	}
	return nil
}

// openBolt opens the file and checks that it is ours.
func openBolt(path string) (db *bolt.DB, err error) {
	if err := guarded(path, func() error { return sound(path) }); err != nil {
		return nil, err
	}
	err = guarded(path, func() (err error) {
		db, err = bolt.Open(path, 0o600, optionsFor(path))
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
			err = damaged(path, p)
		}
	}()
	return read()
}

func damaged(path string, how any) error {
	return fmt.Errorf("%w: %s is damaged (%s); run foyer check %s, or restore a backup", ErrBadFile, path, oneLine(how), path)
}

// oneLine makes one short line of an error that may be several.
func oneLine(how any) string {
	const most = 250 // bytes
	s := strings.Join(strings.Fields(fmt.Sprint(how)), " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + " ..."
	}
	return s
}

// sound walks all pages before bbolt maps the file. When bbolt opens a file for
// writing it does so itself in a goroutine of its own, and what goes wrong there
// would end the program with a stack trace.
func sound(path string) error {
	file, db, err := openToRead(path)
	if err != nil {
		return err
	}
	defer db.Close()
	st, err := file.Stat()
	if err != nil {
		return err
	}
	p, err := openPages(file, st.Size())
	if err == nil {
		err = p.sound()
	}
	if err != nil {
		return damaged(path, err)
	}
	return nil
}

func checkFormat(db *bolt.DB, path string) error {
	return db.View(func(tx *bolt.Tx) error {
		var version, secret []byte
		if meta := tx.Bucket(bucketMeta); meta != nil {
			version, secret = meta.Get(keyFormat), meta.Get(keySecret)
		}
		return ours(path, version, secret, func(bucket []byte) bool { return tx.Bucket(bucket) != nil })
	})
}

// ours tells whether a file with this in its meta bucket, and these buckets, is
// one that this program can use.
func ours(path string, version, secret []byte, has func(bucket []byte) bool) error {
	switch {
	case version == nil:
		return fmt.Errorf("%w: %s is a database of another program; name another folder with --data", ErrBadFile, path)
	case len(version) != 8 || len(secret) != 32:
		return damaged(path, "its head has no format or no secret")
	case binary.BigEndian.Uint64(version) > format:
		return fmt.Errorf("%w: %s has format %d, this foyer knows %d; use a newer foyer", ErrBadFile, path, binary.BigEndian.Uint64(version), format)
	}
	for _, b := range bucketsOf(binary.BigEndian.Uint64(version)) {
		if !has(b) {
			return fmt.Errorf("%w: %s lacks its %q part; restore a backup", ErrBadFile, path, b)
		}
	}
	return nil
}

// create makes the file under another name and moves it into place whole, so
// that a crash never leaves half a database (and a zero-length file is never
// one of ours).
func create(path string) error {
	dir := filepath.Dir(path)
	tmp, err := os.CreateTemp(dir, creationName)
	if err != nil {
		return fmt.Errorf("%w: cannot write in %s (%v); %s", ErrUnwritable, dir, errors.Unwrap(err), remedy(err))
	}
	defer os.Remove(tmp.Name())
	if err := tmp.Close(); err != nil {
		return fmt.Errorf("%w: %v", ErrUnwritable, err)
	}
	if err := fill(tmp.Name()); err != nil {
		return fmt.Errorf("%w: cannot write in %s (%v); %s", ErrUnwritable, dir, err, remedy(err))
	}
	err = MoveIn(tmp.Name(), path)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: another foyer has just made %s", ErrInUse, path)
	}
	return err
}

func fill(path string) error {
	db, err := bolt.Open(path, 0o600, optionsFor(path))
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
	return cmp.Or(err, db.Sync(), db.Close()) // one of them is enough to say
}
