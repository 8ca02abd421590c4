package crash

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// sign makes the signature of Standard Webhooks: HMAC-SHA256 over id.timestamp.body.
func sign(secret, id, timestamp string, body []byte) string {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		panic(err)
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", id, timestamp, body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// provider tells of payments as real ones do: until it is answered with 2xx,
// and more than once.
type provider struct {
	r     *rig
	tasks sync.WaitGroup
	ids   atomic.Int64
}

// news is what the provider tells.
type news struct {
	payment, kind string
	order         *orderFact
	amount        int64
	again         int // how often it is told again after it was acknowledged
}

// later tells at a moment; wait returns when the program has acknowledged it.
func (p *provider) later(n news, at moment, wait bool) {
	done := make(chan struct{})
	p.tasks.Go(func() {
		defer close(done)
		time.Sleep(time.Duration(at - p.r.clock.now()))
		p.tell(n)
	})
	if wait {
		<-done
	}
}

func (p *provider) tell(n news) {
	l, o := p.r.ledger, n.order
	if n.kind == "failed" {
		l.begin(o.id, func(o *orderFact) { o.mayFail = true })
		defer l.end(o.id, nil)
	} else {
		l.pays(n.payment, o, n.amount, p.r.clock.now())
	}
	id := fmt.Sprintf("msg_%d", p.ids.Add(1))
	a, _ := p.r.insist(func() *answer { return p.post(id, n) })
	if a.status == http.StatusOK && n.kind == "succeeded" {
		l.told(n.payment, o)
	}
	for i := range n.again {
		if i == 1 {
			id = fmt.Sprintf("msg_%d", p.ids.Add(1)) // the same payment in another event
		}
		p.r.insist(func() *answer { return p.post(id, n) })
	}
}

// post makes one try.
func (p *provider) post(id string, n news) *answer {
	r := p.r
	body, err := json.Marshal(object{"type": "payment." + n.kind, "paymentId": n.payment, "orderId": n.order.id, "amount": n.amount, "currency": "EUR",
		"createdAt": time.Now().UTC().Format("2006-01-02T15:04:05.000Z")})
	if err != nil {
		panic(err)
	}
	stamp := strconv.FormatInt(time.Now().Unix(), 10)
	o := n.order
	r.ledger.begin(o.id, func(*orderFact) {})
	a := r.call("webhook", "POST", "/api/v1/payments/demo/webhook", body,
		"webhook-id", id, "webhook-timestamp", stamp, "webhook-signature", sign(demoSecret, id, stamp, body))
	r.ledger.end(o.id, nil)
	switch {
	case a.unsent || a.status >= 500:
	case a.known() && a.status != http.StatusOK:
		r.ledger.fault("answer", "webhook %s: %d %s", id, a.status, a.body)
	case n.kind == "succeeded" && n.amount == o.total:
		r.ledger.add(op{kind: opMoney, event: o.event, turn: o.turn, order: o.id, visitor: o.visitor, seats: o.seats, start: a.start, end: a.end, life: a.life, sure: a.known()})
	}
	return a
}
