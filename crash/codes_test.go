package crash

import (
	"math/rand/v2"
	"net/http"
	"sync"
)

// codeFact is a code as acknowledged.
type codeFact struct {
	text  string
	class string          // of the places it gives: "member", or "" for the public
	limit int             // how many people it lets in
	hands int             // how many visitors got it from the rig
	gave  map[string]bool // queueIds of the places that were acknowledged
	open  int             // joins with it that may have used it, or may yet
}

// rack is the codes of one event.
type rack struct {
	making  sync.Mutex
	batches []*batchFact
	all     []*codeFact
	at      int // this one is handed out now
}

// batchFact is codes that were made at once.
type batchFact struct {
	number int
	codes  []*codeFact
}

// uses are those that were acknowledged, and how many there may be.
func (b *batchFact) uses() (least, most int) {
	for _, c := range b.codes {
		least += len(c.gave)
		most += len(c.gave) + c.open
	}
	return least, most
}

// batchSize is few enough for a long run to need several.
const batchSize = 24

// class is that of the place he gets.
func (v *visitor) class() string {
	if v.code == nil {
		return ""
	}
	return v.code.class
}

// code hands out a code. The same one goes to more people than it is good for, one
// after the other, and at times again when it must have been used up for long.
func (r *rig) code(e *event, rng *rand.Rand) *codeFact {
	l := r.ledger
	l.mu.Lock()
	if l.racks[e] == nil {
		l.racks[e] = &rack{}
	}
	k := l.racks[e]
	l.mu.Unlock()
	k.making.Lock() // one makes a batch, the others wait for it
	defer k.making.Unlock()
	if k.at >= len(k.all) && !r.makeCodes(e, k) {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if k.at > 0 && rng.IntN(8) == 0 {
		return k.all[rng.IntN(k.at)]
	}
	c := k.all[k.at]
	if c.hands++; c.hands >= c.limit+2 {
		k.at++
	}
	return c
}

// makeCodes lets staff make a batch. Codes that nobody was told are lost: another
// batch is made then.
func (r *rig) makeCodes(e *event, k *rack) bool {
	n := len(k.batches)
	class, uses := "member", 1+n%3
	if n%2 == 1 && !e.presale {
		class = "public"
	}
	a, _ := r.insist(func() *answer {
		return r.call("staff", "POST", "/api/v1/admin/events/"+e.id+"/codes", object{"count": batchSize, "class": class, "uses": uses},
			"Authorization", "Bearer "+adminKey)
	})
	var d struct {
		Batch int
		Codes []string
	}
	if a.decode(&d); a.status != http.StatusCreated || len(d.Codes) != batchSize {
		if !r.over() {
			r.ledger.fault("answer", "codes of %s: %d %.200s", e.id, a.status, a.body)
		}
		return false
	}
	if class == "public" {
		class = ""
	}
	b := &batchFact{number: d.Batch}
	for _, text := range d.Codes {
		b.codes = append(b.codes, &codeFact{text: text, class: class, limit: uses, gave: map[string]bool{}})
	}
	r.ledger.mu.Lock()
	defer r.ledger.mu.Unlock()
	k.batches, k.all = append(k.batches, b), append(k.all, b.codes...)
	return true
}

// shows notes a join with a code before it is sent.
func (l *ledger) shows(c *codeFact) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.open++
}

// shown takes in what came of it. One that was not answered may have used the code.
func (l *ledger) shown(c *codeFact, a *answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case a.unsent:
		c.open--
	case a.status == http.StatusCreated, a.status == http.StatusOK:
		c.open--
		d := a.place()
		c.gave[d.QueueID] = true
		if len(c.gave) > c.limit {
			l.faultLocked("codes", "code %s lets %d people in, and %d places came of it", c.text, c.limit, len(c.gave))
		}
	case a.code() == "code_used":
		c.open--
		if len(c.gave)+c.open < c.limit {
			l.faultLocked("codes", "code %s lets %d people in and was refused as used up; %d got in, and %d may have", c.text, c.limit, len(c.gave), c.open)
		}
	case a.decided():
		c.open--
		l.faultLocked("answer", "join with code %s: %d %s", c.text, a.status, a.body)
	}
}

// auditCodes counts the uses of every batch, and shows codes that are used up to a
// house that has just risen.
func (r *rig) auditCodes() bool {
	r.mu.Lock()
	events := r.events
	r.mu.Unlock()
	rng := rand.New(rand.NewPCG(r.seed, 2000+uint64(r.life.Load())))
	for _, e := range events {
		r.ledger.mu.Lock()
		k := r.ledger.racks[e]
		var full []*codeFact
		var least []int
		if k != nil {
			for _, b := range k.batches {
				n, _ := b.uses()
				least = append(least, n)
			}
			for _, c := range k.all {
				if len(c.gave) >= c.limit {
					full = append(full, c)
				}
			}
		}
		r.ledger.mu.Unlock()
		if len(least) > 0 && !r.auditBatches(e, k, least) {
			return false
		}
		for i := range min(5, len(full)) {
			c := full[len(full)-1-i] // the latest, and any
			if i > 2 {
				c = full[rng.IntN(len(full))]
			}
			if !r.auditUsed(e, c) {
				return false
			}
		}
	}
	return true
}

// auditBatches compares the uses that staff see with those acknowledged before.
func (r *rig) auditBatches(e *event, k *rack, least []int) bool {
	a := r.call("audit", "GET", "/api/v1/admin/events/"+e.id+"/codes", nil, "Authorization", "Bearer "+adminKey)
	if !a.known() {
		return false
	}
	var d struct{ Items []struct{ Batch, People int } }
	if a.decode(&d); a.status != http.StatusOK {
		r.ledger.fault("answer", "codes of %s: %d %s", e.id, a.status, a.body)
		return true
	}
	people := map[int]int{}
	for _, b := range d.Items {
		people[b.Batch] = b.People
	}
	r.ledger.mu.Lock()
	defer r.ledger.mu.Unlock()
	for i, n := range least {
		b := k.batches[i]
		got, shown := people[b.number]
		if _, most := b.uses(); !shown || got < n || got > most {
			r.ledger.faultLocked("codes", "batch %d of %s let %d people in; acknowledged were %d, and %d may have come", b.number, e.id, got, n, most)
		}
	}
	return true
}

// auditUsed lets a new visitor show a code that is used up.
func (r *rig) auditUsed(e *event, c *codeFact) bool {
	v := &visitor{r: r, event: e, code: c}
	a := r.call("audit", "POST", "/api/v1/visitors", nil)
	if v.comes(a) {
		a = v.joinOnce()
	}
	return a.known()
}
