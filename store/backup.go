package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"

	"foyer/sale"
)

var (
	errBackupRunning = &sale.Refusal{Code: "backup_running", Detail: "Another backup is being made or downloaded. Try again when it is done.", RetryAfter: time.Minute}
	errNoSpace       = &sale.Refusal{Code: "no_space", Detail: "The disk has too little room for a copy of the database beside it. " + noSpaceAdvice}
	errStopping      = errors.New("foyer is stopping")
)

const noSpaceAdvice = "Free some space, or stop Foyer and let foyer backup --data write to another disk."

// Copy is a finished backup: the database as it was at one moment, in a file of
// its own beside it. Nothing of the store is held while it is read.
type Copy struct {
	Size   int64             // bytes
	Digest [sha256.Size]byte // SHA-256 of the whole
	At     time.Time         // the moment

	file *os.File
	done func()
}

// Read reads on in the copy.
func (c *Copy) Read(b []byte) (int, error) { return c.file.Read(b) }

// Close removes the copy and lets the next backup begin. It must be called, once.
func (c *Copy) Close() error {
	defer c.done()
	return discardFile(c.file)
}

func discardFile(f *os.File) error { return errors.Join(f.Close(), os.Remove(f.Name())) }

// backups lets one copy exist at a time, from its first byte until it is closed.
type backups struct {
	slot    chan struct{}
	closing context.Context
	end     context.CancelFunc
}

func (b *backups) init() {
	b.slot = make(chan struct{}, 1)
	b.closing, b.end = context.WithCancel(context.Background())
}

// close breaks off a copy being made and waits a moment for one being read.
func (b *backups) close() {
	b.end()
	select {
	case b.slot <- struct{}{}:
	case <-time.After(backupGrace):
	}
}

// backupGrace is how long Close waits for a copy that is still being read; its
// file is removed at the next start then.
const backupGrace = 2 * time.Second

// Backup makes a consistent copy of the database while the sale goes on:
// everything acknowledged before the call is in it, and no transaction is in it
// half. There is one at a time; a second one is refused (backup_running), as is
// one that would leave the disk without a reserve for the sale (no_space). It
// ends early with ctx and with the store.
func (s *Store) Backup(ctx context.Context) (*Copy, error) {
	if s.backups.closing.Err() != nil {
		return nil, unavailable(errStopping)
	}
	select {
	case s.backups.slot <- struct{}{}:
	default:
		return nil, errBackupRunning
	}
	free := func() { <-s.backups.slot }
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.backups.closing, func() { cancel(unavailable(errStopping)) })()
	c, err := s.backup(ctx)
	if err != nil {
		free()
		return nil, err
	}
	c.done = free
	return c, nil
}

func (s *Store) backup(ctx context.Context) (_ *Copy, err error) {
	file, err := os.CreateTemp(filepath.Dir(s.db.Path()), backupName) // mode 0600: it holds the secret
	if err != nil {
		return nil, fmt.Errorf("store: backup: %w", noSpace(err))
	}
	defer func() {
		if err != nil {
			_ = discardFile(file)
		}
	}()
	c := &Copy{file: file}
	work := newCopier(ctx, file)
	var size int64
	if err := s.db.View(func(tx *bolt.Tx) error { size = tx.Size(); return nil }); err != nil {
		return nil, fmt.Errorf("store: backup: %w", err)
	}
	if err := work.roughly(s.db.Path(), size); err != nil {
		return nil, fmt.Errorf("store: backup: %w", err)
	}
	err = s.db.View(func(tx *bolt.Tx) error {
		c.At = s.now()
		c.Size, err = tx.WriteTo(work)
		return err
	})
	if err == nil {
		err = work.finish(c.Size)
	}
	if err == nil {
		c.Digest, err = work.digest(c.Size)
	}
	if err != nil {
		return nil, fmt.Errorf("store: backup: %w", noSpace(err))
	}
	return c, nil
}

// noSpace turns a full disk, in whatever words, into its refusal.
func noSpace(err error) error {
	for _, full := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		if errors.Is(err, full) {
			return errNoSpace
		}
	}
	return err
}
