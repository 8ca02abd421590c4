package crash

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

var stormFlag = flag.Int("crash.orders", 2000, "how many buyers pay in the money storm")

const (
	stormEvent  = "/api/v1/events/storm"
	stormCrowd  = 16 // buyers at a time
	stormDeaths = 8
	stormHold   = 4 // seconds
	stormPay    = 2
	stormMargin = 2
)

// storm is many buyers, a bank whose webhooks come late, twice, in any order or
// never, and a program that dies in the middle.
type storm struct {
	*rig
	bank   *bank
	staff  []string
	seats  int // fewer than they all want
	mu     sync.Mutex
	orders map[string]*stormOrder
	freed  [][]string // seats whose orders ended without money, so far
}

// stormOrder is one order as its buyer knows it.
type stormOrder struct {
	id, credential string
	total          int64
	seats          []string
}

// TestB90MoneyStorm holds the program to the bank's book: money in is PAID,
// REFUND_DUE, REFUNDED or on the attention list, to the unit; what the bank gave
// back was asked for once; no seat is sold twice; every order has come to an end.
func TestB90MoneyStorm(t *testing.T) {
	s := &storm{
		rig:   &rig{t: t, seed: seed(), clock: clock{time.Now()}, ledger: newLedger(), up: make(chan struct{}), hits: map[string]int{}, counts: counts{of: map[string]int{}}},
		staff: []string{"Authorization", "Bearer " + adminKey}, orders: map[string]*stormOrder{},
		seats: *stormFlag * 13 / 10,
	}
	t.Logf("seed %d; the same choices again: go test ./crash -run B90 -crash.seed=%d", s.seed, s.seed)
	s.sink = newSink(s.seed)
	defer s.sink.server.Close()
	s.bank = newBank(s.seed)
	defer s.bank.server.Close()
	s.bank.post = func(body []byte, signature string) {
		s.insist(func() *answer {
			return s.call("webhook", "POST", "/api/v1/payments/stripe/webhook", body, "Stripe-Signature", signature)
		})
	}
	s.house = &house{dir: filepath.Join(t.TempDir(), "data"), addr: freePort(), sink: s.sink.server.URL, env: []string{
		"FOYER_STRIPE_KEY=" + bankKey, "FOYER_STRIPE_WEBHOOK_SECRET=" + bankSecret, "FOYER_STRIPE_URL=" + s.bank.server.URL,
	}}
	defer s.house.kill()
	if err := s.house.start(""); err != nil {
		t.Fatalf("%v\n%s", err, s.house.log)
	}
	s.openDoor()
	if !s.opens() {
		t.Fatal("the sale does not open")
	}
	began := time.Now()
	var crowd sync.WaitGroup
	numbers := make(chan int)
	for range stormCrowd {
		crowd.Go(func() {
			for i := range numbers {
				s.buys(rand.New(rand.NewPCG(s.seed, uint64(i))))
			}
		})
	}
	for i := range *stormFlag {
		numbers <- i
		if i%(*stormFlag/stormDeaths+1) == *stormFlag/(2*stormDeaths) {
			s.dies()
		}
	}
	close(numbers)
	crowd.Wait()
	s.settles()
	s.reckonStorm()
	t.Logf("%d orders, %d pages at the bank, %d refunds there, %d kills, in %v; %v", len(s.orders), len(s.bank.sessions), len(s.bank.refunds), s.kills,
		time.Since(began).Round(time.Second), s.counts.of)
	for _, f := range s.bank.faults {
		s.ledger.fault("bank", "%s", f)
	}
	for _, f := range s.ledger.faults {
		t.Errorf("seed %d: %v", s.seed, f)
	}
}

// opens makes the event.
func (s *storm) opens() bool {
	a := s.call("staff", "POST", "/api/v1/admin/events", object{
		"id": "storm", "name": "Storm", "timeZone": "UTC", "currency": "EUR", "line": "off", "prices": object{"Stalls": price}, "providers": []string{"stripe"},
		"rules": object{"maxActive": 20000, "turnSeconds": 120, "holdSeconds": stormHold, "paySeconds": stormPay, "payMarginSeconds": stormMargin},
	}, s.staff...)
	var csv strings.Builder
	csv.WriteString("zone,row,seat,category\n")
	for i := range s.seats {
		fmt.Fprintf(&csv, "Stalls,A,%d,Stalls\n", i+1)
	}
	b := s.call("staff", "PUT", "/api/v1/admin"+stormEvent[len("/api/v1"):]+"/plan", []byte(csv.String()), append(s.staff, "Content-Type", "text/csv")...)
	return a.status == http.StatusCreated && b.status == http.StatusOK
}

// dies kills the program, has its file checked and starts it again.
func (s *storm) dies() {
	s.shutDoor()
	s.house.kill()
	s.kills++
	if !*blindFlag {
		if err := s.house.checkFile(); err != nil {
			s.ledger.fault("file", "%v", err)
		}
	}
	s.life.Add(1)
	if err := s.house.start(""); err != nil {
		s.ledger.fault("process", "%v", err)
		s.broken.Store(true)
	}
	s.openDoor()
}

// asks makes a call until it is answered.
func (s *storm) asks(act, method, path string, body any, headers ...string) *answer {
	a, _ := s.insist(func() *answer { return s.call(act, method, path, body, headers...) })
	return a
}

