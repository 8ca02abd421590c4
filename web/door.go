package web

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"foyer/sale"
)

// checkIn lets a ticket in, once.
func (s *Server) checkIn(c echo.Context, by *sale.Key) error {
	var body struct {
		Code string `json:"code"`
	}
	if err := read(c, &body); err != nil {
		return err
	}
	event := param(c, "event")
	if _, _, err := s.office.Event(event); err != nil {
		return err
	}
	if strings.TrimSpace(body.Code) == "" {
		return refuse("bad_field", `"code" must be the code of a ticket.`)
	}
	a, err := s.office.CheckIn(actor(by), event, body.Code)
	if err != nil {
		return err
	}
	doc := struct {
		TicketID    uuid.UUID   `json:"ticketId"`
		OrderID     uuid.UUID   `json:"orderId"`
		Seat        seatDoc     `json:"seat"`
		Buyer       *sale.Buyer `json:"buyer,omitempty"`
		CheckedInAt stamp       `json:"checkedInAt"`
	}{TicketID: a.Ticket, OrderID: a.Order, Seat: seatOf(a.Seat, a.Currency), CheckedInAt: stamp(a.At)}
	if a.Buyer != (sale.Buyer{}) {
		doc.Buyer = &a.Buyer
	}
	return write(c, http.StatusOK, doc)
}

// The states of a ticket at the door.
const (
	ticketValid = "VALID"
	ticketUsed  = "USED"
	ticketVoid  = "VOID"
)

// doorTicketDoc is a ticket as the door sees it, without its code.
type doorTicketDoc struct {
	TicketID uuid.UUID `json:"ticketId"`
	OrderID  uuid.UUID `json:"orderId"`
	Seat     seatDoc   `json:"seat"`
	State    string    `json:"state"`
	UsedAt   *stamp    `json:"usedAt,omitempty"`
}

func doorTicketOf(o *sale.OrderView, i int) doorTicketDoc {
	d := doorTicketDoc{o.Seats[i].Ticket, o.ID, seatOf(o.Seats[i], o.Currency), ticketVoid, stampOf(o.Seats[i].UsedAt)}
	switch {
	case !o.Valid(i):
	case d.UsedAt != nil:
		d.State = ticketUsed
	default:
		d.State = ticketValid
	}
	return d
}

// listTickets lists all tickets that an event ever issued, those of the newest
// order first. Its cursor is "order.seat": the place in the order of the ticket
// that comes next. A page that looked at pageScan orders ends early.
func (s *Server) listTickets(c echo.Context, _ *sale.Key) error {
	n, err := askPage(c)
	if err != nil {
		return err
	}
	event := param(c, "event")
	orders, from, err := s.ticketCursor(event, c.QueryParam("cursor"))
	if err != nil {
		return err
	}
	var found []doorTicketDoc
	for looked := 0; looked < pageScan; {
		for _, o := range orders {
			for i := from; i < len(o.Seats); i++ {
				if o.Seats[i].Ticket == uuid.Nil {
					continue
				}
				if len(found) == n {
					return write(c, http.StatusOK, pageOf(found, o.ID.String()+"."+strconv.Itoa(i)))
				}
				found = append(found, doorTicketOf(o, i))
			}
			from = 0
		}
		looked += len(orders)
		before := uuid.Nil
		if len(orders) > 0 {
			before = orders[len(orders)-1].ID
		}
		if orders, err = s.office.Orders(event, before, pageMax); err != nil {
			return err
		}
		if len(orders) == 0 {
			return write(c, http.StatusOK, pageOf(found, ""))
		}
	}
	return write(c, http.StatusOK, pageOf(found, orders[0].ID.String()+".0"))
}

// ticketCursor gives the order at which a page begins, and the seat in it; none
// at the beginning.
func (s *Server) ticketCursor(event, cursor string) (orders []*sale.OrderView, seat int, err error) {
	if _, _, err := s.office.Event(event); err != nil {
		return nil, 0, err
	}
	if cursor == "" {
		return nil, 0, nil
	}
	name, at, _ := strings.Cut(cursor, ".")
	id, bad := uuid.Parse(name)
	seat, wrong := strconv.Atoi(at)
	if bad != nil || wrong != nil || seat < 0 {
		return nil, 0, errBadCursor
	}
	o, err := s.office.AnyOrder(id)
	if err != nil || o.Event != event {
		return nil, 0, errBadCursor
	}
	return []*sale.OrderView{o}, seat, nil
}
