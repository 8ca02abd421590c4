package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"foyer/sale"
)

// Finding is one thing that is wrong with a file. See [sale.Finding].
type Finding = sale.Finding

// Report is what a look at a file has shown.
type Report struct {
	Path     string // of the file, also when its folder was named
	Bytes    int64
	Findings []Finding
	Tally    sale.Tally
	Rows     bool // the rows were looked at; they are not when pages are damaged

	unreadable string // the first row that cannot be decoded
}

// Wrong counts the findings that are more than notes.
func (r *Report) Wrong() (n int) {
	for _, f := range r.Findings {
		if !f.Note() {
			n++
		}
	}
	return n
}

// Check is [Inspect] without the numbers.
func Check(path string, progress func(done, total int64)) (findings []Finding, err error) {
	r, err := Inspect(path, progress)
	if err != nil {
		return nil, err
	}
	return r.Findings, nil
}

// Inspect looks at a file, or at the one in a data folder, without changing it:
// first at its pages, then, when those are whole, at every row, and last it lets
// bbolt check the pages once more. progress may be nil; it is told pages.
//
// An error says that nothing could be looked at: there is no file, it cannot be
// read ([ErrUnwritable]), or a running foyer has it ([ErrInUse]). A file that is
// there and is empty, of another program, of a newer format, damaged, or at odds
// with itself is no error; its findings say so.
func Inspect(path string, progress func(done, total int64)) (r *Report, err error) {
	if path, err = fileIn(path); err != nil {
		return nil, err
	}
	r = &Report{Path: path}
	err = guarded(path, func() error { return r.look(progress) })
	var known bool
	for _, e := range []error{ErrInUse, ErrUnwritable} {
		known = known || errors.Is(err, e)
	}
	if err != nil && !known {
		r.Findings = append(r.Findings, Finding{Code: "file", What: plain(err)})
		err = nil
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// plain is an error's sentence without the name of its kind.
func plain(err error) string {
	s := err.Error()
	if prefix := ErrBadFile.Error() + ": "; len(s) > len(prefix) && s[:len(prefix)] == prefix {
		return s[len(prefix):]
	}
	return s
}

// fileIn finds the file that a path names, and refuses what is none.
func fileIn(path string) (string, error) {
	st, err := os.Stat(path)
	if err == nil && st.IsDir() {
		path = filepath.Join(path, fileName)
		st, err = os.Stat(path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if to, err := os.Readlink(path); err == nil {
			return "", fmt.Errorf("%w: %s is a link to %s, which is not there", ErrUnwritable, path, to)
		}
		return "", fmt.Errorf("%w: there is no file %s", ErrUnwritable, path)
	case err != nil:
		return "", fmt.Errorf("%w: cannot read %s: %v", ErrUnwritable, path, cause(err))
	case !st.Mode().IsRegular():
		return "", fmt.Errorf("%w: %s is no plain file", ErrUnwritable, path)
	}
	return path, nil
}

// cause is a path error without the path, which our sentences name themselves.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// look opens the file for reading, under the lock that readers share, and looks
// at everything.
func (r *Report) look(progress func(done, total int64)) error {
	if err := inspect(r.Path); err != nil {
		return err
	}
	file, db, err := openToRead(r.Path)
	if errors.Is(err, ErrInUse) {
		return fmt.Errorf("%w: %s is in use by a running foyer; make a copy with foyer backup and check that", ErrInUse, r.Path)
	}
	if err != nil {
		return err
	}
	defer db.Close()
	st, err := file.Stat()
	if err != nil {
		return err
	}
	r.Bytes = st.Size()
	p, err := openPages(file, r.Bytes)
	if err != nil {
		return fmt.Errorf("%w: %s has lost its first pages; restore a backup", ErrBadFile, r.Path)
	}
	p.progress = progress
	look := sale.NewInspection(time.Now(), false)
	rows := p.buckets()
	if err := oursToRead(p, rows, r.Path); err != nil && len(p.found) == 0 {
		return err
	}
	if p.torn {
		look.Add("note", "the last commit was broken off while it was written, as by a power cut; nobody was told that it was done")
	}
	r.unreadable = readRows(p, rows, look)
	p.free()
	for _, what := range p.heads {
		look.Add("page", "%s", what)
	}
	for _, what := range p.found {
		look.Add("page", "%s", what)
	}
	if progress != nil {
		progress(int64(p.count), int64(p.count))
	}
	if len(p.found) > 0 { // what hangs on lost rows would only repeat it
		all := look.Findings()
		r.Findings = slices.DeleteFunc(all, func(f Finding) bool { return f.Code != "page" && f.Code != "note" })
		return nil
	}
	if len(p.heads) == 0 {
		for _, what := range boltFindings(db) {
			look.Add("page", "%s", what)
		}
	}
	r.Rows = true
	r.Findings, r.Tally = look.Findings(), look.Tally()
	return nil
}

// openToRead opens a file with bbolt under the shared lock and hands out the
// file itself, so that the pages can be looked at before bbolt does.
func openToRead(path string) (file *os.File, db *bolt.DB, err error) {
	o := &bolt.Options{ReadOnly: true, Timeout: boltOptions.Timeout}
	o.OpenFile = func(name string, flag int, mode os.FileMode) (f *os.File, err error) {
		f, err = os.OpenFile(name, flag, mode)
		file = f
		return f, err
	}
	err = guarded(path, func() (err error) {
		db, err = bolt.Open(path, 0, o)
		return opened(path, err)
	})
	return file, db, err
}

// oursToRead tells whether these are the buckets of a file of ours.
func oursToRead(p *pages, rows map[string][]byte, path string) error {
	var version, secret []byte
	if row, ok := rows[string(bucketMeta)]; ok {
		q := *p // the pages of meta are read again with the others
		q.seen, q.found, q.progress = slices.Clone(p.seen), nil, nil
		q.bucket(row, 0, func(key, value []byte, _ bool, _ int) {
			switch {
			case bytes.Equal(key, keyFormat):
				version = bytes.Clone(value)
			case bytes.Equal(key, keySecret):
				secret = bytes.Clone(value)
			}
		})
		if len(q.found) > 0 {
			return nil // it is damaged, and whose it is nobody knows
		}
	}
	return ours(path, version, secret, func(bucket []byte) bool { return rows[string(bucket)] != nil })
}

// boltFindings are what bbolt itself has to say about the pages, which are sound
// as far as ours could tell.
func boltFindings(db *bolt.DB) (found []string) {
	_ = db.View(func(tx *bolt.Tx) error {
		for err := range tx.Check() {
			found = append(found, err.Error())
		}
		return nil
	})
	return found
}
