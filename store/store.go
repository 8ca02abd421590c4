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
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
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
	// Now is the time, for those who want to make it themselves. Nil: a clock that
	// starts at the wall clock's time and follows none of its steps.
	Now func() time.Time
	// Machine tells of sleep and of what happened between two runs. Nil: nothing is
	// known of either, and stamps are taken as they are.
	Machine *Machine
	// Lease is how long a delivery may go on at its receiver after the process
	// that made it has died: the time-out of one attempt.
	Lease time.Duration
}

// Store is an open database. It implements sale.Store and outbox.Book.
type Store struct {
	db     *bolt.DB
	file   os.FileInfo // of the open file; nil when it could not be had
	log    *slog.Logger
	clock  *clock
	last   atomic.Int64 // time of the newest transaction, Unix milliseconds
	secret []byte

	mu  sync.RWMutex // readers hold it for mem; the writer takes it to apply a commit
	mem *memory

	queue   queueOfJobs
	stopped chan struct{}
	health  health

	backups backups

	revived atomic.Pointer[map[uuid.UUID]*sale.Order] // orders as they were before the commit under way, see coldOrder

	watch watchers
	freed chan struct{} // of one: a slot is free and somebody waits
	offer func([]outbox.Message)

	opening     func(*bolt.Tx) error // the first write, while it could not be made
	noted       time.Duration        // Store.ahead as the file has it
	interrupted bool                 // the run before was killed, or lost its power: what it did may still go on elsewhere
	served      bool                 // the outbox was handed over
	left        []uint64             // messages whose deliveries may go on after the end
	leaseTime   time.Duration
	owed        owed      // from runs before this one, see takeOver
	findings    []Finding // what was wrong with the file at the start
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
	if err := upgrade(db); err != nil {
		_ = db.Close()
		return nil, err
	}
	s := &Store{db: db, log: o.Log, clock: newClock(o, o.Log), stopped: make(chan struct{}), freed: make(chan struct{}, 1), leaseTime: o.Lease}
	s.file, _ = os.Stat(db.Path())
	s.queue.init()
	s.watch.init()
	s.backups.init()
	if err := guarded(db.Path(), s.load); err != nil {
		_ = db.Close()
		return nil, err
	}
	s.settle(dir)
	if h := diskHazard(dir); h != "" {
		s.log.Warn(h, "data", dir)
	}
	go s.write()
	return s, nil
}

// Close waits for the transactions under way and closes the file. Later ones
// are refused. A backup under way is broken off.
func (s *Store) Close() error {
	s.backups.close()
	s.queue.close()
	<-s.stopped
	s.end()
	return s.db.Close()
}

// Secret is the house's master secret, made with the file: 32 bytes.
func (s *Store) Secret() []byte { return s.secret }

// Now is the store's time as transactions see it.
func (s *Store) Now() time.Time { return s.now() }

// now is the present in whole milliseconds, never before the newest transaction.
func (s *Store) now() time.Time {
	return time.UnixMilli(max(s.clock.now().UnixMilli(), s.last.Load())).UTC()
}

// ahead is how far the wall clock is ahead of the store's time.
func (s *Store) ahead() time.Duration {
	return time.Duration(s.clock.ahead.Load()).Round(time.Millisecond)
}

// View runs fn over the committed state. Views run side by side.
func (s *Store) View(fn func(sale.Reader) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return fn(&reader{memory: s.mem, at: s.now(), ahead: s.ahead(), file: s})
}
