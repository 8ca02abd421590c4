package web

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"foyer/sale"
)

// openingForm is when the sale opens and who may join, as it is typed. Times are
// local times of the house, as [wallTime] reads them.
type openingForm struct {
	Opens, Presale       string
	OpensWas, PresaleWas string // what the form showed
	Access, Share        string
}

// openingFields are its fields, as [staffPage.beside] names them.
var openingFields = []string{"opensAt", "presaleAt", "access", "memberShare"}

func readOpeningForm(c echo.Context) openingForm {
	return openingForm{
		Opens: c.FormValue("opensAt"), OpensWas: c.FormValue("opensWas"), Presale: c.FormValue("presaleAt"), PresaleWas: c.FormValue("presaleWas"),
		Access: c.FormValue("access"), Share: c.FormValue("memberShare"),
	}
}

// openingOf is the form of an event that is there.
func openingOf(e *sale.Event) openingForm {
	f := openingForm{Opens: typed(e.OpensAt, e.TimeZone), Presale: typed(e.PresaleAt, e.TimeZone), Access: e.Access, Share: strconv.Itoa(e.Rules.MemberShare)}
	f.OpensWas, f.PresaleWas = f.Opens, f.Presale
	return f
}

// apply puts the form into settings. A time that nobody changed stays what it is to
// the millisecond, also in the second of two hours, and when others have moved it since.
func (f *openingForm) apply(v *sale.Settings, loc *time.Location) (err error) {
	if f.Opens != f.OpensWas {
		if v.OpensAt, err = wallTime(f.Opens, loc); err != nil {
			return about("opensAt", err)
		}
	}
	if f.Presale != f.PresaleWas {
		if v.PresaleAt, err = wallTime(f.Presale, loc); err != nil {
			return about("presaleAt", err)
		}
	}
	if v.Rules.MemberShare, err = strconv.Atoi(strings.TrimSpace(f.Share)); err != nil {
		return about("memberShare", sayBad(memberShareLabel+" must be a whole number from 0 to 10."))
	}
	v.Access = cmp.Or(f.Access, v.Access) // a form without it must not open an event by invitation
	return nil
}

// typed writes a moment as a field for a local time has it.
func typed(t *time.Time, name string) string {
	if t == nil {
		return ""
	}
	at := local(*t, name)
	if at.Second() != 0 {
		return at.Format("2006-01-02T15:04:05")
	}
	return at.Format("2006-01-02T15:04")
}

// setOpeningForm changes when the sale opens and who may join.
func (s *Server) setOpeningForm(c echo.Context, by *sale.Key) error {
	f := readOpeningForm(c)
	_, err := s.office.ChangeEvent(actor(by), param(c, "event"), func(v *sale.Settings) error {
		loc, err := zone(v.TimeZone)
		if err != nil {
			loc = time.UTC
		}
		return f.apply(v, loc)
	})
	if err != nil {
		return s.showAdminEvent(c, eventTry{trouble: err, opening: &f})
	}
	return s.after(c, nil, "opening")
}
