package sale_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"foyer/outbox"
	"foyer/sale"
	"foyer/seats"
	"foyer/store"
)

// gala is the event of most scripts: twelve Stalls at 42.50 and six of the Balcony at 29.00.
const gala = "gala"

// shortRules are deadlines that are easy to tell apart.
var shortRules = sale.Rules{
	AdmitPerSecond: 50, MaxActive: 100, TurnSeconds: 300, PickupSeconds: 60, ReturnSeconds: 600, HoldSeconds: 120,
	PaySeconds: 240, PayMarginSeconds: 60, MaxSeatsPerOrder: 4, MaxWaiting: 1000, MemberShare: 7, Buyer: "none",
}

// house is an office over a real file, inside a bubble of virtual time.
type house struct {
	*testing.T
	*sale.Office
	store *store.Store
	dir   string
	began time.Time
	bank  *bank
	sinks func(topic string) []string
	desk  *desk // nil: the bubble's clock, and nothing beside it
}

// play runs a script in a house whose event "gala" has these rules. At its
// end the house is closed and opened again: what memory counted must be what
// the rows tell.
func play(t *testing.T, rules func(*sale.Settings), script func(h *house)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &house{T: t, dir: t.TempDir(), began: time.Now(), bank: &bank{}}
		h.sinks = func(string) []string { return []string{"log:"} }
		h.open()
		defer func() {
			if err := h.store.Close(); err != nil {
				t.Error(err)
			}
		}()
		h.event(gala, rules)
		script(h)
		h.restart()
	})
}

func (h *house) open() {
	h.Helper()
	var err error
	if h.store, err = store.Open(h.dir, h.desk.options()); err != nil {
		h.Fatal(err)
	}
	h.Office = sale.New(sale.Config{
		Store: h.store, Secret: h.store.Secret(), Sinks: func(topic string) []string { return h.sinks(topic) },
		TicketCode: func(id uuid.UUID) string { return "code-" + id.String() }, Providers: []sale.Provider{h.bank},
		Ticket: func(code string) (uuid.UUID, bool) {
			id, err := uuid.Parse(strings.TrimPrefix(code, "code-"))
			return id, err == nil
		},
	})
}

// picture is everything that must look the same after a restart.
type picture struct {
	Status []sale.Status
	Live   []sale.Live
	Seats  []string
	Keys   []*sale.Key
	Open   []*sale.Receipt
}

func (h *house) picture() (p picture) {
	h.Helper()
	for _, e := range h.Events() {
		s, err := h.Status(e.ID)
		h.ok(err)
		l, err := h.Live(e.ID)
		h.ok(err)
		s.Pace, s.PaceReason, l.Status.Pace, l.Status.PaceReason = 0, "", 0, "" // what steers the pace starts anew
		p.Status, p.Live = append(p.Status, s), append(p.Live, l)
		if v, err := h.Office.Seats(e.ID); err == nil {
			p.Seats = append(p.Seats, fmt.Sprint(v.States))
		}
	}
	p.Keys, p.Open = h.Keys(), h.Attention()
	return p
}

// restart closes the file, opens it again and compares.
func (h *house) restart() {
	h.Helper()
	before := h.picture()
	h.ok(h.store.Close())
	h.sound()
	h.open()
	b, _ := json.MarshalIndent(before, "", " ")
	if a, _ := json.MarshalIndent(h.picture(), "", " "); string(a) != string(b) {
		h.Errorf("after a restart the house looks like\n%s\nbefore it was\n%s", a, b)
	}
}

func (h *house) event(id string, rules func(*sale.Settings)) *sale.Event {
	h.Helper()
	s := sale.DefaultSettings()
	s.ID, s.Name, s.Rules = id, strings.ToUpper(id), shortRules
	s.Prices = map[string]int64{"Stalls": 4250, "Balcony": 2900}
	if rules != nil {
		rules(&s)
	}
	e, err := h.CreateEvent("staff", s)
	h.ok(err)
	_, err = h.SetPlan("staff", id, hall(12, 6), false)
	h.ok(err)
	return e
}

// hall draws a plan of one row A of Stalls and one row B of the Balcony.
func hall(stalls, balcony int) *seats.Plan {
	row := func(name, category string, n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`{"id":"%s-%d","number":"%d","category":"%s"}`, name, i+1, i+1, category))
		}
		return fmt.Sprintf(`{"name":"%s","rows":[{"name":"%s","seats":[%s]}]}`, category, name, strings.Join(list, ","))
	}
	p, err := seats.Parse([]byte(fmt.Sprintf(`{"name":"Hall","categories":[{"name":"Stalls"},{"name":"Balcony"}],"zones":[%s,%s]}`,
		row("A", "Stalls", stalls), row("B", "Balcony", balcony))))
	if err != nil {
		panic(err)
	}
	return p
}

