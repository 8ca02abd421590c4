package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"foyer/queue"
	"foyer/sale"
)

const (
	maxStreams    = 20_000           // open at once; each costs two small goroutines and a socket
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
	w        io.Writer
	deadline func(time.Time) error // of writing
	push     func() error          // sends what w holds back; nil: it holds nothing back
	buf      []byte
	seq      int
}

// streams counts what is open, in all and by visitor.
type streams struct {
	mu   sync.Mutex
	all  int
	each map[uuid.UUID]int
	idle []chan struct{} // closed when none is open
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
	if n.all == 0 {
		for _, ch := range n.idle {
			close(ch)
		}
		n.idle = nil
	}
	if visitor == uuid.Nil {
		return
	}
	if n.each[visitor]--; n.each[visitor] == 0 {
		delete(n.each, visitor)
	}
}

// whenIdle is closed when no stream is open.
func (n *streams) whenIdle() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	ch := make(chan struct{})
	if n.all == 0 {
		close(ch)
	} else {
		n.idle = append(n.idle, ch)
	}
	return ch
}

// AwaitStreams waits until the streams that [Server.EndStreams] ends have said
// goodbye. [http.Server.Shutdown] does not: it does not know them.
func (s *Server) AwaitStreams(ctx context.Context) error {
	select {
	case <-s.streams.whenIdle():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stream answers with events until the client goes, the server ends its streams
// or look says that it is over; see follow. A HEAD gets the headers alone. Where
// it can it returns at once, and look is called after that: it must not keep c.
func (s *Server) stream(c echo.Context, event string, visitor uuid.UUID, look func(*stream) (gap time.Duration, over bool)) error {
	head := c.Request().Method == http.MethodHead
	w := c.Response()
	for k, v := range streamHeaders {
		w.Header()[k] = v
	}
	if head {
		w.WriteHeader(http.StatusOK)
		return nil
	}
	if err := s.streams.enter(visitor); err != nil {
		for k := range streamHeaders {
			delete(w.Header(), k)
		}
		w.Header()[headerCacheControl] = noStore
		return err
	}
	if conn, st := detach(c); conn != nil {
		go s.followAlone(conn, st, event, visitor, look)
		return nil
	}
	defer s.streams.leave(visitor)
	w.WriteHeader(http.StatusOK)
	rc := http.NewResponseController(w)
	st := &stream{w: w, deadline: rc.SetWriteDeadline, push: rc.Flush}
	st.retry(retryLeast, retrySpread)
	s.follow(c.Request().Context().Done(), st, event, look)
	return nil
}

// detach takes the connection away from net/http, whose buffers and stack cost
// several times what a stream needs: ten thousand must fit into 400 MB. It gives
// nil where that cannot be, as with HTTP/2.
func detach(c echo.Context) (net.Conn, *stream) {
	w, r := c.Response(), c.Request()
	if !r.ProtoAtLeast(1, 1) || r.ProtoMajor != 1 {
		return nil, nil
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, nil
	}
	w.Status, w.Committed = http.StatusOK, true
	_ = conn.SetDeadline(time.Time{}) // the server's time-outs are for requests
	var head bytes.Buffer
	head.WriteString("HTTP/1.1 200 OK\r\nConnection: close\r\nDate: " + time.Now().UTC().Format(http.TimeFormat) + "\r\n")
	_ = w.Header().Write(&head) // a Buffer takes everything
	head.WriteString("\r\n")
	st := &stream{w: conn, deadline: conn.SetWriteDeadline, buf: head.Bytes()}
	st.retry(retryLeast, retrySpread)
	return conn, st
}

// followAlone is follow on a connection of our own.
func (s *Server) followAlone(conn net.Conn, st *stream, event string, visitor uuid.UUID, look func(*stream) (gap time.Duration, over bool)) {
	defer func() { _ = conn.Close() }()
	defer s.streams.leave(visitor)
	defer func() {
		if v := recover(); v != nil {
			s.log.Error("panic", "in", "a stream of "+event, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
		}
	}()
	gone := make(chan struct{})
	go func() { // a client says nothing more; the end of its words is the end
		defer close(gone)
		var ignored [16]byte
		for {
			if _, err := conn.Read(ignored[:]); err != nil {
				return
			}
		}
	}()
	s.follow(gone, st, event, look)
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
	if err := st.deadline(time.Now().Add(writePatience)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := st.w.Write(st.buf); err != nil {
		return err
	}
	if st.buf = st.buf[:0]; st.push == nil {
		return nil
	}
	return st.push()
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
	visitor, place, err := s.needPlace(c)
	if err != nil {
		return err
	}
	event, last := param(c, "event"), sale.PlaceView{}
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
