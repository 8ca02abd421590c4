package web

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"foyer/sale"
)

// backView is what the buyer reads about money that goes back to him.
type backView struct {
	Sum   string   // of all refunds
	Under string   // what is on its way, or ""
	Way   string   // "by the way you paid"
	Late  bool     // the money came when the seats were gone
	Lines []string // a sentence for each refund, oldest first
}

func wayBack(provider string) string {
	switch provider {
	case "door":
		return "at the box office"
	case "shop":
		return "through the venue's own shop"
	}
	return "by the way you paid"
}

// backOf tells of the refunds of an order.
func backOf(o *sale.OrderView, zone string, in locale) (v backView) {
	p, _ := o.Paid()
	v.Way, v.Late = wayBack(p.Provider), o.PaidAt.IsZero()
	done, open := o.Returned()
	v.Sum = formatMoney(done+open, o.Currency, in)
	if len(o.Refunds) == 0 { // for a moment in a file of an older version
		v.Sum = formatMoney(o.Total, o.Currency, in)
	}
	var moving int64
	for _, r := range o.Refunds {
		if r.Amount <= 0 {
			continue
		}
		if r.State.Open() && r.State != sale.RefundFailed {
			moving += r.Amount
		}
		v.Lines = append(v.Lines, refundLine(o, r, v.Way, zone, in))
	}
	if moving > 0 {
		v.Under = formatMoney(moving, o.Currency, in)
	}
	return v
}

func refundLine(o *sale.OrderView, r sale.Refund, way, zone string, in locale) string {
	line := formatMoney(r.Amount, o.Currency, in)
	var labels []string
	for _, s := range o.Seats {
		if s.Refund == r.ID && s.Refund != uuid.Nil {
			labels = append(labels, s.Label)
		}
	}
	if len(labels) > 0 {
		line += " for " + strings.Join(labels, ", ")
	}
	switch r.State {
	case sale.RefundWithdrawn:
		line += " was not returned: the payment provider could not send it back, so it did not come off what you paid."
	case sale.RefundDone:
		line += " went back " + way + " on " + dayTime(r.EndedAt, zone) + "."
	case sale.RefundFailed:
		line += " could not be returned " + way + ". The venue knows of it and sees that you get it."
	default:
		line += " is on its way back " + way + " since " + dayTime(r.At, zone) + "."
	}
	if r.Reason != "" && len(labels) > 0 {
		line += " Reason: " + r.Reason
	}
	return line
}

// strayLines tell of money that came for an order and did not fit it.
func strayLines(stray []*sale.Receipt, zone string, in locale) (lines []string) {
	for _, rc := range stray {
		line := "We received a payment that does not fit this order"
		if rc.Fact.Odd == "" {
			line = "We received " + formatMoney(rc.Fact.Amount, rc.Fact.Currency, in) + ", which does not fit this order"
		}
		switch rc.Attention {
		case "surplus_payment":
			if wentBefore(stray, rc) {
				lines = append(lines, "We were told again of a payment of "+formatMoney(rc.Fact.Amount, rc.Fact.Currency, in)+" whose money went back"+strayEnd(rc, zone))
				continue
			}
			line = "We received " + formatMoney(rc.Fact.Amount, rc.Fact.Currency, in) + " a second time"
		case "amount_mismatch":
		default:
			continue
		}
		lines = append(lines, line+strayEnd(rc, zone))
	}
	return lines
}

// wentBefore tells whether money of the payment that is told again went back.
func wentBefore(stray []*sale.Receipt, again *sale.Receipt) bool {
	return slices.ContainsFunc(stray, func(rc *sale.Receipt) bool {
		same := rc.Fact.Provider == again.Fact.Provider && rc.Fact.PaymentID == again.Fact.PaymentID && again.Fact.PaymentID != ""
		return rc != again && same && rc.Refund != nil && (rc.Refund.State == sale.RefundSent || rc.Refund.State == sale.RefundDone)
	})
}

// strayEnd is the second half of the sentence: where the money is now.
func strayEnd(rc *sale.Receipt, zone string) string {
	way := wayBack(rc.Fact.Provider)
	if rc.Refund != nil {
		switch rc.Refund.State {
		case sale.RefundDone:
			return "; it went back " + way + " on " + dayTime(rc.Refund.EndedAt, zone) + "."
		case sale.RefundFailed:
			return " and could not be returned. The venue knows of it and sees that you get it."
		case sale.RefundRequested, sale.RefundSent:
			if at := rc.BackAt(); !at.IsZero() {
				return "; it goes back " + way + ", on " + dayTime(at, zone) + " at the latest."
			}
			return "; it goes back " + way + "."
		}
	}
	if rc.Settled != nil {
		return ". The venue has settled it."
	}
	return ". The venue knows of it and sees to it."
}
