package sale_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"foyer/sale"
)

// sleep is a while in which the visitor's phone is dead. He has a return code on
// paper, and takes his place up again in another browser.
func (v *simVisitor) sleep() {
	observe := func(what string, args ...any) { v.evening.ledger.observe("unexpected: " + fmt.Sprintf(what, args...)) }
	var code sale.ReturnCode
	err := v.evening.ask(func(o *sale.Office) (err error) {
		code, err = o.ReturnCode(v.key.event, v.key.visitor, v.view.QueueID)
		return err
	})
	if err != nil {
		observe("a place that was just taken has no return code: %v", err)
	}
	time.Sleep(v.sleeps)
	v.sleeps = 0

	var found sale.Returned
	asked := 0 // more than once: an answer was lost, and the code may be used up
	redeem := func(o *sale.Office) (err error) {
		asked++
		found, err = o.Redeem(v.key.event, code.Code, uuid.Nil)
		return err
	}
	switch err = v.evening.ask(redeem); {
	case err == nil:
		if found != (sale.Returned{Visitor: v.key.visitor, Event: v.key.event, QueueID: code.QueueID}) {
			observe("a return code opens %+v, not the place of %s", found, v.key.visitor)
		}
		if err := v.evening.ask(redeem); err == nil {
			observe("a return code was used twice")
		}
	case asked > 1 && errors.Is(err, sale.ErrLinkUsed):
	default: // the place is over
		err2 := v.evening.ask(func(o *sale.Office) error {
			_, err := o.ReturnCode(v.key.event, v.key.visitor, code.QueueID)
			return err
		})
		if !errors.Is(err2, sale.ErrNotEntered) {
			observe("the return code of a live place was refused: %v", err)
		}
	}
}
