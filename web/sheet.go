package web

import (
	"sync"
	"sync/atomic"
	"time"

	"foyer/sale"
)

const (
	sheetAge = time.Second // how old a shared document may be
	// After a change a document is rendered before its time, so that who just
	// acted sees it, as long as that costs little: all in all 1/sheetShare of the
	// time, with sheetBurst of it at once.
	sheetShare = 20
	sheetBurst = 50 * time.Millisecond
)

var sheetCaching = []string{"public, max-age=1, s-maxage=1, stale-while-revalidate=5"}

// sheet is a document that is the same for everybody, ready to be sent.
type sheet struct {
	*document
	house   sale.SeatsView  // what it shows, if it shows the seats
	at      time.Time       // when it was rendered
	debt    time.Duration   // time spent on rendering that is not yet paid off
	due     time.Time       // from when on it may be rendered again after a change
	changed <-chan struct{} // closed when what it shows has changed
}

// fresh tells whether the sheet may be shown at now.
func (d *sheet) fresh(now time.Time) bool {
	if now.Sub(d.at) >= sheetAge {
		return false
	}
	select {
	case <-d.changed:
		return now.Before(d.due)
	default:
		return true
	}
}

// sheets keeps one sheet per event. Readers share it without a lock; one of them
// renders the next.
type sheets struct{ byEvent sync.Map } // string -> *sheetSlot

type sheetSlot struct {
	now atomic.Pointer[sheet]
	mu  sync.Mutex // held to render
}

// find gives the event's sheet. render is called when it is time. known is asked
// about events without a sheet, so that names that clients make up leave no trace
// here or with changed.
func (s *sheets) find(event string, known func() error, changed func(string) <-chan struct{}, render func() (*sheet, error)) (*sheet, error) {
	v, ok := s.byEvent.Load(event)
	if !ok {
		if err := known(); err != nil {
			return nil, err
		}
		v, _ = s.byEvent.LoadOrStore(event, &sheetSlot{})
	}
	slot := v.(*sheetSlot)
	if d := slot.now.Load(); d != nil && d.fresh(time.Now()) {
		return d, nil
	}
	d, err := slot.next(event, changed, render)
	if err != nil {
		s.byEvent.Delete(event)
	}
	return d, err
}

func (s *sheetSlot) next(event string, changed func(string) <-chan struct{}, render func() (*sheet, error)) (*sheet, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	start := time.Now()
	old := s.now.Load()
	if old != nil && old.fresh(start) { // a neighbour did it
		return old, nil
	}
	ch := changed(event) // before looking, so that no change is missed
	d, err := render()
	if err != nil {
		return nil, err
	}
	d.at, d.changed, d.debt = start, ch, time.Since(start)
	if old != nil {
		d.debt += max(0, old.debt-start.Sub(old.at)/sheetShare)
	}
	d.due = start.Add(max(0, d.debt-sheetBurst) * sheetShare)
	s.now.Store(d)
	return d, nil
}

func newSheet(body, packed []byte) *sheet {
	return &sheet{document: newDocument("application/json", hashOf(body), body, packed)}
}
