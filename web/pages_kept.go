package web

import (
	"errors"
	"strings"

	"github.com/labstack/echo/v4"

	"foyer/sale"
)

// keptSeat is a seat that is not on sale, for staff.
type keptSeat struct {
	ID, Label, Reason, By, At string
	House                     bool
	Has                       string // that somebody has it all the same
}

// keptTry is a form about seats of the house that did not come through.
type keptTry struct {
	trouble              error
	Names, State, Reason string
}

func (s *Server) keptPage(c echo.Context, by *sale.Key) error {
	return s.showKept(c, by, keptTry{State: string(sale.BlockHouse)})
}

func (s *Server) showKept(c echo.Context, by *sale.Key, try keptTry) error {
	e, _, err := s.office.Event(param(c, "event"))
	if err != nil {
		return err
	}
	v := struct {
		staffPage
		Event *sale.Event
		Zone  string
		Kept  []keptSeat
		Lost  []string
		Try   keptTry
		Free  int
		Plan  bool
	}{staffPage: staffFrame(c, by, "Seats kept – "+e.Name, upTo(by, e)...), Event: e, Zone: zoneWord(e.TimeZone), Try: try}
	status, err := v.fail(s, try.trouble)
	if err != nil {
		return err
	}
	house, err := s.office.House(e.ID)
	if errors.Is(err, sale.ErrNoPlan) { // there are no seats to be kept
		return s.render(c, status, "kept", v)
	}
	if err != nil {
		return err
	}
	plan, err := s.office.Plan(e.ID)
	if err != nil {
		return err
	}
	v.Plan, v.Free = true, house.Counts.Available
	if v.Trouble != nil {
		v.Lost = planLabels(plan, v.Trouble.Seats)
		v.Trouble.Seats = nil
	}
	for _, b := range house.Blocks {
		k := keptSeat{ID: b.Seat, Label: b.Seat, Reason: b.Reason, By: s.operator(b.By), At: atTime(b.At, e.TimeZone), House: b.State == sale.BlockHouse}
		if i, ok := plan.Index(b.Seat); ok {
			k.Label = plan.Label(i)
			if state := house.States[i]; state == 'S' || state == 'H' {
				k.Has = stateWords[state]
			}
		}
		v.Kept = append(v.Kept, k)
	}
	return s.render(c, status, "kept", v)
}

// keptForm keeps seats, or puts them back on sale. Sent twice it does so once.
func (s *Server) keptForm(c echo.Context, by *sale.Key) error {
	form, err := c.FormParams()
	if err != nil {
		return errBadRequest
	}
	try := keptTry{Names: form.Get("names"), State: form.Get("state"), Reason: strings.TrimSpace(form.Get("reason"))}
	states := map[string]sale.BlockState{"HOUSE": sale.BlockHouse, "OFF_SALE": sale.BlockOffSale, "AVAILABLE": ""}
	state, known := states[try.State]
	if !known {
		return errBadRequest
	}
	event, word := param(c, "event"), "keep"
	if state == "" {
		word = "back"
	}
	if _, try.trouble = s.office.BlockSeats(actor(by), event, s.typedSeats(event, try.Names, form["seat"]), state, try.Reason); try.trouble != nil {
		return s.showKept(c, by, try)
	}
	return seeOther(c, "/admin"+eventPath(event)+"/house?done="+word)
}
