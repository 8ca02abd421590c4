package web

import (
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"foyer/sale"
)

const (
	pageSize = 50   // of a list, unless limit says otherwise
	pageMax  = 500  // of a list
	pageScan = 5000 // orders looked at for one page of a search
)

// askPage refuses parameters that a list does not know, since a typing error would change what it shows without a word,
// and reads how many items a page shall have. All lists know limit and cursor; more names the others.
func askPage(c echo.Context, more ...string) (n int, err error) {
	sent, err := url.ParseQuery(c.Request().URL.RawQuery)
	if err != nil {
		return 0, refuse("bad_request", "What follows the question mark in the address cannot be read.")
	}
	known := append([]string{"limit", "cursor"}, more...)
	for _, name := range slices.Sorted(maps.Keys(sent)) {
		if !slices.Contains(known, name) {
			return 0, refuse("bad_request", "The parameter "+quoted(name)+" is not known here. This list knows "+strings.Join(known, ", ")+".")
		}
		if len(sent[name]) > 1 {
			return 0, refuse("bad_request", "The parameter "+quoted(name)+" is there twice.")
		}
	}
	v := sent.Get("limit")
	if v == "" {
		return pageSize, nil
	}
	n, err = strconv.Atoi(v)
	if err != nil || n < 1 || n > pageMax {
		return 0, refuse("bad_request", "The parameter limit is "+quoted(v)+", but it must be 1 to "+strconv.Itoa(pageMax)+".")
	}
	return n, nil
}

// askAll is askPage for a list that is always one page and so gives no cursor.
func askAll(c echo.Context, more ...string) error {
	if _, err := askPage(c, more...); err != nil {
		return err
	}
	if c.QueryParam("cursor") != "" {
		return errBadCursor
	}
	return nil
}

// listOrders lists the orders of one event or of all, newest first within an
// event, that contain the query. A search that looked at pageScan orders ends
// the page early; its cursor goes on from there.
func (s *Server) listOrders(c echo.Context, _ *sale.Key) error {
	n, err := askPage(c, "event", "query")
	if err != nil {
		return err
	}
	events, before, err := s.orderCursor(c.QueryParam("event"), c.QueryParam("cursor"))
	if err != nil {
		return err
	}
	found, next, err := s.searchOrders(events, before, c.QueryParam("query"), n)
	if err != nil {
		return err
	}
	var docs []*orderDoc
	for _, o := range found {
		docs = append(docs, staffOrderOf(o))
	}
	return write(c, http.StatusOK, pageOf(docs, next))
}

// searchOrders looks for n orders of some events, the first of them before an
// order's id, and gives the cursor from which to go on, "" at the end.
func (s *Server) searchOrders(events []string, before uuid.UUID, query string, n int) (found []*sale.OrderView, next string, err error) {
	query = strings.ToLower(strings.TrimSpace(query))
	if o, whole := s.findOrder(query, events); whole {
		return []*sale.OrderView{o}, "", nil
	}
	looked := 0
	for _, event := range events {
		for {
			batch, err := s.office.Orders(event, before, pageMax)
			if err != nil {
				return nil, "", err
			}
			for _, o := range batch {
				before, looked = o.ID, looked+1
				if contains(o, query) {
					found = append(found, o)
				}
				if len(found) == n || looked == pageScan {
					return found, event + "." + before.String(), nil
				}
			}
			if len(batch) < pageMax {
				break
			}
		}
		before = uuid.Nil
	}
	return found, "", nil
}

// findOrder finds the order that a whole id names, its own or that of a ticket,
// without looking at all others.
func (s *Server) findOrder(query string, events []string) (*sale.OrderView, bool) {
	id, err := uuid.Parse(query)
	if err != nil || len(query) != 36 {
		return nil, false
	}
	o, ok := s.office.Find(id)
	return o, ok && slices.Contains(events, o.Event)
}

// orderCursor tells which events are still to be listed, and before which order
// the first of them goes on. A cursor is "event.order".
func (s *Server) orderCursor(event, cursor string) (events []string, before uuid.UUID, err error) {
	if event != "" {
		if _, _, err := s.office.Event(event); err != nil {
			return nil, before, err
		}
		events = []string{event}
	} else {
		for _, e := range s.office.Events() {
			events = append(events, e.ID)
		}
	}
	if cursor == "" {
		return events, before, nil
	}
	from, order, _ := strings.Cut(cursor, ".")
	before, err = uuid.Parse(order)
	if err != nil {
		return nil, before, errBadCursor
	}
	for i, e := range events {
		if e == from {
			return events[i:], before, nil
		}
	}
	return nil, before, errBadCursor
}

// contains searches what staff know of an order: its id, the buyer, seats,
// tickets, payments and refunds.
func contains(o *sale.OrderView, query string) bool {
	has := func(s string) bool { return strings.Contains(strings.ToLower(s), query) }
	if query == "" || has(o.ID.String()) || has(o.Buyer.Name) || has(o.Buyer.Email) || has(string(o.Status)) {
		return true
	}
	for _, s := range o.Seats {
		if has(s.ID) || has(s.Label) || s.Ticket != uuid.Nil && has(s.Ticket.String()) {
			return true
		}
	}
	for _, p := range o.Payments {
		if has(p.ID) || has(p.Ref) {
			return true
		}
	}
	for _, r := range o.Refunds {
		if has(r.ID.String()) || has(r.Provider) {
			return true
		}
	}
	return false
}

type auditDoc struct {
	Seq    uint64 `json:"seq"`
	At     stamp  `json:"at"`
	Actor  string `json:"actor"`
	Event  string `json:"event,omitempty"`
	Act    string `json:"act"`
	Detail string `json:"detail,omitempty"`
}

func (s *Server) listAudit(c echo.Context, _ *sale.Key) error {
	n, err := askPage(c)
	if err != nil {
		return err
	}
	before, err := numberCursor(c)
	if err != nil {
		return err
	}
	entries, err := s.office.Audit(before, n)
	if err != nil {
		return err
	}
	var docs []auditDoc
	for _, e := range entries {
		docs = append(docs, auditDoc{e.Seq, stamp(e.At), e.Actor, e.Event, e.Act, e.Detail})
	}
	next := uint64(0)
	if len(entries) == n && entries[n-1].Seq > 1 {
		next = entries[n-1].Seq
	}
	return write(c, http.StatusOK, pageOf(docs, cursorOf(next)))
}

// cursorOf is the cursor of a list that goes by number; "" for 0, which ends it.
func cursorOf(next uint64) string {
	if next == 0 {
		return ""
	}
	return strconv.FormatUint(next, 10)
}

// numberCursor reads the cursor of a list that goes by number; 0 without one.
func numberCursor(c echo.Context) (uint64, error) {
	return cursorNumber(c.QueryParam("cursor"))
}

// cursorNumber reads a cursor that [cursorOf] gave; 0 for "". No row has the largest number.
func cursorNumber(cursor string) (uint64, error) {
	if cursor == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(cursor, 10, 64)
	if err != nil || n == math.MaxUint64 || cursorOf(n) != cursor {
		return 0, errBadCursor
	}
	return n, nil
}