// at lets the clock run until this long after the script began.
func (h *house) at(d time.Duration) {
	h.Helper()
	wait := time.Until(h.began.Add(d))
	if wait < 0 {
		h.Fatalf("the script goes back in time by %s", -wait)
	}
	time.Sleep(wait)
}

func (h *house) tick(events ...string) {
	h.Helper()
	if events == nil {
		events = []string{gala}
	}
	for _, e := range events {
		_, err := h.Office.Tick(e, time.Second)
		h.ok(err)
	}
}

func (h *house) ok(err error) {
	h.Helper()
	if err != nil {
		h.Fatalf("unexpected: %v", err)
	}
}

// refused wants exactly this refusal, with these seats when any are named.
func (h *house) refused(err error, want *sale.Refusal, seats ...string) {
	h.Helper()
	var got *sale.Refusal
	switch {
	case !errors.As(err, &got) || got.Code != want.Code:
		h.Fatalf("got %v, want the refusal %s", err, want.Code)
	case seats != nil && !slices.Equal(got.Seats, seats):
		h.Errorf("%s names the seats %v, want %v", want.Code, got.Seats, seats)
	}
}

func (h *house) status() sale.Status {
	h.Helper()
	s, err := h.Status(gala)
	h.ok(err)
	return s
}

// line wants these counts of the gala.
func (h *house) line(waiting, active int) {
	h.Helper()
	if s := h.status(); s.Waiting != waiting || s.Active != active {
		h.Errorf("%s in: %d wait and %d are active, want %d and %d", time.Since(h.began), s.Waiting, s.Active, waiting, active)
	}
}

// seats wants this picture of the gala: H, S, O and A, row A then row B.
func (h *house) seats(want string) {
	h.Helper()
	v, err := h.Office.Seats(gala)
	h.ok(err)
	got := ""
	for _, s := range v.States {
		got += string(s)
	}
	if want = strings.ReplaceAll(want, " ", ""); got[:len(want)] != want || strings.Trim(got[len(want):], "A") != "" {
		h.Errorf("%s in: the house is %s, want %s", time.Since(h.began), got, want)
	}
}

// messages gives what the outside is told, in order.
func (h *house) messages() (list []outbox.Message) {
	h.Helper()
	light, err := h.store.Messages("", 0, 10_000)
	h.ok(err)
	for _, m := range light {
		m, found, err := h.store.Load(m.Seq)
		h.ok(err)
		if !found {
			h.Fatalf("message %d is listed and not there", m.Seq)
		}
		list = append(list, m)
	}
	return list
}

// told gives the topics about one order, in order, as one line.
func (h *house) told(order uuid.UUID) string {
	h.Helper()
	var topics []string
	for _, m := range h.messages() {
		if m.Key == "order:"+order.String() && m.Sink != sale.RefundSink {
			topics = append(topics, m.Topic)
		}
	}
	return strings.Join(topics, " ")
}

func (h *house) wantTold(order uuid.UUID, topics ...string) {
	h.Helper()
	if got, want := h.told(order), strings.Join(topics, " "); got != want {
		h.Errorf("about the order the outside is told %q, want %q", got, want)
	}
}

// together runs the functions so that they share one commit: the writer is held
// while they queue up.
func (h *house) together(fns ...func()) {
	h.Helper()
	gate, held := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		_ = h.store.Update(func(sale.Tx) error {
			close(held)
			<-gate
			return nil
		})
	})
	<-held
	for _, fn := range fns {
		all.Go(fn)
		synctest.Wait() // queue them in this order
	}
	close(gate)
	all.Wait()
}

// visitor is somebody at the door of one event.
type visitor struct {
	h     *house
	event string
	id    uuid.UUID
	name  uuid.UUID // queueId of the place seen last
	token string    // entry token seen last
	order uuid.UUID // order made last
}

func (h *house) visitor() *visitor { return h.visitorOf(gala) }

func (h *house) visitorOf(event string) *visitor {
	return &visitor{h: h, event: event, id: uuid.New()}
}

// crowd is n visitors who have joined, one after the other.
func (h *house) crowd(n int) (all []*visitor) {
	h.Helper()
	for range n {
		v := h.visitor()
		v.join()
		all = append(all, v)
	}
	return all
}

