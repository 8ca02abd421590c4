package web

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"foyer/sale"
)

// wish is the body of POST holds. Its parts stay raw until they are judged, so
// that a wrong shape is a refusal of the seats and not of the JSON.
type wish struct {
	Seats json.RawMessage `json:"seats"`
	Best  json.RawMessage `json:"best"`
}

type bestWish struct {
	Count    json.RawMessage `json:"count"`
	Category json.RawMessage `json:"category"`
}

func (s *Server) hold(c echo.Context) error {
	var w wish
	if err := read(c, &w); err != nil {
		return err
	}
	visitor, _ := s.visitor(c)
	r := sale.HoldRequest{Event: param(c, "event"), Token: entryToken(c.Request().Header), Visitor: visitor}
	shape := w.judge(&r)
	if shape != nil { // the token is judged before the wish, and no seats are never held
		r.Seats, r.Best = nil, false
	}
	v, err := s.office.Hold(r)
	switch {
	case shape != nil && sale.ErrNoSeats.Is(err):
		return shape
	case err != nil:
		return err
	}
	c.Response().Header().Set(echo.HeaderLocation, api+"/orders/"+v.ID.String())
	return write(c, http.StatusCreated, orderOf(v))
}

// judge fills in the request, or says what is wrong with the shape of the wish.
// null is the same as nothing.
func (w *wish) judge(r *sale.HoldRequest) error {
	switch {
	case given(w.Seats) && given(w.Best):
		return refuse("bad_seats", `Send either "seats" or "best", not both.`)
	case given(w.Best):
		return w.judgeBest(r)
	case !given(w.Seats):
		return nil // no seats
	}
	var ids []*string
	if json.Unmarshal(w.Seats, &ids) != nil {
		return refuse("bad_seats", `"seats" must be a list of seat ids, such as ["A-12"].`)
	}
	for _, id := range ids {
		if id == nil {
			return refuse("bad_seats", `Every entry of "seats" must be the id of a seat, such as "A-12".`)
		}
		r.Seats = append(r.Seats, *id)
	}
	return nil
}

func given(raw json.RawMessage) bool { return raw != nil && string(raw) != "null" }

func (w *wish) judgeBest(r *sale.HoldRequest) error {
	var b bestWish
	if w.Best[0] != '{' {
		return refuse("bad_seats", `"best" must be an object such as {"count": 2, "category": "Stalls"}.`)
	}
	if err := decode(w.Best, &b); err != nil {
		return err
	}
	count, ok := wholeNumber(b.Count)
	if !ok {
		return refuse("bad_seats", `"count" must be a whole number of seats.`)
	}
	r.Best, r.Count = true, count
	if given(b.Category) && (b.Category[0] != '"' || json.Unmarshal(b.Category, &r.Category) != nil) {
		return refuse("bad_seats", `"category" must be the name of a category.`)
	}
	return nil
}

// wholeNumber reads a JSON number that is whole, however it is written; what is
// beyond int32 is cut down to it, for it is too many of anything.
func wholeNumber(raw json.RawMessage) (int, bool) {
	if len(raw) == 0 || raw[0] == '"' {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if math.IsInf(f, 0) { // a range error, and a number all the same
		err = nil
	}
	if err != nil || f != math.Trunc(f) {
		return 0, false
	}
	return int(max(math.MinInt32, min(math.MaxInt32, f))), true
}

// orderID reads the order in the path; what is no id is an order nobody has.
func orderID(c echo.Context) (uuid.UUID, error) {
	o, ok := id(c, "order")
	if !ok {
		return o, sale.ErrNoSuchOrder
	}
	return o, nil
}

// showOrder shows an order to its buyer, and any to a key of the shop or the box office.
func (s *Server) showOrder(c echo.Context) error {
	if _, sent := bearer(c.Request().Header); sent {
		k, err := s.staffSession(c)
		switch {
		case err != nil:
			return err
		case !k.Role.Includes(sale.RoleShop) && !k.Role.Includes(sale.RoleBoxOffice):
			return errWrongRole
		}
		return s.answerOrder(c, staffOrderOf, s.office.AnyOrder)
	}
	return s.answerOrder(c, orderOf, func(o uuid.UUID) (*sale.OrderView, error) { return s.office.Order(s.buyer(c), o) })
}

func (s *Server) cancel(c echo.Context) error {
	if err := readNothing(c); err != nil {
		return err
	}
	return s.answerOrder(c, orderOf, func(o uuid.UUID) (*sale.OrderView, error) { return s.office.Cancel(s.buyer(c), o) })
}

// answerOrder answers with what became of the order in the path, as one may see it.
func (s *Server) answerOrder(c echo.Context, see func(*sale.OrderView) *orderDoc, act func(uuid.UUID) (*sale.OrderView, error)) error {
	o, err := orderID(c)
	if err != nil {
		return err
	}
	v, err := act(o)
	if err != nil {
		return err
	}
	return write(c, http.StatusOK, see(v))
}

func (s *Server) release(c echo.Context) error {
	if err := readNothing(c); err != nil {
		return err
	}
	o, err := orderID(c)
	if err != nil {
		return err
	}
	if err := s.office.Release(s.buyer(c), o); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
