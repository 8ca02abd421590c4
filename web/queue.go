package web

import (
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"foyer/queue"
	"foyer/sale"
)

// This is the hot path: a hundred thousand people ask for their place. It
// encodes by hand into a reused buffer and writes once.

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 768); return &b }}

func (s *Server) join(c echo.Context) error {
	var body struct {
		Proof string `json:"proof"` // of what the event asks, base64
		Code  string `json:"code"`  // as it was given to the visitor
	}
	if c.Request().ContentLength != 0 {
		if err := read(c, &body); err != nil {
			return err
		}
	}
	visitor, err := s.need(c)
	if err != nil {
		return err
	}
	v, created, err := s.joinLine(c, visitor, body.Code, body.Proof)
	if err != nil {
		return err
	}
	if created {
		return writePlace(c, http.StatusCreated, v)
	}
	return writePlace(c, http.StatusOK, v)
}

func (s *Server) ownPlace(c echo.Context) error {
	visitor, err := s.need(c)
	if err != nil {
		return err
	}
	v, err := s.office.Poll(param(c, "event"), visitor)
	if err != nil {
		return err
	}
	return writePlace(c, http.StatusOK, v)
}

func (s *Server) showPlace(c echo.Context) error {
	visitor, place, err := s.needPlace(c)
	if err != nil {
		return err
	}
	v, err := s.office.PollPlace(param(c, "event"), visitor, place)
	if err != nil {
		return err
	}
	return writePlace(c, http.StatusOK, v)
}

// needPlace reads who asks and about which place. The credential is the proof that
// it is his; to everybody else it is not there.
func (s *Server) needPlace(c echo.Context) (visitor, place uuid.UUID, err error) {
	if visitor, err = s.need(c); err == nil {
		place, err = s.placeID(c)
	}
	return visitor, place, err
}

// placeID reads the queueId; what is none is a place that nobody has.
func (s *Server) placeID(c echo.Context) (uuid.UUID, error) {
	place, ok := id(c, "queueId")
	if ok && place != uuid.Nil {
		return place, nil
	}
	if _, _, err := s.office.Event(param(c, "event")); err != nil {
		return place, err
	}
	return place, sale.ErrNotEntered
}

