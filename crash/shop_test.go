package crash

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// actFact is what a shop did with one turn, as acknowledged.
type actFact struct {
	inFlight int
	asked    map[string]moment // Idempotency-Key -> when it was first sent
	done     map[string]bool   // it was answered as done
	claim    *actDone          // nothing that takes it off was asked for since
	consume  *actDone
}

// actDone is an act that was done, with its answer.
type actDone struct {
	key, customer string
	body          []byte
	until         moment
}

// tokenDoc is what a shop is told of a turn.
type tokenDoc struct {
	Valid                  bool
	TokenState, CustomerID string
	ExpiresAt              time.Time
}

// buysElsewhere is a turn in the hands of a shop with orders of its own: it claims
// the turn, thinks better of it, claims it again, uses it up, or forgets it.
func (v *visitor) buysElsewhere() {
	customer := ""
	if v.rng.IntN(3) > 0 {
		customer = fmt.Sprintf("c-%d", v.rng.Uint32())
	}
	for range 3 {
		if !v.claims(customer) {
			break
		}
		v.think()
		v.secondTab(func() { v.poll() }, func() { v.verify() })
		switch n := v.rng.IntN(20); {
		case n < 7:
			v.onToken(opRelease, v.key(), v.maybe(customer))
			continue
		case n < 9:
			v.secondTab(func() { v.verify() }, v.leave)
			return
		case n < 11:
			v.watchesTheEnd()
			return
		}
		v.consumes(customer)
		return
	}
	v.leave()
}

// key is a new Idempotency-Key.
func (v *visitor) key() string { return fmt.Sprintf("key-%d", v.rng.Uint64()) }

// maybe leaves the customer out at times, as a shop may after the claim.
func (v *visitor) maybe(customer string) string {
	if v.rng.IntN(3) == 0 {
		return ""
	}
	return customer
}

// claims takes the turn for the shop, at times from two servers at once, of which
// one wins.
func (v *visitor) claims(customer string) bool {
	one, other := v.key(), v.key()
	if v.rng.IntN(4) > 0 {
		return v.onToken(opClaim, one, customer).status == http.StatusOK
	}
	all := v.both(func() *answer { return v.onToken(opClaim, one, customer) }, func() *answer { return v.onToken(opClaim, other, customer) })
	return all[0].status == http.StatusOK || all[1].status == http.StatusOK
}

// both makes two calls at once.
func (v *visitor) both(one, other func() *answer) (all [2]*answer) {
	var wg sync.WaitGroup
	wg.Go(func() { all[0] = one() })
	wg.Go(func() { all[1] = other() })
	wg.Wait()
	return all
}

// consumes uses the turn up, at times from two servers at once, under one key or
// two. Afterwards nobody claims it and nobody uses it again.
func (v *visitor) consumes(customer string) {
	r, key, other := v.r, v.key(), v.key()
	if v.rng.IntN(8) == 0 { // another buyer's
		if a := v.onToken(opConsume, v.key(), "somebody else"); a.status == http.StatusOK {
			r.ledger.fault("tokens", "turn %s, claimed for %q, was used up for another customer", v.place.queueID, customer)
		}
	}
	named, again := v.maybe(customer), other
	if v.rng.IntN(2) == 0 {
		again = key
	}
	if v.rng.IntN(3) == 0 {
		all := v.both(func() *answer { return v.onToken(opConsume, key, named) }, func() *answer { return v.onToken(opConsume, again, named) })
		if again == key && !bytes.Equal(all[0].body, all[1].body) && !r.over() {
			r.ledger.fault("tokens", "turn %s: one key, two answers: %s, %s", v.place.queueID, all[0].body, all[1].body)
		}
	} else {
		v.onToken(opConsume, key, named)
	}
	switch v.rng.IntN(4) {
	case 0:
		v.onToken(opConsume, v.key(), named)
	case 1:
		v.onToken(opClaim, v.key(), customer)
	case 2:
		v.onToken(opRelease, v.key(), named)
	}
	v.verify()
}

// watchesTheEnd lets a claim lapse.
func (v *visitor) watchesTheEnd() {
	for !v.r.ending() {
		if d := v.verify(); d != nil && !d.Valid {
			return
		}
		time.Sleep(time.Duration(100+v.rng.IntN(200)) * time.Millisecond)
	}
}

// tokenRefusals are those that a shop may meet.
var tokenRefusals = []string{"turn_in_use", "turn_not_claimed", "entry_token_expired", "not_admitted"}

// onToken repeats an act of a shop with its key until it is answered. All that is
// done under one key is one act, at some moment from the first try to the first
// answer; a refusal is of the last try.
func (v *visitor) onToken(kind opKind, key, customer string) *answer {
	r, p := v.r, v.place
	r.ledger.acts(p, kind, key, r.clock.now())
	a, _ := r.insist(func() *answer { return r.onToken(p, kind, key, customer) })
	o := op{kind: kind, event: v.event.id, turn: p.queueID, visitor: v, customer: customer, start: a.start, end: a.end, life: a.life, sure: true, refusal: a.code()}
	switch {
	case a.status == http.StatusOK:
		var d tokenDoc
		a.decode(&d)
		o.status, o.deadline = d.TokenState, r.clock.of(d.ExpiresAt)
		if want := cmp.Or(customer, v.id); kind == opClaim && d.CustomerID != want {
			r.ledger.fault("tokens", "turn %s was claimed for %q, and the answer says %q", p.queueID, want, d.CustomerID)
		}
	case slices.Contains(tokenRefusals, o.refusal):
		r.counts.add(o.refusal, 1)
	default:
		if !r.over() {
			r.ledger.fault("answer", "%s of a turn: %d %s", kind, a.status, a.body)
		}
		return a
	}
	r.ledger.acted(p, o, key, a)
	return a
}

