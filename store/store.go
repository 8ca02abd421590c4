// Package store keeps the sale in one bbolt file: one writer with group commit,
// the committed state in memory for every reader, and rows on disk from which
// that memory is rebuilt at the start.
//
// Invariants: a change is in memory only after it is on disk; nothing is
// answered before that; rows of one transaction are written together or not at
// all. Inside a transaction a function sees the committed state under its own
// writes and those of the functions that share its commit; when it fails, only
// its own writes are dropped.
//
// It decides nothing about sales: who may have a seat is sale's business. It
// does keep sale's indexes true (who claims a seat, how many turns are active),
// because they follow from the rows.
package store

import (
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"

	"foyer/outbox"
	"foyer/sale"
)

// The ways in which a store does not open. Errors wrap them with the sentence.
var (
	ErrInUse      = errors.New("store: in use by another process")
	ErrUnwritable = errors.New("store: folder cannot be written")
	ErrBadFile    = errors.New("store: not a file this program can use")
)

// Options of [Open]; the zero value is right.
type Options struct {
	Log *slog.Logger
	Now func() time.Time // nil: the machine's clock, which does not follow steps of the wall clock
}

// Store is an open database. It implements sale.Store and outbox.Book.
type Store struct {
	db     *bolt.DB
	log    *slog.Logger
	clock  func() time.Time
	last   atomic.Int64 // time of the newest transaction, Unix milliseconds
	secret []byte

	mu  sync.RWMutex // readers hold it for mem; the writer takes it to apply a commit
	mem *memory

	queue   queueOfJobs
	stopped chan struct{}
	health  health

	watch watchers
	offer func([]outbox.Message)
}

// Open opens DIR/foyer.db and makes it, safely, when there is none. It refuses
// files of newer formats and files it did not make, and never overwrites one.
func Open(dir string, o Options) (*Store, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.NewJSONHandler(io.Discard, nil))
	}
	db, err := openFile(dir)
	if err != nil {
		return nil, err
	}
	s := &Store{db: db, log: o.Log, clock: o.Now, stopped: make(chan struct{})}
	if s.clock == nil {
		start := time.Now()
		s.clock = func() time.Time { return start.Add(time.Since(start)) }
	}
	s.queue.init()
	s.watch.init()
	if err := guarded(db.Path(), s.load); err != nil {
		_ = db.Close()
		return nil, err
	}
	if h := diskHazard(dir); h != "" {
		s.log.Warn(h, "data", dir)
	}
	go s.write()
	return s, nil
}

// Close waits for the transactions under way and closes the file. Later ones
// are refused.
func (s *Store) Close() error {
	s.queue.close()
	<-s.stopped
	return s.db.Close()
}

// Secret is the house's master secret, made with the file: 32 bytes.
func (s *Store) Secret() []byte { return s.secret }

// now is the present in whole milliseconds, never before the newest transaction.
func (s *Store) now() time.Time {
	return time.UnixMilli(max(s.clock().UnixMilli(), s.last.Load())).UTC()
}

// View runs fn over the committed state. Views run side by side.
func (s *Store) View(fn func(sale.Reader) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return fn(&reader{memory: s.mem, at: s.now(), cold: s.coldOrder})
}
