package store

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"

	"foyer/sale"
)

// maxBatch bounds the functions that share one commit, and so its latency.
const maxBatch = 4096

// job is one caller's function on its way through the writer.
type job struct {
	fn  func(sale.Tx) error
	err error
}

// batch is the jobs that share a commit; done is closed once for all of them.
type batch struct {
	jobs []*job
	done chan struct{}
}

// queueOfJobs gathers what arrives while the writer is busy with the commit
// before. There is no lingering: an idle writer takes a lone job at once.
type queueOfJobs struct {
	mu     sync.Mutex
	next   *batch
	full   []*batch
	wake   chan struct{} // holds one token when there may be work
	closed bool
}

func (q *queueOfJobs) init() {
	q.wake = make(chan struct{}, 1)
	q.next = &batch{done: make(chan struct{})}
}

func (q *queueOfJobs) add(j *job) (done <-chan struct{}, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, false
	}
	b := q.next
	b.jobs = append(b.jobs, j)
	if len(b.jobs) == maxBatch {
		q.full = append(q.full, b)
		q.next = &batch{done: make(chan struct{})}
	}
	q.poke()
	return b.done, true
}

func (q *queueOfJobs) poke() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *queueOfJobs) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.poke()
}

// take gives the next batch, or nil; over tells that none will ever come.
func (q *queueOfJobs) take() (b *batch, over bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.full) > 0 {
		b = q.full[0]
		q.full = q.full[1:]
		return b, false
	}
	if len(q.next.jobs) == 0 {
		return nil, q.closed
	}
	b = q.next
	q.next = &batch{done: make(chan struct{}), jobs: make([]*job, 0, len(b.jobs))}
	return b, false
}

// Update runs fn in the next commit and returns when its changes are on disk,
// or with fn's error when fn refused. fn sees everything committed before and
// every function before it in the same commit.
func (s *Store) Update(fn func(sale.Tx) error) error {
	if err := s.health.get(); err != nil {
		return unavailable(err)
	}
	j := &job{fn: fn}
	done, ok := s.queue.add(j)
	if !ok {
		return unavailable(errors.New("foyer is stopping"))
	}
	<-done
	return j.err
}

func unavailable(cause error) error {
	r := *sale.ErrUnavailable
	r.Detail = "Foyer cannot write at present (" + cause.Error() + "). Nothing was changed; try again in a moment."
	return &r
}

// unsure answers those whose commit failed in such a way that nobody knows what
// the disk kept of it.
func unsure(cause error) error {
	r := *sale.ErrUnavailable
	r.Detail = "Foyer cannot write (" + cause.Error() + "). Whether this was done shows once foyer runs again; look before you repeat it."
	return &r
}

// write is the writer's loop: the only code that changes the store.
func (s *Store) write() {
	defer close(s.stopped)
	t := newTx(s)
	for {
		b, over := s.queue.take()
		switch {
		case b != nil:
			s.run(t, b)
			edge(edgeAnswered)
		case over:
			return
		default:
			s.waitForWork()
		}
	}
}

// waitForWork sleeps until there is work, or, while writing fails, until it is
// time to try whether it works again.
func (s *Store) waitForWork() {
	if s.health.get() == nil {
		<-s.queue.wake
		return
	}
	probe := time.NewTimer(time.Second)
	defer probe.Stop()
	select {
	case <-s.queue.wake:
	case <-probe.C:
		s.probe()
	}
}

// run decides a batch, puts it on disk and lets those who wait for it go on. A panic
// ends the program, and nobody goes on: what was not acknowledged need not be there.
func (s *Store) run(t *tx, b *batch) {
	edge(edgeTaken)
	for jobs := b.jobs; len(jobs) > 0; {
		if err := s.health.get(); err != nil { // also for those who only read: the file may show what was answered as failed
			refuse(jobs, unavailable(err))
			break
		}
		n := s.decide(t, jobs)
		s.finish(t, jobs[:n])
		jobs = jobs[n:]
	}
	close(b.done)
}

// decide runs the functions that share a commit and tells how many those are:
// all, or those up to one that removes an event or wants to be alone. What comes
// after that goes into a commit of its own: rows and shadows go by an event's id,
// and an event that is made again under the same id must not find what was of the
// old one.
func (s *Store) decide(t *tx, jobs []*job) (n int) {
	t.begin(s.now(), s.ahead())
	for n < len(jobs) && len(t.removed.batch) == 0 && !t.alone {
		j := jobs[n]
		if j.err = s.call(t, j.fn); j.err != nil {
			t.drop()
		} else {
			t.keep()
		}
		if errors.Is(j.err, errCrowded) {
			break // it comes first in the next commit
		}
		n++
		t.ran = n
	}
	return n
}