// onToken makes one try.
func (r *rig) onToken(p *placeFact, kind opKind, key, customer string) *answer {
	body := object{"token": p.token}
	if customer != "" {
		body["customerId"] = customer
	}
	return r.call("token/"+string(kind), "POST", p.event.path("/tokens/"+string(kind)), body, "Authorization", "Bearer "+adminKey, "Idempotency-Key", key)
}

// acts notes an act on a turn before it is sent.
func (l *ledger) acts(p *placeFact, kind opKind, key string, now moment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.acts.asked == nil {
		p.acts.asked, p.acts.done = map[string]moment{}, map[string]bool{}
	}
	p.acts.inFlight++
	if p.acts.asked[key] == 0 {
		p.acts.asked[key] = now
	}
	if kind != opClaim {
		p.acts.claim = nil
	}
	if kind == opConsume {
		p.mayEnd, p.endedBy = true, min(p.endedBy, now)
	}
}

// acted takes in its answer.
func (l *ledger) acted(p *placeFact, o op, key string, a *answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p.acts.inFlight--
	if o.refusal == "" {
		o.start = p.acts.asked[key]
	}
	if !p.acts.done[key] {
		l.ops = append(l.ops, o)
	}
	p.acts.done[key] = p.acts.done[key] || o.refusal == ""
	done := &actDone{key, o.customer, a.body, o.deadline}
	switch {
	case o.refusal != "":
	case o.kind == opClaim:
		p.acts.claim = done
	case o.kind == opConsume:
		if was := p.acts.consume; was != nil && was.key != key {
			l.faultLocked("tokens", "turn %s of %s was used up twice, under the keys %s and %s", p.queueID, p.event.id, was.key, key)
		}
		p.acts.consume = done
	}
}

// verify asks how the turn stands; nil when there was no answer.
func (v *visitor) verify() *tokenDoc { d, _ := v.r.verify(v.place); return d }

func (r *rig) verify(p *placeFact) (*tokenDoc, *answer) {
	a := r.call("token/verify", "POST", p.event.path("/tokens/verify"), object{"token": p.token}, "Authorization", "Bearer "+adminKey)
	if !a.decided() {
		return nil, a
	}
	var d tokenDoc
	if a.decode(&d); a.status != http.StatusOK || d.TokenState == "" {
		r.ledger.fault("answer", "verify %s: %d %s", p.queueID, a.status, a.body)
		return nil, a
	}
	r.counts.add("token "+d.TokenState, 1)
	r.ledger.add(op{kind: opSeen, event: p.event.id, turn: p.queueID, visitor: p.visitor, status: d.TokenState, customer: d.CustomerID,
		deadline: r.clock.of(d.ExpiresAt), start: a.start, end: a.end, life: a.life, sure: true})
	return &d, a
}

// auditTokens asks a house that has just risen for the claims that it acknowledged,
// and for some of the turns that were used up.
func (r *rig) auditTokens() bool {
	type left struct {
		place *placeFact
		act   *actDone
	}
	var claimed, consumed []left
	r.ledger.mu.Lock()
	now := r.clock.now()
	for _, p := range r.ledger.places {
		switch {
		case p.acts.inFlight > 0:
		case p.acts.consume != nil:
			consumed = append(consumed, left{p, p.acts.consume})
		case p.acts.claim != nil && !p.mayEnd && p.acts.claim.until > now:
			claimed = append(claimed, left{p, p.acts.claim})
		}
	}
	r.ledger.mu.Unlock()
	slices.SortFunc(consumed, func(a, b left) int { return cmp.Compare(b.place.calledAt, a.place.calledAt) })
	for _, p := range claimed {
		if !r.auditAct(p.place, p.act, opClaim, "CLAIMED") {
			return false
		}
	}
	for _, p := range consumed[:min(8, len(consumed))] {
		if !r.auditAct(p.place, p.act, opConsume, "CONSUMED") {
			return false
		}
	}
	return true
}

// auditAct holds the house to one act: the turn stands as it was left, its key gives
// its answer and nothing else, and under no other key is it claimed or used up.
func (r *rig) auditAct(p *placeFact, done *actDone, kind opKind, state string) bool {
	bad := func(what string, a *answer) {
		r.ledger.fault("tokens", "turn %s of %s was acknowledged as %s until %v; after a restart %s: %d %s (%v)", p.queueID, p.event.id, state, done.until, what, a.status, a.body, a.start)
	}
	d, a := r.verify(p)
	if d == nil {
		return a.known()
	}
	if lasts := kind == opConsume || a.end+slack < done.until; d.TokenState != state && lasts {
		bad("it is", a)
	}
	if a = r.onToken(p, kind, done.key, "nobody"); a.decided() && a.code() != "idempotency_key_reused" { // first: the other would bring a lost record back
		bad("its key for another customer gives", a)
	}
	b := r.onToken(p, kind, done.key, done.customer)
	if b.decided() && (b.status != http.StatusOK || !bytes.Equal(b.body, done.body)) {
		bad("its key gives", b)
	}
	if !a.known() || !b.known() {
		return false
	}
	if kind == opClaim {
		return true
	}
	for _, again := range []opKind{opClaim, opConsume} {
		a = r.onToken(p, again, fmt.Sprintf("after-%d-%s", r.life.Load(), again), done.customer)
		if a.decided() && a.code() != "turn_in_use" {
			bad("another "+string(again)+" gives", a)
		}
		if !a.known() {
			return false
		}
	}
	return true
}
