package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"foyer/sale"
	"foyer/seats"
)

// till is a payment provider that opens every payment and takes no money.
type till struct{}

func (till) Name() string { return "till" }

func (till) Start(_ context.Context, r sale.StartRequest) (sale.StartedPayment, error) {
	return sale.StartedPayment{ID: "pay-" + r.Attempt.String(), RedirectURL: "https://till.example/"}, nil
}

func (till) Look(_ context.Context, p sale.PaymentRef) (sale.Looked, error) {
	return sale.Looked{State: sale.LookOpen, ID: p.ID}, nil
}

func (till) Expire(context.Context, sale.PaymentRef) error { return nil }

func (till) Refund(_ context.Context, r sale.RefundRequest) (sale.RefundAnswer, error) {
	return sale.RefundAnswer{ID: "re_" + r.ID.String(), Done: true}, nil
}

// busyHouse is a sale with at least one place and one order of every kind.
type busyHouse struct {
	testing.TB
	*sale.Office
	now    time.Time
	facts  int
	orders map[string]uuid.UUID // by what became of them
	places map[string]uint64
}

// busyFile is the file of a busy house; it is made once.
type busyFile struct {
	whole  []byte
	orders map[string]uuid.UUID
	places map[string]uint64
}

var busyOnce sync.Once
var busyMade busyFile