// finish puts what the functions wrote on disk and then into memory, or tells
// all of them why not.
func (s *Store) finish(t *tx, jobs []*job) {
	if t.dirty() {
		edge(edgeDecided)
		s.revived.Store(s.reviving(t))
		if err := s.commit(t); err != nil {
			answer := unavailable
			if s.health.final() {
				answer = unsure
			}
			refuse(jobs, answer(err))
			t.reset()
			return
		}
		edge(edgeCommitted)
	}
	s.last.Store(t.at.UnixMilli())
	s.apply(t)
	s.revived.Store(nil)
}

func refuse(jobs []*job, err error) {
	for _, j := range jobs {
		j.err = err
	}
}

// call runs one function. A panic is that function's error, nobody else's.
func (s *Store) call(t *tx, fn func(sale.Tx) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("panic in a transaction", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = fmt.Errorf("store: panic in a transaction: %v", p)
		}
	}()
	return fn(t)
}

var errRow = errors.New("something in it cannot be written down; the log says what")

// writeRows writes the rows of a batch. A row that cannot be encoded is an error of the
// commit, which then changes nothing.
func (s *Store) writeRows(t *tx, b *bolt.Tx) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("panic in a commit", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = errRow
		}
	}()
	return t.writeRows(b)
}

// commit puts the batch on disk. When that fails nothing has happened in memory,
// nor on disk, and the store stops taking writes until a probe succeeds; after a
// failed sync it stops for good, because nobody knows what the disk kept
// (Rebello et al., Can Applications Recover from fsync Failures?, USENIX ATC
// 2020).
func (s *Store) commit(t *tx) error {
	if err := s.present(); err != nil {
		s.health.set(err, false)
		s.log.Error("commit refused", "error", err.Error())
		return err
	}
	id := 0
	err := s.db.Update(func(tx *bolt.Tx) error {
		id = tx.ID()
		if err := s.noteStep(tx, t.ahead); err != nil {
			return err
		}
		return s.writeRows(t, tx)
	})
	switch {
	case err == nil:
		s.noted = t.ahead
		return nil
	case errors.Is(err, errRow): // before anything went to the file
		return err
	}
	err = s.fails(err, id)
	s.log.Error("commit failed", "error", err.Error(), "final", s.health.final())
	return err
}

// fails notes why the transaction with that number did not come about, and what
// is to be done.
func (s *Store) fails(err error, id int) error {
	final := !mayRecover(err) || s.shows(id)
	if final {
		err = fmt.Errorf("the disk did not confirm a write: %w; stop foyer, run foyer check on its file, and start foyer again", err)
	} else {
		err = fmt.Errorf("%w; free some space on the disk, and foyer goes on by itself", err)
	}
	s.health.set(err, final)
	return err
}

// shows tells whether the file shows a transaction that failed: the write of its
// last page was refused, but not before the page was there in part, or stood in
// the page cache. Going on from there would make what was refused come true.
func (s *Store) shows(id int) bool {
	newest := id
	_ = s.db.View(func(tx *bolt.Tx) error { newest = tx.ID(); return nil })
	return newest >= id
}

// mayRecover tells errors that leave the file as it was (a write or a growth
// refused, most often for want of space) from those after which the file handle
// must not be trusted: a failed sync is one of these, even when it says that
// there is no space, and so is a file system that has become read-only, as Linux
// makes it after errors of the disk.
func mayRecover(err error) bool {
	var path *fs.PathError
	refused := errors.As(err, &path) && path.Op == "write" || strings.Contains(err.Error(), "file resize error")
	return refused && !says(err, syscall.EIO) && !says(err, syscall.EROFS)
}

// says tells whether an error is that of the system, also where bbolt has put it
// into words.
func says(err error, no syscall.Errno) bool {
	return errors.Is(err, no) || strings.Contains(err.Error(), no.Error())
}

// probe tries whether writing works again.
func (s *Store) probe() {
	if s.health.final() {
		return
	}
	if err := s.present(); err != nil {
		s.health.set(err, false)
		return
	}
	id := 0
	err := s.db.Update(func(tx *bolt.Tx) error {
		id = tx.ID()
		if s.opening != nil {
			if err := s.opening(tx); err != nil {
				return err
			}
		}
		return tx.Bucket(bucketMeta).Put(keyProbe, []byte(s.now().Format(time.RFC3339)))
	})
	if err != nil {
		_ = s.fails(err, id)
		return
	}
	s.opening = nil
	s.health.set(nil, false)
	s.log.Info("writing works again")
}

// Ready is nil while writes work, and otherwise the reason why not.
func (s *Store) Ready() error { return cmp.Or(s.health.get(), s.present()) }

// health remembers why writing does not work.
type health struct{ p atomic.Pointer[ailment] }

type ailment struct {
	err   error
	final bool
}

func (h *health) get() error {
	if a := h.p.Load(); a != nil {
		return a.err
	}
	return nil
}

func (h *health) final() bool {
	a := h.p.Load()
	return a != nil && a.final
}

func (h *health) set(err error, final bool) {
	if err == nil {
		h.p.Store(nil)
		return
	}
	h.p.Store(&ailment{err, final})
}
