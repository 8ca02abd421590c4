package web

import (
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"foyer/queue"
	"foyer/sale"
)

const (
	maxStreams    = 20_000           // open at once; each costs a goroutine and a socket
	maxOwnStreams = 8                // of one visitor: a tab each
	heartbeat     = 15 * time.Second // a comment, so that proxies and clients see life
	safetyLook    = 5 * time.Second  // a look without a wake-up: deadlines pass without a commit
	writePatience = 10 * time.Second // for a client that reads nothing
	quickGap      = 250 * time.Millisecond
	slowGap       = time.Second // between looks far back in the line
	nearRank      = 100

	// Before a client comes back: after a cut that nobody told of, and after an end that was.
	retryLeast     = time.Second
	retrySpread    = 3 * time.Second
	farewellSpread = 7 * time.Second
)

var streamHeaders = map[string][]string{
	headerContentType:   {"text/event-stream"},
	headerCacheControl:  {"no-store, no-transform"},
	"X-Accel-Buffering": {"no"}, // nginx
}

// stream is one open text/event-stream.
type stream struct {
	w   http.ResponseWriter
	rc  *http.ResponseController
	buf []byte
	seq int
}

// streams counts what is open, in all and by visitor.
type streams struct {
	mu   sync.Mutex
	all  int
	each map[uuid.UUID]int
}

// enter counts one more stream of a visitor; staff, who are uuid.Nil, have no
// limit of their own.
func (n *streams) enter(visitor uuid.UUID) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.all >= maxStreams {
		return errStreamsFull
	}
	if visitor != uuid.Nil {
		if n.each[visitor] >= maxOwnStreams {
			return errOwnStreams
		}
		if n.each == nil {
			n.each = map[uuid.UUID]int{}
		}
		n.each[visitor]++
	}
	n.all++
	return nil
}

func (n *streams) leave(visitor uuid.UUID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all--
	if visitor == uuid.Nil {
		return
	}
	if n.each[visitor]--; n.each[visitor] == 0 {
		delete(n.each, visitor)
	}
}

// stream answers with events until the client goes, the server ends its streams
// or look says that it is over; see follow. A HEAD gets the headers alone.
func (s *Server) stream(c echo.Context, event string, visitor uuid.UUID, look func(*stream) (gap time.Duration, over bool)) error {
	head := c.Request().Method == http.MethodHead
	if !head {
		if err := s.streams.enter(visitor); err != nil {
			return err
		}
		defer s.streams.leave(visitor)
	}
	h := c.Response().Header()
	for k, v := range streamHeaders {
		h[k] = v
	}
	c.Response().WriteHeader(http.StatusOK)
	if head {
		return nil
	}
	st := &stream{w: c.Response(), rc: http.NewResponseController(c.Response())}
	st.retry(retryLeast, retrySpread)
	s.follow(c.Request().Context().Done(), st, event, look)
	return nil
}

// retry tells the client how long to wait before it comes back, somewhere in
// the spread, so that not all come back at once when all are cut off at once.
func (st *stream) retry(least, spread time.Duration) {
	st.buf = strconv.AppendInt(append(st.buf, "retry: "...), (least + rand.N(spread)).Milliseconds(), 10)
	st.buf = append(st.buf, "\n\n"...)
}

// event adds an event whose data is one line.
func (st *stream) event(name string, data []byte) {
	st.seq++
	b := append(append(st.buf, "event: "...), name...)
	b = strconv.AppendInt(append(b, "\nid: "...), int64(st.seq), 10)
	b = append(append(b, "\ndata: "...), data...)
	st.buf = append(b, "\n\n"...)
}

func (st *stream) comment() { st.buf = append(st.buf, ": here\n\n"...) }