// buys is one buyer's evening.
func (s *storm) buys(rng *rand.Rand) {
	var who struct{ Credential string }
	s.asks("visitor", "POST", "/api/v1/visitors", object{}).decode(&who)
	me := []string{"X-Visitor", who.Credential}
	p := s.asks("join", "POST", stormEvent+"/queue", object{}, me...).place()
	o := s.holds(rng, p.EntryToken, me)
	if o == nil {
		s.counts.add("no seats", 1)
		return
	}
	o.credential = who.Credential
	s.mu.Lock()
	s.orders[o.id] = o
	s.mu.Unlock()
	dice := rng.IntN(100)
	switch {
	case dice < 5:
		s.counts.add("left", 1)
		return
	case dice < 10:
		s.bank.mu.Lock()
		s.bank.hasty[o.id] = true
		s.bank.mu.Unlock()
	}
	page := s.pays(o, me)
	if page == "" || dice < 10 {
		return
	}
	s.acts(rng, o, page, dice, me)
}

// acts is what a buyer does on the bank's page, and what the bank makes of it.
func (s *storm) acts(rng *rand.Rand, o *stormOrder, page string, dice int, me []string) {
	soon := time.Duration(rng.IntN(1000)) * time.Millisecond
	tooLate := (stormPay + stormMargin + stormHold) * time.Second
	switch {
	case dice < 18: // the bank takes another sum
		wrongs := []func(*session){
			func(p *session) { p.amount-- }, func(p *session) { p.amount++ }, func(p *session) { p.currency = "usd" }, func(p *session) { p.amount *= 100 },
		}
		s.counted("wrong sum", s.bank.pay(page, wrongs[rng.IntN(len(wrongs))], false, rng.IntN(4) > 0, soon))
	case dice < 26: // the first try fails, the second does not, and then the first one's money comes after all
		s.bank.expire(page)
		s.until(o, me, func(status string) bool { return status != "PAYING" })
		if second := s.pays(o, me); second != "" && second != page {
			s.counted("second try", s.bank.pay(second, nil, false, true, 0))
			s.bank.news.Go(func() {
				time.Sleep(2 * time.Second)
				s.counted("money twice", s.bank.pay(page, nil, true, true, soon))
			})
		}
	case dice < 36:
		s.counted("lost", s.bank.pay(page, nil, false, false, 0))
	case dice < 42:
		s.counted("told too late", s.bank.pay(page, nil, false, true, tooLate))
	case dice < 50:
		s.bank.news.Go(func() {
			time.Sleep(tooLate)
			s.offer(o.seats)
			time.Sleep(soon) // somebody may take them
			s.counted("paid too late", s.bank.pay(page, nil, true, true, soon))
		})
	case dice < 54:
		s.counts.add("gave up", 1)
	case dice < 60:
		if s.bank.pay(page, nil, false, true, 0) && s.until(o, me, func(status string) bool { return status == "PAID" }) {
			s.refunds(rng, o)
		}
	default:
		s.counted("paid", s.bank.pay(page, nil, false, true, soon))
	}
}

func (s *storm) counted(what string, is bool) {
	if is {
		s.counts.add(what, 1)
	}
}

// offer lets the next buyers try for seats that somebody is about to pay too late.
func (s *storm) offer(seats []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.freed = append(s.freed, seats)
}

func (s *storm) offered() (seats []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.freed) > 0 {
		seats, s.freed = s.freed[0], s.freed[1:]
	}
	return seats
}

// holds takes one or two seats that are free.
func (s *storm) holds(rng *rand.Rand, token string, me []string) *stormOrder {
	for range 60 {
		wish := s.offered()
		if wish == nil {
			first := rng.IntN(s.seats)
			wish = []string{fmt.Sprintf("A-%d", first+1), fmt.Sprintf("A-%d", (first+1)%s.seats+1)}[:1+rng.IntN(2)]
		}
		a := s.asks("hold", "POST", stormEvent+"/holds", object{"seats": wish}, append(me, "X-Entry-Token", token)...)
		switch d := a.order(); {
		case a.status == http.StatusCreated:
			return &stormOrder{id: d.OrderID, total: d.Total.Amount, seats: d.seats()}
		case a.code() != "seats_taken":
			s.ledger.fault("answer", "hold: %d %s", a.status, a.body)
			return nil
		}
	}
	return nil
}

// pays starts a payment and gives the bank's name for it; "" without one.
func (s *storm) pays(o *stormOrder, me []string) string {
	for range 20 {
		a := s.asks("pay", "POST", "/api/v1/orders/"+o.id+"/pay", object{"provider": "stripe"}, me...)
		var d struct{ PaymentID string }
		switch a.decode(&d); {
		case a.status == http.StatusOK:
			return d.PaymentID
		case a.code() == "hold_expired", a.code() == "order_paid":
			return ""
		case a.code() != "provider_unavailable":
			s.ledger.fault("answer", "pay: %d %s", a.status, a.body)
			return ""
		}
		time.Sleep(50 * time.Millisecond)
	}
	return ""
}

// until waits for a status that will do.
func (s *storm) until(o *stormOrder, me []string, will func(string) bool) bool {
	for deadline := time.Now().Add(3 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if d := s.asks("order", "GET", "/api/v1/orders/"+o.id, nil, me...).order(); will(d.Status) {
			return true
		}
	}
	return false
}

// refunds is staff taking back a seat, or all of them.
func (s *storm) refunds(rng *rand.Rand, o *stormOrder) {
	wish := object{"reason": "storm"}
	if rng.IntN(2) == 0 {
		wish["seats"] = o.seats[:1]
	}
	a := s.asks("refund", "POST", "/api/v1/admin/orders/"+o.id+"/refund", wish, s.staff...)
	if a.status != http.StatusOK {
		s.ledger.fault("answer", "refund: %d %s", a.status, a.body)
	}
}
