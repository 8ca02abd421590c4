package web

import (
	"github.com/labstack/echo/v4"

	"foyer/sale"
)

func (s *Server) forgetPage(c echo.Context, by *sale.Key) error { return s.showForget(c, by, nil) }

// showForget says what an erasure does before it is done.
func (s *Server) showForget(c echo.Context, by *sale.Key, trouble error) error {
	e, phase, err := s.office.Event(param(c, "event"))
	if err != nil {
		return err
	}
	v := struct {
		staffPage
		Event *sale.Event
		Phase sale.Phase
		Was   string // when it was done before
	}{staffPage: staffFrame(c, by, "Erase the buyers’ names – "+e.Name, link{"/admin/events/" + e.ID, e.Name}), Event: e, Phase: phase}
	if !e.Forgotten.IsZero() {
		v.Was = dayTime(e.Forgotten, e.TimeZone)
	}
	status, err := v.fail(s, trouble)
	if err != nil {
		return err
	}
	return s.render(c, status, "forget", v)
}

func (s *Server) forgetForm(c echo.Context, by *sale.Key) error {
	if c.FormValue("sure") == "" {
		return s.showForget(c, by, sayBad("Tick the box first. Nothing was erased."))
	}
	event := param(c, "event")
	if _, err := s.office.Forget(actor(by), event); err != nil {
		return s.showForget(c, by, err)
	}
	return seeOther(c, "/admin"+eventPath(event)+"/forget?done=forget")
}
