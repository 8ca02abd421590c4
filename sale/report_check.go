package sale

import "github.com/google/uuid"

// inspect holds an order against its own sums.
func (r *Report) inspect(o *Order) {
	seats, taken := Money{0, r.currency}, Money{0, r.currency}
	for _, s := range o.Seats {
		r.add(&seats, s.Price)
		if s.Refund != uuid.Nil {
			r.add(&taken, s.Price)
		}
		if s.Refund != uuid.Nil && o.findRefund(s.Refund) < 0 {
			r.differ("Order %s: seat %s was taken back by a refund that the order does not have.", o.ID, s.ID)
		}
	}
	done, open := o.Returned()
	payments := 0
	for _, p := range o.Payments {
		if p.State.Received() {
			payments++
		}
	}
	check := func(fits bool, format string, args ...any) {
		if !fits {
			r.differ("Order "+o.ID.String()+": "+format, args...)
		}
	}
	received := o.Received()
	check(o.Currency == r.currency, "it is in %s, the event in %s.", o.Currency, r.currency)
	check(seats.Amount == o.Total, "its seats cost %d, the order %d (minor units).", seats.Amount, o.Total)
	check(o.PaidAt.IsZero() || received == o.Total-o.Waived, "it costs %d, of which %d were let go, and %d were received (minor units).", o.Total, o.Waived, received)
	check(payments <= 1, "it has the money of %d payments.", payments)
	check(payments > 0 || o.PaidAt.IsZero() && len(o.Refunds) == 0, "it was paid or given back without a payment.")
	check(done+open <= received, "%d were received, and %d are to be given back (minor units).", received, done+open)
	// What went back in the provider's pages may be for no seat, or for one that is taken back later.
	check(done+open >= min(taken.Amount, received), "seats of %d were taken back, and %d are to be given back (minor units).", taken.Amount, done+open)
	switch o.Status {
	case Paid:
		check(!o.PaidAt.IsZero(), "it is PAID and has no time of payment.")
	case RefundDue:
		check(done < received, "it is REFUND_DUE, and everything was given back.")
	case Refunded:
		check(done == received, "it is REFUNDED, and %d of %d were given back (minor units).", done, received)
	default:
		check(payments == 0, "it is %s and has money.", o.Status)
	}
}

// balance holds the parts against the total.
func (r *Report) balance() {
	providers, atDoor, staff := r.sums(), r.sums(), r.sums()
	for _, p := range r.Providers {
		r.sumUp(&providers, p.Sums)
		if p.Provider == door {
			atDoor = p.Sums
		}
	}
	for _, o := range r.Operators {
		r.sumUp(&staff, o.Sums)
	}
	sold, tickets, returned := Money{0, r.currency}, 0, 0
	for _, c := range r.Categories {
		r.add(&sold, c.Sold.Amount)
		tickets, returned = tickets+c.Tickets, returned+c.Returned
	}
	r.add(&sold, -r.Waived.Amount)
	r.add(&sold, r.Late.Amount)
	same := func(what string, got, want int64) {
		if got != want {
			r.differ("%s: the parts come to %d, the whole is %d.", what, got, want)
		}
	}
	for _, part := range []struct {
		of  string
		got Sums
	}{{"By provider", providers}, {"By operator", staff}} {
		same(part.of+", given back", part.got.Refunded.Amount, r.Total.Refunded.Amount)
		same(part.of+", to be given back", part.got.Refunding.Amount, r.Total.Refunding.Amount)
		same(part.of+", could not be given back", part.got.Failed.Amount, r.Total.Failed.Amount)
		same(part.of+", tickets taken back", int64(part.got.Returned), int64(r.Total.Returned))
	}
	same("By provider, received", providers.Gross.Amount, r.Total.Gross.Amount)
	same("By provider, net", providers.Net.Amount, r.Total.Net.Amount)
	same("By provider, orders", int64(providers.Orders), int64(r.Total.Orders))
	same("By provider, tickets", int64(providers.Tickets), int64(r.Total.Tickets))
	same("By operator, received at the door", staff.Gross.Amount, atDoor.Gross.Amount)
	same("By operator, orders at the door", int64(staff.Orders), int64(atDoor.Orders))
	same("By category, received", sold.Amount, r.Total.Gross.Amount)
	same("By category, tickets", int64(tickets), int64(r.Total.Tickets))
	same("By category, tickets taken back", int64(returned), int64(r.Total.Returned))
}

func (r *Report) sumUp(to *Sums, s Sums) {
	to.Orders, to.Tickets, to.Returned = to.Orders+s.Orders, to.Tickets+s.Tickets, to.Returned+s.Returned
	r.add(&to.Gross, s.Gross.Amount)
	r.add(&to.Refunded, s.Refunded.Amount)
	r.add(&to.Net, s.Net.Amount)
	r.add(&to.Refunding, s.Refunding.Amount)
	r.add(&to.Failed, s.Failed.Amount)
}
