package sale

import (
	"strings"
	"time"

	"foyer/outbox"
)

// PaymentWays tells how [Office.SettlePayment] can decide about a payment fact
// on the attention list: not at all while its money is on its way back, and as long
// as the answer is waited for.
func (o *Office) PaymentWays(rc *Receipt) (ways []string) {
	_ = o.store.View(func(r Reader) error {
		complete := true
		switch {
		case rc.Refund != nil && rc.Refund.State == RefundSent:
			if r.Now().Sub(rc.Refund.At) >= patience {
				ways = []string{HowComplete}
			}
			return nil
		case rc.Attention == wrongSum && rc.Fact.Kind == FactSucceeded:
			_, err := acceptable(r, rc.Fact)
			complete = err == nil && !rc.returned()
		}
		if complete {
			ways = append(ways, HowComplete)
		}
		if o.returnable(rc.Fact) == nil && !rc.returned() {
			ways = append(ways, HowRefund)
		}
		ways = append(ways, HowDismiss)
		return nil
	})
	return ways
}

// RefundWays tells how [Office.SettleRefund] can decide about refund i of an order.
func (o *Office) RefundWays(n *Order, i int) (ways []string) {
	p, _ := n.payer()
	asked, state := p != nil && o.providers[p.Provider] != nil, n.Refunds[i].State
	if state == RefundFailed || state == RefundRequested && !asked {
		ways = append(ways, HowComplete)
	}
	if asked && (state == RefundFailed || state == RefundRequested) {
		ways = append(ways, HowRefund)
	}
	if n.mayDrop(i) {
		ways = append(ways, HowDismiss)
	}
	return ways
}

// BackAt is when the money of a receipt goes back by itself unless somebody
// decides before; zero when it does not wait.
func (rc *Receipt) BackAt() time.Time {
	if rc.Attention != wrongSum || rc.Refund == nil || rc.Refund.State != RefundRequested || rc.Refund.By != houseActor {
		return time.Time{}
	}
	return rc.Refund.At.Add(decideTime)
}

// settleReturned takes what was told of refunds of an order, whose money is all
// back now, off the attention list: there is nothing left to decide.
func settleReturned(tx Tx, n *Order) {
	p, ok := n.payer()
	open := func(rc *Receipt) bool {
		return ok && rc.Settled == nil && (rc.Attention == partialRefund || rc.Attention == unexpectedRefund) && p.is(rc.Fact)
	}
	for _, old := range tx.Matters(open) {
		rc := old.clone()
		rc.Settled = &Settled{At: tx.Now(), By: houseActor, How: HowComplete, Reason: "the whole order is returned"}
		tx.PutReceipt(rc)
	}
}

// SettleMessage decides about a message that is dead at some sinks: those copies
// are given up. A copy that still waits for another sink goes on. It refuses with
// [ErrNoSuchMatter], [ErrNotThatWay] and [ErrBadReason].
func (o *Office) SettleMessage(id string, d Decision) error {
	if err := d.check(); err != nil {
		return err
	}
	o.deciding <- struct{}{}
	defer func() { <-o.deciding }()
	copies, err := o.copiesOf(id)
	if err != nil {
		return err
	}
	dead := copies[:0]
	for _, m := range copies {
		if m.State == outbox.Dead {
			dead = append(dead, m)
		}
	}
	switch {
	case len(dead) == 0:
		return ErrNoSuchMatter
	case d.How == HowRefund:
		return ErrNotThatWay.say("A message is no money. Try it again, or give it up.")
	}
	return o.decide(dead, drop, func(tx Tx) {
		for _, m := range dead {
			o.audit(tx, d.Actor, "", drop.act, strings.TrimSpace(m.Topic+" "+m.ID+" to "+outbox.Mask(m.Sink)+" "+d.Reason))
		}
	})
}