func (s *Server) leave(c echo.Context) error {
	if err := readNothing(c); err != nil {
		return err
	}
	visitor, place, err := s.needPlace(c)
	if err != nil {
		return err
	}
	if err := s.office.Leave(param(c, "event"), visitor, place); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// joinLine joins within the limits, with a code and with the proof that the event
// asks for, "" for none. An address that has shown too many wrong codes is refused
// whatever it shows, as with keys.
func (s *Server) joinLine(c echo.Context, visitor uuid.UUID, code, proof string) (v sale.PlaceView, created bool, err error) {
	if err := s.limitedJoin(c, visitor); err != nil {
		return v, false, err
	}
	from := customer(s.client(c.Request()))
	if strings.TrimSpace(code) != "" {
		if d := s.wrongCodes.full(from, time.Now()); d > 0 {
			return v, false, tooMany("Too many wrong codes came from your address. Wait a moment and try again.", d)
		}
	}
	if err := s.prove(c, visitor, proof); err != nil {
		return v, false, err
	}
	v, created, err = s.office.JoinWith(param(c, "event"), visitor, code)
	if errors.Is(err, sale.ErrBadCode) {
		s.wrongCodes.wait(from, time.Now())
	}
	return v, created, err
}

func writePlace(c echo.Context, status int, v sale.PlaceView) error {
	poll := queue.Jitter(v.Poll, rand.Float64())
	buf := buffers.Get().(*[]byte)
	body := appendPlace((*buf)[:0], &v, poll)
	w := c.Response()
	h := w.Header()
	h[headerContentType] = typeJSON
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	if v.Status == sale.Waiting || v.Status == sale.Lobby {
		h[echo.HeaderRetryAfter] = []string{strconv.Itoa(max(1, wholeSeconds(poll)))}
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // an error here: the client is gone
	*buf = body
	buffers.Put(buf)
	return nil
}

// appendPlace appends a place as JSON. Nothing in it needs escaping: ids, numbers,
// times, tokens (base64url) and our own words.
func appendPlace(b []byte, v *sale.PlaceView, poll time.Duration) []byte {
	b = append(append(b, `{"status":"`...), v.Status...)
	if v.Status == sale.NotEntered {
		b = append(b, '"')
		if !v.CalledAt.IsZero() {
			b = appendTime(append(b, `,"aside":{"calledAt":"`...), v.CalledAt)
			b = append(appendTime(append(b, `","keptUntil":"`...), v.KeptUntil), `"}`...)
		}
		return appendNow(b, v.Now)
	}
	b = appendID(append(b, `","queueId":"`...), v.QueueID)
	if v.Number == 0 { // not drawn yet
		b = append(b, `","number":null,"rank":null`...)
	} else {
		b = strconv.AppendUint(append(b, `","number":`...), v.Number, 10)
		b = strconv.AppendInt(append(b, `,"rank":`...), int64(v.Rank), 10)
	}
	if v.Class == sale.Member {
		b = append(b, `,"class":"member"`...)
	}
	b = strconv.AppendInt(append(b, `,"currentTotalWaitingCount":`...), int64(v.Waiting), 10)
	if sale.NoWait(v.Slower) {
		b = append(b, `,"estimatedWaitSeconds":null,"estimatedWaitRange":null`...)
	} else {
		b = strconv.AppendInt(append(b, `,"estimatedWaitSeconds":`...), int64(v.Wait), 10)
		b = strconv.AppendInt(append(b, `,"estimatedWaitRange":{"low":`...), int64(v.WaitLow), 10)
		b = append(strconv.AppendInt(append(b, `,"high":`...), int64(v.WaitHigh), 10), '}')
	}
	b = strconv.AppendInt(append(b, `,"pollingIntervalSeconds":`...), int64(max(1, wholeSeconds(v.Poll))), 10)
	b = strconv.AppendInt(append(b, `,"pollAfterMillis":`...), poll.Milliseconds(), 10)
	if v.Slower != "" {
		b = append(append(append(b, `,"estimateReason":"`...), v.Slower...), '"')
	}
	if v.Chance.Level != "" {
		b = append(append(b, `,"chance":{"level":"`...), v.Chance.Level...)
		b = strconv.AppendInt(append(b, `","seatsLeft":`...), int64(v.Chance.Left), 10)
		b = append(strconv.AppendInt(append(b, `,"seatsAheadLikely":`...), int64(v.Chance.Likely), 10), '}')
	}
	switch v.Status {
	case sale.Lobby:
		if v.OpensAt != nil {
			b = append(appendTime(append(b, `,"opensAt":"`...), *v.OpensAt), '"')
		}
	case sale.Ready:
		b = append(append(b, `,"entryToken":"`...), v.Token...)
		b = appendTime(append(b, `","entryTokenExpiresAt":"`...), v.TokenExpiresAt)
		b = append(append(b, `","tokenState":"`...), v.TokenState...)
		b = append(b, '"')
		if v.OrderID != uuid.Nil {
			b = append(appendID(append(b, `,"orderId":"`...), v.OrderID), '"')
		}
	}
	if v.Draw != nil {
		b = appendDraw(b, v.Draw)
	}
	return appendNow(b, v.Now)
}

// appendNow ends an object with the server's time.
func appendNow(b []byte, now time.Time) []byte {
	b = append(b, `,"serverTime":"`...)
	return append(appendTime(b, now), `"}`...)
}

func appendID(b []byte, u uuid.UUID) []byte {
	const digits = "0123456789abcdef"
	for i, x := range u {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			b = append(b, '-')
		}
		b = append(b, digits[x>>4], digits[x&15])
	}
	return b
}