// buyer is a visitor who has his turn.
func (h *house) buyer() *visitor {
	h.Helper()
	v := h.visitor()
	if p := v.join(); p.Status != sale.Ready {
		h.Fatalf("no turn for the buyer: %s", p.Status)
	}
	return v
}

func (v *visitor) saw(p sale.PlaceView) sale.PlaceView {
	if p.QueueID != uuid.Nil {
		v.name = p.QueueID
	}
	if p.Token != "" {
		v.token = p.Token
	}
	return p
}

func (v *visitor) join() sale.PlaceView {
	v.h.Helper()
	p, _, err := v.h.Join(v.event, v.id)
	v.h.ok(err)
	return v.saw(p)
}

func (v *visitor) poll() sale.PlaceView {
	v.h.Helper()
	p, err := v.h.Poll(v.event, v.id)
	v.h.ok(err)
	return v.saw(p)
}

// is wants the visitor's place to stand like this; looking picks a turn up.
func (v *visitor) is(status string) sale.PlaceView {
	v.h.Helper()
	p := v.poll()
	if p.Status != status {
		v.h.Errorf("%s in: the visitor is %s, want %s", time.Since(v.h.began), p.Status, status)
	}
	return p
}

// has wants the visitor's turn to be in this state.
func (v *visitor) has(turn sale.TurnState) {
	v.h.Helper()
	if p := v.poll(); p.TokenState != turn {
		v.h.Errorf("%s in: the turn is %q (%s), want %q", time.Since(v.h.began), p.TokenState, p.Status, turn)
	}
}

func (v *visitor) try(seats ...string) (*sale.OrderView, error) {
	o, err := v.h.Hold(sale.HoldRequest{Event: v.event, Token: v.token, Visitor: v.id, Seats: seats})
	if err == nil {
		v.order = o.ID
	}
	return o, err
}

func (v *visitor) hold(seats ...string) *sale.OrderView {
	v.h.Helper()
	o, err := v.try(seats...)
	v.h.ok(err)
	return o
}

func (v *visitor) best(n int, category string) (*sale.OrderView, error) {
	o, err := v.h.Hold(sale.HoldRequest{Event: v.event, Token: v.token, Best: true, Count: n, Category: category})
	if err == nil {
		v.order = o.ID
	}
	return o, err
}

func (v *visitor) pay() sale.StartedPay {
	v.h.Helper()
	s, err := v.tryPay()
	v.h.ok(err)
	return s
}

func (v *visitor) tryPay() (sale.StartedPay, error) {
	return v.h.Pay(context.Background(), sale.PayRequest{Visitor: v.id, Order: v.order, Provider: "bank"})
}

// seen is the visitor's last order as he sees it.
func (v *visitor) seen() *sale.OrderView {
	v.h.Helper()
	o, err := v.h.Order(v.id, v.order)
	v.h.ok(err)
	return o
}

func (v *visitor) orderIs(want sale.OrderStatus) {
	v.h.Helper()
	v.h.orderIs(v.order, want)
}

func (h *house) orderIs(order uuid.UUID, want sale.OrderStatus) {
	h.Helper()
	o, err := h.AnyOrder(order)
	h.ok(err)
	if o.Status != want {
		h.Errorf("%s in: the order is %s, want %s", time.Since(h.began), o.Status, want)
	}
}

func (v *visitor) leave() error { return v.h.Leave(v.event, v.id, v.name) }

// confirm is the venue's own shop saying that the money for an order has come.
func (h *house) confirm(order uuid.UUID, key string, amount int64) (*sale.OrderView, error) {
	return h.Confirm(order, sale.Confirmation{Actor: "shop", Key: key, Amount: amount, Currency: "EUR", Reference: "till 1"})
}

// says is a fact that the bank sends about a payment of an order.
func (h *house) says(event string, kind sale.FactKind, payment string, order uuid.UUID, amount int64) *sale.Receipt {
	h.Helper()
	return h.receive(sale.Fact{Provider: "bank", EventID: event, Kind: kind, PaymentID: payment, Order: order.String(), Amount: amount, Currency: "EUR"})
}

func (h *house) receive(f sale.Fact) *sale.Receipt {
	h.Helper()
	rc, err := h.Receive(f)
	h.ok(err)
	return rc
}

// outcome wants a receipt to have ended like this.
func (h *house) outcome(rc *sale.Receipt, outcome, attention string) {
	h.Helper()
	if rc.Outcome != outcome || rc.Attention != attention {
		h.Errorf("the fact was %s (%q, %s), want %s (%q)", rc.Outcome, rc.Attention, rc.Reason, outcome, attention)
	}
}

func same(got, want any) bool { return reflect.DeepEqual(got, want) }
