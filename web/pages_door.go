package web

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"foyer/sale"
)

// doorPage lets the door choose its event.
func (s *Server) doorPage(c echo.Context, by *sale.Key) error {
	return s.render(c, http.StatusOK, "doors", struct {
		staffPage
		Events []deskEvent
	}{staffFrame(c, by, "Door – Foyer"), s.deskEvents()})
}

// doorAnswer is what the door reads about one ticket.
type doorAnswer struct {
	Good           bool
	Word           string
	Seat, Category string
	Name           string
	Why            []string
}

// The answers that an address may ask for; what they say is looked up, so that
// no address can make up a ticket.
const (
	doorIn      = "in"
	doorUsed    = "used"
	doorVoid    = "void"
	doorOther   = "other"   // of another event
	doorUnknown = "unknown" // no ticket
	doorEmpty   = "empty"   // nothing was typed
)

// doorFresh is how long the page says that a ticket was let in just now: a page
// that is loaded again later must not look like a new guest.
const doorFresh = time.Minute

func (s *Server) checkInPage(c echo.Context, by *sale.Key) error {
	e, _, err := s.office.Event(param(c, "event"))
	if err != nil {
		return err
	}
	in, valid, err := s.office.Turnout(e.ID)
	if err != nil {
		return err
	}
	once, err := uuid.NewRandom()
	if err != nil {
		return err
	}
	a, err := s.doorAnswer(c.QueryParam("a"), c.QueryParam("t"), e)
	if err != nil {
		return err
	}
	v := struct {
		staffPage
		Event     *sale.Event
		Starts    string
		Answer    *doorAnswer
		In, Valid int
		Once      string
	}{staffFrame(c, by, "Door – "+e.Name), e, zoned(e.StartsAt, e.TimeZone), a, in, valid, once.String()}
	if a != nil {
		v.Title = strings.TrimSpace(a.Word+" "+a.Seat) + " – door of " + e.Name
	}
	return s.render(c, http.StatusOK, "door", v)
}

// checkInForm lets a ticket in and shows the answer on a page of its own, so that
// loading again checks nothing in.
func (s *Server) checkInForm(c echo.Context, by *sale.Key) error {
	event, code := param(c, "event"), strings.TrimSpace(c.FormValue("code"))
	if _, _, err := s.office.Event(event); err != nil {
		return err
	}
	answer := func(word string, o *sale.OrderView, seat int) error {
		q := url.Values{"a": {word}}
		if o != nil {
			q.Set("t", o.ID.String()+"."+strconv.Itoa(seat))
		}
		return seeOther(c, "/door/"+url.PathEscape(event)+"?"+q.Encode())
	}
	if code == "" {
		return answer(doorEmpty, nil, 0)
	}
	once := c.FormValue("once")
	_, err := s.office.CheckIn(actor(by), event, code)
	o, seat, found := s.office.TicketOf(code)
	switch {
	case err == nil && found:
		s.entries.note(once, o.Seats[seat].Ticket, time.Now())
		return answer(doorIn, o, seat)
	case errors.Is(err, sale.ErrTicketUsed) && found:
		if s.entries.was(once, o.Seats[seat].Ticket, time.Now()) {
			return answer(doorIn, o, seat)
		}
		return answer(doorUsed, o, seat)
	case errors.Is(err, sale.ErrTicketVoid) && found:
		return answer(doorVoid, o, seat)
	case errors.Is(err, sale.ErrNoSuchTicket) && found:
		return answer(doorOther, o, seat)
	case errors.Is(err, sale.ErrNoSuchTicket):
		return answer(doorUnknown, nil, 0)
	}
	return err
}

// doorAnswer puts an answer in words; nil when there is none to give.
func (s *Server) doorAnswer(word, ticket string, e *sale.Event) (*doorAnswer, error) {
	switch word {
	case doorEmpty:
		return &doorAnswer{Word: "No code", Why: []string{"Nothing was typed or scanned. Try again."}}, nil
	case doorUnknown:
		return &doorAnswer{Word: "Stop", Why: []string{"This code is no ticket of this house. Scan it again; if it stays so, send the guest to the box office."}}, nil
	}
	o, i, ok := s.doorTicket(ticket)
	if !ok {
		return nil, nil
	}
	seat := o.Seats[i]
	a := &doorAnswer{Word: "Stop", Seat: seat.Label, Category: seat.Category, Name: o.Buyer.Name}
	switch {
	case o.Event != e.ID:
		if word != doorOther {
			return nil, nil
		}
		other, _, err := s.office.Event(o.Event)
		if err != nil {
			return nil, err
		}
		a.Why = []string{"This ticket is for another event: " + other.Name + "."}
		if other.StartsAt != nil {
			a.Why = append(a.Why, "That is on "+zoned(other.StartsAt, other.TimeZone)+".")
		}
	case !o.Valid(i):
		a.Why = []string{"This ticket was refunded and is not valid any more."}
		for _, r := range o.Refunds {
			if r.ID == seat.Refund {
				a.Why = append(a.Why, "Refunded on "+dayTime(r.At, e.TimeZone)+".")
			}
		}
	case word == doorIn && o.Now.Sub(seat.UsedAt) < doorFresh:
		a.Good, a.Word = true, "Let in"
	case word == doorUsed && !seat.UsedAt.IsZero():
		a.Why = []string{"This ticket was used before: let in on " + inZone(seat.UsedAt, e.TimeZone, toTheSecond) + ago(o.Now.Sub(seat.UsedAt)) + "."}
		for _, h := range o.History {
			if h.Cause == "ticket.used" && h.Detail == seat.ID {
				a.Why = append(a.Why, "Let in by "+s.operator(h.By)+".")
			}
		}
	default:
		return nil, nil
	}
	return a, nil
}

// doorTicket finds "order.seat".
func (s *Server) doorTicket(name string) (o *sale.OrderView, seat int, ok bool) {
	order, n, _ := strings.Cut(name, ".")
	id, err := uuid.Parse(order)
	if err != nil {
		return nil, 0, false
	}
	seat, err = strconv.Atoi(n)
	if err != nil || seat < 0 {
		return nil, 0, false
	}
	o, err = s.office.AnyOrder(id)
	return o, seat, err == nil && seat < len(o.Seats) && o.Seats[seat].Ticket != uuid.Nil
}

func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return ", less than a minute ago"
	case d < time.Hour:
		return ", " + count(int(d/time.Minute), "minute") + " ago"
	case d < 24*time.Hour:
		return ", " + count(int(d/time.Hour), "hour") + " ago"
	}
	return ""
}

// entries remembers for a while which page let which ticket in: a scanner that
// sends a code twice must not be told that the guest was here before. Another
// page, at another door, is told.
type entries struct {
	mu   sync.Mutex
	last map[string]entry // by the page's one-time name
}

type entry struct {
	ticket uuid.UUID
	at     time.Time
}

// maxEntries bounds the memory; more than these come in no minute.
const maxEntries = 10000

func (e *entries) note(once string, ticket uuid.UUID, now time.Time) {
	if len(once) != 36 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.last) >= maxEntries || e.last == nil {
		e.last = map[string]entry{}
	}
	e.last[once] = entry{ticket, now}
}

func (e *entries) was(once string, ticket uuid.UUID, now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	n, ok := e.last[once]
	return ok && n.ticket == ticket && now.Sub(n.at) < doorFresh
}
