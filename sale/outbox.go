package sale

import (
	"foyer/outbox"
)

// Relay is told what staff decided about messages, after the commit.
type Relay interface {
	Retry(seq uint64)
	Forget(seq uint64)
}

// Messages lists messages of a state ("" = any) that are not delivered, oldest
// first, after a sequence number, at most n, without their bodies.
func (o *Office) Messages(state outbox.State, after uint64, n int) ([]outbox.Message, error) {
	return o.store.Messages(state, after, n)
}

// RetryMessage lets a message be delivered again now, to every sink that does
// not have it, with its tries counted anew. It refuses with [ErrNoSuchMessage].
func (o *Office) RetryMessage(actor, id string) error {
	return o.decideMessage(actor, id, "message.retry", func(seq uint64) outbox.Outcome {
		return outbox.Outcome{Seq: seq, State: outbox.Waiting}
	}, Relay.Retry)
}

// DropMessage gives a message up for good, at every sink that does not have it.
func (o *Office) DropMessage(actor, id string) error {
	return o.decideMessage(actor, id, "message.drop", func(seq uint64) outbox.Outcome {
		return outbox.Outcome{Seq: seq, Delivered: true}
	}, Relay.Forget)
}

func (o *Office) decideMessage(actor, id, act string, outcome func(uint64) outbox.Outcome, tell func(Relay, uint64)) error {
	copies, err := o.copiesOf(id)
	if err != nil {
		return err
	}
	if len(copies) == 0 {
		return ErrNoSuchMessage
	}
	err = o.store.Update(func(tx Tx) error {
		for _, m := range copies {
			tx.Settle(outcome(m.Seq))
			o.audit(tx, actor, "", act, m.Topic+" "+m.ID+" to "+outbox.Mask(m.Sink))
		}
		return nil
	})
	if err == nil && o.relay != nil {
		for _, m := range copies {
			tell(o.relay, m.Seq)
		}
	}
	return err
}

// copiesOf finds a message's copies, one per sink that does not have it.
func (o *Office) copiesOf(id string) (copies []outbox.Message, err error) {
	const page = 1000
	for after := uint64(0); ; {
		some, err := o.store.Messages("", after, page)
		if err != nil {
			return nil, err
		}
		for _, m := range some {
			if m.ID == id {
				copies = append(copies, m)
			}
		}
		if len(some) < page {
			return copies, nil
		}
		after = some[len(some)-1].Seq
	}
}