// busy gives the file of a busy house in a folder of its own.
func busy(t testing.TB) (path string, f busyFile) {
	t.Helper()
	busyOnce.Do(func() { busyMade = makeBusy(t) })
	if busyMade.whole == nil {
		t.Fatal("the busy house was not made")
	}
	path = filepath.Join(t.TempDir(), fileName)
	if err := os.WriteFile(path, busyMade.whole, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, busyMade
}

func makeBusy(t testing.TB) busyFile {
	dir := t.TempDir()
	h := &busyHouse{TB: t, now: time.Date(2024, 5, 1, 18, 0, 0, 0, time.UTC), orders: map[string]uuid.UUID{}, places: map[string]uint64{}}
	s, err := Open(dir, Options{Now: func() time.Time { return h.now }})
	if err != nil {
		t.Fatal(err)
	}
	h.Office = sale.New(sale.Config{
		Store: s, Secret: s.Secret(), TicketCode: uuid.UUID.String, Providers: []sale.Provider{till{}},
		Sinks: func(string) []string { return []string{"log:", "https://books.example/in"} },
	})
	h.open()
	h.sell()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	p, err := openPages(bytes.NewReader(whole), int64(len(whole)))
	if err != nil {
		t.Fatal(err)
	}
	return busyFile{whole[:int64(p.count)*p.pageSize], h.orders, h.places} // what follows was never used
}

func (h *busyHouse) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

func (h *busyHouse) open() {
	h.Helper()
	set := sale.DefaultSettings()
	set.ID, set.Name = "gala", "Gala"
	set.Prices = map[string]int64{"Stalls": 4250, "Friends": 0}
	set.Rules.Buyer = "none"
	_, err := h.CreateEvent("staff", set)
	h.must(err)
	sheet := "zone,row,seat,category\n"
	for i := range 40 {
		category := "Stalls"
		if i >= 30 {
			category = "Friends"
		}
		sheet += fmt.Sprintf("Stalls,%d,%d,%s\n", 1+i/10, 1+i%10, category)
	}
	plan, err := seats.Parse([]byte(sheet))
	h.must(err)
	_, err = h.SetPlan("staff", "gala", plan, false)
	h.must(err)
	set.ID, set.Name = "other", "Nobody comes"
	_, err = h.CreateEvent("staff", set)
	h.must(err)
	_, _, err = h.CreateKey("staff", sale.RoleAdmin, "desk")
	h.must(err)
	h.must(h.SetAdminKey("a password for the tests"))
}

// joins gives a visitor his turn and notes his place under a name.
func (h *busyHouse) joins(name string) (visitor uuid.UUID, p sale.PlaceView) {
	h.Helper()
	visitor = uuid.New()
	p, _, err := h.Join("gala", visitor)
	h.must(err)
	h.places[name] = p.Number
	return visitor, p
}

// holds lets a new visitor hold two seats from first on.
func (h *busyHouse) holds(name string, first int) (visitor, order uuid.UUID) {
	h.Helper()
	visitor, p := h.joins(name)
	var wish []string
	for i := first; i < first+2; i++ {
		wish = append(wish, fmt.Sprintf("%d-%d", 1+i/10, 1+i%10))
	}
	v, err := h.Hold(sale.HoldRequest{Event: "gala", Token: p.Token, Visitor: visitor, Seats: wish})
	h.must(err)
	h.orders[name] = v.ID
	return visitor, v.ID
}

func (h *busyHouse) pays(visitor, order uuid.UUID) (payment string) {
	h.Helper()
	p, err := h.Pay(h.Context(), sale.PayRequest{Visitor: visitor, Order: order, Provider: "till"})
	h.must(err)
	return p.PaymentID
}

// says lets the till say something about a payment.
func (h *busyHouse) says(kind sale.FactKind, order uuid.UUID, payment string, amount int64) {
	h.Helper()
	h.facts++
	_, err := h.Receive(sale.Fact{
		Provider: "till", EventID: fmt.Sprint("fact ", h.facts), Kind: kind, PaymentID: payment,
		Order: order.String(), Amount: amount, Currency: "EUR", CreatedAt: h.now,
	})
	h.must(err)
}

func (h *busyHouse) sell() {
	h.Helper()
	lateVisitor, late := h.holds("refund due", 0)
	latePay := h.pays(lateVisitor, late)
	backVisitor, back := h.holds("refunded", 2)
	backPay := h.pays(backVisitor, back)
	h.holds("expired", 4)
	h.now = h.now.Add(10 * time.Minute) // all of them lapse, and only now somebody takes their seats
	_, err := h.Tick("gala", time.Second)
	h.must(err)
	taker, taken := h.holds("till", 0)
	h.says(sale.FactSucceeded, taken, h.pays(taker, taken), 8500)
	_, second := h.holds("shop", 2)
	_, err = h.Confirm(second, sale.Confirmation{Actor: "shop", Key: "k", Amount: 8500, Currency: "EUR", Reference: "r"})
	h.must(err)
	h.says(sale.FactSucceeded, late, latePay, 8500)
	h.says(sale.FactSucceeded, back, backPay, 8500)
	h.says(sale.FactRefunded, back, backPay, 8500)
	friend, free := h.holds("free", 30)
	_, err = h.Pay(h.Context(), sale.PayRequest{Visitor: friend, Order: free, Provider: "till"})
	h.must(err)
	h.says(sale.FactSucceeded, uuid.New(), "lost", 100) // nobody's
	h.says(sale.FactFailed, uuid.New(), "lost too", 100)

	_, err = h.PauseEvent("staff", "gala", "")
	h.must(err)
	h.joins("aside")
	_, err = h.ResumeEvent("staff", "gala")
	h.must(err)
	_, err = h.Tick("gala", time.Second)
	h.must(err)
	h.now = h.now.Add(61 * time.Second)
	_, err = h.Tick("gala", time.Second)
	h.must(err)

	changed, order := h.holds("cancelled", 6)
	_, err = h.Cancel(changed, order)
	h.must(err)
	h.holds("pending", 8)
	h.holds("pending too", 10)
	payer, paying := h.holds("paying", 12)
	h.pays(payer, paying)
	gone, p := h.joins("left")
	h.must(h.Leave("gala", gone, p.QueueID))
	thrown, _ := h.joins("revoked")
	h.must(h.Revoke("staff", "gala", thrown))
	h.joins("ready")
	_, err = h.PauseEvent("staff", "gala", "A short break.")
	h.must(err)
	for i := range 2 {
		h.joins(fmt.Sprint("waiting ", i))
	}
	_, codes, err := h.CreateCodes("staff", "gala", sale.CodeBatch{Name: "Friends", Class: sale.Member, Count: 3, Uses: 1})
	h.must(err)
	member, _, err := h.JoinWith("gala", uuid.New(), codes[1])
	h.must(err)
	h.places["waiting 2"] = member.Number
}

// amend changes a closed file through bbolt.
func amend(t testing.TB, path string, fn func(tx *bolt.Tx) error) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{NoFreelistSync: true, FreelistType: bolt.FreelistMapType})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Update(fn), db.Close()); err != nil {
		t.Fatal(err)
	}
}