// flush sends what was added. An error means that the client is gone.
func (st *stream) flush() error {
	if err := st.rc.SetWriteDeadline(time.Now().Add(writePatience)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := st.w.Write(st.buf); err != nil {
		return err
	}
	st.buf = st.buf[:0]
	return st.rc.Flush()
}

// follow sends events until the client is gone, the server ends its streams or
// look says that it is over. look adds what changed; it is called at once, after
// each change of the event but not before gap, and now and then without one.
func (s *Server) follow(gone <-chan struct{}, st *stream, event string, look func(*stream) (gap time.Duration, over bool)) {
	beats := time.NewTicker(heartbeat)
	defer beats.Stop()
	beat := func() error {
		st.comment()
		return st.flush()
	}
	for {
		changed := s.office.Changed(event) // before looking, so that no change is missed
		gap, over := look(st)
		if len(st.buf) > 0 && st.flush() != nil || over {
			return
		}
		if !s.rest(gone, changed, gap, beats.C, beat) {
			s.farewell(st)
			return
		}
	}
}

// farewell spreads out those who come back after a planned end. Twenty thousand
// streams that end within a moment should not be back within one.
func (s *Server) farewell(st *stream) {
	select {
	case <-s.done:
		st.retry(retryLeast, farewellSpread)
		_ = st.flush() // who is gone needs none
	default:
	}
}

// rest waits for a change and for gap, or for safetyLook; false means that the
// stream is over. beat is called at each heartbeat.
func (s *Server) rest(gone, changed <-chan struct{}, gap time.Duration, beats <-chan time.Time, beat func() error) bool {
	wake, pause := time.NewTimer(safetyLook), time.NewTimer(gap)
	defer wake.Stop()
	defer pause.Stop()
	paused := pause.C
	for paused != nil || changed != nil {
		select {
		case <-gone:
			return false
		case <-s.done:
			return false
		case <-beats:
			if beat() != nil {
				return false
			}
		case <-paused:
			paused = nil
		case <-changed:
			changed = nil
		case <-wake.C:
			return true
		}
	}
	return true
}

// streamPlace shows one place as it moves. Being connected counts as being there.
// After the last event, NOT_ENTERED, the stream ends; asking again is a 404.
func (s *Server) streamPlace(c echo.Context) error {
	visitor, err := s.need(c)
	if err != nil {
		return err
	}
	event, last := param(c, "event"), sale.PlaceView{}
	place, err := s.placeID(c)
	if err != nil {
		return err
	}
	v, err := s.office.PollPlace(event, visitor, place)
	if err != nil {
		return err
	}
	var data []byte
	return s.stream(c, event, visitor, func(st *stream) (time.Duration, bool) {
		v, err = s.office.PollPlace(event, visitor, place)
		if errors.Is(err, sale.ErrNotEntered) || errors.Is(err, sale.ErrNoSuchEvent) {
			gone := sale.PlaceView{Status: sale.NotEntered, Now: v.Now, CalledAt: v.CalledAt, KeptUntil: v.KeptUntil}
			if gone.Now.IsZero() {
				gone.Now = time.Now()
			}
			st.event("place", appendPlace(data[:0], &gone, 0))
			return 0, true
		}
		if err == nil && !samePlace(v, last) { // any other error: look again later
			last = v
			data = appendPlace(data[:0], &v, queue.Jitter(v.Poll, rand.Float64()))
			st.event("place", data)
		}
		if v.Rank > nearRank {
			return slowGap, false
		}
		return quickGap, false
	})
}

// samePlace compares what a visitor would notice.
func samePlace(a, b sale.PlaceView) bool {
	a.Now, a.Poll, a.OpensAt = b.Now, b.Poll, b.OpensAt
	return a == b
}

// streamLive shows staff the event's numbers as they change.
func (s *Server) streamLive(c echo.Context, _ *sale.Key) error {
	event := param(c, "event")
	if _, _, err := s.office.Event(event); err != nil {
		return err
	}
	return s.stream(c, event, uuid.Nil, func(st *stream) (time.Duration, bool) {
		doc, err := s.live(event)
		if errors.Is(err, sale.ErrNoSuchEvent) {
			return 0, true
		}
		if err == nil {
			st.event("live", doc)
		}
		return slowGap, false
	})
}
