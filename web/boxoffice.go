package web

import (
	"encoding/json"
	"net/http"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"foyer/sale"
	"foyer/seats"
)

func (s *Server) staffOrder(c echo.Context, _ *sale.Key) error {
	return s.answerOrder(c, staffOrderOf, s.office.AnyOrder)
}

func (s *Server) refund(c echo.Context, by *sale.Key) error {
	var body struct {
		Seats   json.RawMessage `json:"seats"` // all that are left when missing
		Release *bool           `json:"release"`
		Reason  string          `json:"reason"`
	}
	if err := read(c, &body); err != nil {
		return err
	}
	w := sale.RefundWish{Actor: actor(by), Reason: body.Reason, OffSale: body.Release != nil && !*body.Release}
	if body.Seats != nil { // even null: it must not mean all of them
		var err error
		if w.Seats, err = seatIDs(body.Seats); err != nil {
			return err
		}
	}
	return s.answerOrder(c, staffOrderOf, func(o uuid.UUID) (*sale.OrderView, error) { return s.office.Refund(o, w) })
}

// seatIDs reads a list of at least one seat id.
func seatIDs(raw json.RawMessage) ([]string, error) {
	var r sale.HoldRequest
	if !given(raw) {
		return nil, refuse("bad_seats", `"seats" must be a list of seat ids, such as ["A-12"].`)
	}
	if err := (&wish{Seats: raw}).judge(&r); err != nil {
		return nil, err
	}
	if len(r.Seats) == 0 {
		return nil, sale.ErrNoSeats
	}
	return r.Seats, nil
}

func (s *Server) resend(c echo.Context, by *sale.Key) error {
	if err := readNothing(c); err != nil {
		return err
	}
	return s.answerOrder(c, staffOrderOf, func(o uuid.UUID) (*sale.OrderView, error) { return s.office.Resend(actor(by), o) })
}

// complete takes cash as the way in which an order was paid unless told otherwise.
func (s *Server) complete(c echo.Context, by *sale.Key) error {
	body := struct {
		Method string `json:"method"`
		Reason string `json:"reason"`
	}{Method: sale.Cash}
	if err := read(c, &body); err != nil {
		return err
	}
	if body.Method != sale.Cash && body.Method != sale.Card {
		return refuse("bad_sale", `"method" is "cash" or "card": how the buyer has paid.`)
	}
	return s.answerOrder(c, staffOrderOf, func(o uuid.UUID) (*sale.OrderView, error) {
		return s.office.Complete(actor(by), o, body.Method, body.Reason)
	})
}

// sell sells seats to somebody who stands at the counter.
func (s *Server) sell(c echo.Context, by *sale.Key) error {
	var body struct {
		wish
		Method string `json:"method"`
		Name   string `json:"name"`
		Email  string `json:"email"`
	}
	if err := read(c, &body); err != nil {
		return err
	}
	var r sale.HoldRequest
	if err := body.judge(&r); err != nil {
		return err
	}
	w := sale.DoorSale{
		Actor: actor(by), Event: param(c, "event"), Seats: r.Seats, Best: r.Best, Count: r.Count, Category: r.Category,
		Method: body.Method, Buyer: sale.Buyer{Name: body.Name, Email: body.Email},
	}
	if h := c.Request().Header; len(h["Idempotency-Key"]) > 0 {
		var err error
		if w.Key, err = idempotencyKey(h); err != nil {
			return err
		}
	}
	v, err := s.office.Sell(w)
	if err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderLocation, api+"/admin/orders/"+v.ID.String())
	return write(c, http.StatusCreated, staffOrderOf(v))
}

// kept is the letter of a free seat that only staff may sell.
const kept = 'B'

// staffHouseDoc is the house as staff see it.
type staffHouseDoc struct {
	PlanVersion string         `json:"planVersion"`
	AsOf        stamp          `json:"asOf"`
	Counts      staffCountsDoc `json:"counts"`
	States      string         `json:"states"`
	Blocked     []blockDoc     `json:"blocked"`
}

type staffCountsDoc struct {
	seats.Counts     // OffSale without those of the house
	House        int `json:"house"`
}

type blockDoc struct {
	Seat   string          `json:"seat"`
	State  sale.BlockState `json:"state"`
	Reason string          `json:"reason,omitempty"`
	By     string          `json:"by"`
	At     stamp           `json:"at"`
}

func staffHouseOf(v sale.House) staffHouseDoc {
	d := staffHouseDoc{PlanVersion: v.PlanVersion, AsOf: stamp(v.AsOf), Counts: staffCountsDoc{Counts: v.Counts}, Blocked: []blockDoc{}}
	states := make([]byte, len(v.States))
	for i, state := range v.States {
		states[i] = byte(state)
		if v.Kept[i] {
			states[i] = kept
			d.Counts.OffSale--
			d.Counts.House++
		}
	}
	d.States = string(states)
	for _, b := range v.Blocks {
		d.Blocked = append(d.Blocked, blockDoc{b.Seat, b.State, b.Reason, b.By, stamp(b.At)})
	}
	return d
}

func (s *Server) staffSeats(c echo.Context, _ *sale.Key) error {
	v, err := s.office.House(param(c, "event"))
	if err != nil {
		return err
	}
	return write(c, http.StatusOK, staffHouseOf(v))
}

func (s *Server) blockSeats(c echo.Context, by *sale.Key) error {
	var body struct {
		Seats  json.RawMessage `json:"seats"`
		State  string          `json:"state"`
		Reason string          `json:"reason"`
	}
	if err := read(c, &body); err != nil {
		return err
	}
	var ids []string
	if body.Seats != nil {
		var err error
		if ids, err = seatIDs(body.Seats); err != nil {
			return err
		}
	}
	states := map[string]sale.BlockState{"HOUSE": sale.BlockHouse, "OFF_SALE": sale.BlockOffSale, "AVAILABLE": ""}
	state, known := states[body.State]
	if !known {
		return refuse("bad_sale", `"state" is "HOUSE", "OFF_SALE", or "AVAILABLE" to put seats back on sale.`)
	}
	if _, err := s.office.BlockSeats(actor(by), param(c, "event"), ids, state, body.Reason); err != nil {
		return err
	}
	return s.staffSeats(c, by)
}
