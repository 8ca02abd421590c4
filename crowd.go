package main

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"foyer/sale"
)

// crowd are the demo's simulated people: they wait, come when called, look
// around, and a few buy while more than half of the house is left. As people
// leave, others come to the end of the line.
type crowd struct {
	office *sale.Office
	event  string
	log    *slog.Logger
	people []*person
	buying bool
}

type person struct {
	visitor uuid.UUID
	leaves  time.Time // when a called one has seen enough
	order   uuid.UUID
}

const (
	crowdNear = 300              // this many at the front look at their place
	crowdBuys = 0.01             // share of the called who buy
	crowdStay = 14 * time.Second // at most, from the call to the end
)

func runCrowd(ctx context.Context, o *sale.Office, event string, log *slog.Logger) {
	c := &crowd{office: o, event: event, log: log}
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		c.step()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// step lets everybody do one thing.
func (c *crowd) step() {
	s, err := c.office.Status(c.event)
	if err != nil || s.Phase == sale.PhaseClosed || s.Phase == sale.PhaseSoldOut {
		return
	}
	c.buying = s.SeatsLeft > s.Sold
	c.arrive(min(demoCrowd-s.Waiting, 250))
	stay := c.people[:0]
	for i, p := range c.people {
		if i < crowdNear && c.act(p) {
			continue // went home
		}
		stay = append(stay, p)
	}
	clear(c.people[len(stay):])
	c.people = stay
}

func (c *crowd) arrive(n int) {
	for range n {
		v := uuid.New()
		if _, _, err := c.office.Join(c.event, v); err != nil {
			return
		}
		c.people = append(c.people, &person{visitor: v})
	}
}

// act lets one of the front ones look at his place and go on; gone tells that
// he went home.
func (c *crowd) act(p *person) (gone bool) {
	v, err := c.office.Poll(c.event, p.visitor)
	switch {
	case err != nil:
		return false
	case v.Status == sale.NotEntered:
		return true
	case v.Status != sale.Ready:
		return false
	case p.leaves.IsZero():
		p.leaves = v.Now.Add(2*time.Second + rand.N(crowdStay-2*time.Second))
		if c.buying && rand.Float64() < crowdBuys {
			c.choose(p, v.Token)
		}
		return false
	case v.Now.Before(p.leaves):
		return false
	}
	if p.order != uuid.Nil {
		c.pay(p)
		return true
	}
	_ = c.office.Leave(c.event, p.visitor, v.QueueID)
	return true
}

func (c *crowd) choose(p *person, token string) {
	category := []string{"Stalls", "Side", "Balcony", ""}[rand.IntN(4)]
	o, err := c.office.Hold(sale.HoldRequest{Event: c.event, Token: token, Best: true, Count: 1 + rand.IntN(3), Category: category})
	if err == nil {
		p.order = o.ID
	}
}

// pay sends the demo provider's word straight to the office: these people have
// no browser.
func (c *crowd) pay(p *person) {
	pay, err := c.office.Pay(context.Background(), sale.PayRequest{Visitor: p.visitor, Order: p.order, Provider: "demo"})
	if err != nil {
		return
	}
	o, err := c.office.AnyOrder(p.order)
	if err != nil {
		return
	}
	_, err = c.office.Receive(sale.Fact{
		Provider: "demo", EventID: "crowd_" + uuid.NewString(), Kind: sale.FactSucceeded, PaymentID: pay.PaymentID,
		Order: o.ID.String(), Amount: o.Total, Currency: o.Currency, CreatedAt: o.Now,
	})
	if err != nil {
		c.log.Warn("demo crowd", "error", err.Error())
	}
}
