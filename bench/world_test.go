//go:build linux

package bench

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"foyer/sale"
	"foyer/seats"
	"foyer/store"
	"foyer/tickets"
)

// Crowds are made in this process, through the same store and office as ever,
// and then served by the program: half a million joins over HTTP would take
// longer than all that is measured.

const lineEvent = "line" // the event with the long line

// crew are how many prepare at once: a commit takes what all of them bring.
const crew = 2048

// guest is a visitor and where he stands.
type guest struct {
	visitor uuid.UUID
	tag     [16]byte // of his credential
	place   uuid.UUID
	number  uint64
}

// prepared is a folder that is ready to be served.
type prepared struct {
	folder string
	guests []guest // who wait in lineEvent
	turns  []turn  // READY in the houses
	shop   string  // key
	tagger *tagger
}

// turn is a guest whose turn it is, and the seats he is going to want.
type turn struct {
	guest
	house string // event
	token string
	seats []string
	order uuid.UUID // once held
}

// tagger makes the tags of credentials, as web does.
type tagger struct{ mac hash.Hash }

func newTagger(secret []byte) *tagger {
	return &tagger{hmac.New(sha256.New, sale.Subkey(secret, "visitor"))}
}

func (t *tagger) tag(visitor uuid.UUID) (tag [16]byte) {
	t.mac.Reset()
	t.mac.Write(visitor[:])
	copy(tag[:], t.mac.Sum(nil))
	return tag
}

// credential appends what the guest proves himself by.
func (g *guest) credential(b []byte) []byte {
	var raw [32]byte
	copy(raw[:], g.visitor[:])
	copy(raw[16:], g.tag[:])
	return base64.RawURLEncoding.AppendEncode(b, raw[:])
}

// newVisitor is a random id; these visitors need not be unguessable.
func newVisitor() (v uuid.UUID) {
	a, b := rand.Uint64(), rand.Uint64()
	for i := range 8 {
		v[i], v[8+i] = byte(a>>(8*i)), byte(b>>(8*i))
	}
	v[6], v[8] = v[6]&0x0f|0x40, v[8]&0x3f|0x80
	return v
}

// openOffice opens a store and an office over it as serve does, without loops.
func openOffice(t testing.TB, folder string) (*store.Store, *sale.Office) {
	t.Helper()
	st, err := store.Open(folder, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	codes := tickets.New(sale.NewSigner(sale.Subkey(st.Secret(), "ticket code")).Tag)
	return st, sale.New(sale.Config{
		Store: st, Secret: st.Secret(), TicketCode: codes.Code,
		Sinks: func(string) []string { return []string{"log:"} },
	})
}

// together runs act(0) to act(n-1) from so many goroutines.
func together(workers, n int, act func(i int) error) error {
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var all sync.WaitGroup
	for range min(workers, n) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && failed.Load() == nil; i = int(next.Add(1)) - 1 {
				if err := act(i); err != nil {
					failed.Store(&err)
				}
			}
		})
	}
	all.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// prepareLine makes a folder in which so many wait in one event; its rules are
// the defaults, so the line moves while it is measured.
func prepareLine(t testing.TB, waiting int) *prepared {
	t.Helper()
	p := &prepared{folder: t.TempDir(), guests: make([]guest, waiting)}
	st, office := openOffice(t, p.folder)
	defer st.Close()
	p.tagger = newTagger(st.Secret())
	s := sale.DefaultSettings()
	s.ID, s.Name, s.Line, s.Rules.MaxWaiting = lineEvent, "Line", "always", 5_000_000
	if _, err := office.CreateEvent("bench", s); err != nil {
		t.Fatal(err)
	}
	err := together(crew, waiting, func(i int) error {
		p.guests[i].visitor = newVisitor()
		v, _, err := office.Join(lineEvent, p.guests[i].visitor)
		p.guests[i].place, p.guests[i].number = v.QueueID, v.Number
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range p.guests {
		p.guests[i].tag = p.tagger.tag(p.guests[i].visitor)
	}
	return p
}

// The houses: 50 zones of 25 rows of 40 seats, and a turn for every four seats.
const (
	houseSeats = 50_000
	groupSeats = 4
	seatPrice  = 4250
)

// housePlan is a plan of so many seats, a multiple of 40.
func housePlan(seatCount int) (*seats.Plan, error) {
	var b strings.Builder
	b.WriteString(`{"name":"House","categories":[{"name":"Stalls","color":"#7a1f2b"}],"zones":[`)
	for i := range seatCount {
		zone, row, seat := i/1000, i/40%25, i%40
		switch {
		case seat > 0:
			b.WriteByte(',')
		case row > 0:
			fmt.Fprintf(&b, `]},{"name":"%02d","seats":[`, row)
		case zone > 0:
			fmt.Fprintf(&b, `]}]},{"name":"S%02d","rows":[{"name":"00","seats":[`, zone)
		default:
			b.WriteString(`{"name":"S00","rows":[{"name":"00","seats":[`)
		}
		fmt.Fprintf(&b, `{"id":"S%02d-%02d-%02d","number":"%d","category":"Stalls"}`, zone, row, seat, seat)
	}
	b.WriteString(`]}]}]}`)
	return seats.Parse([]byte(b.String()))
}

// openHouse makes an event with a house in which whoever comes has his turn at once.
func openHouse(office *sale.Office, id string, plan *seats.Plan) error {
	const day = 24 * 60 * 60
	s := sale.DefaultSettings()
	s.ID, s.Name, s.Line, s.Prices = id, "House", "off", map[string]int64{"Stalls": seatPrice}
	s.Rules.MaxActive, s.Rules.AdmitPerSecond = 20_000, 5000
	s.Rules.TurnSeconds, s.Rules.PickupSeconds, s.Rules.HoldSeconds = day, day, day
	if _, err := office.CreateEvent("bench", s); err != nil {
		return err
	}
	_, err := office.SetPlan("bench", id, plan, false)
	return err
}

// fillHouse gives a turn to one guest per group of seats.
func fillHouse(office *sale.Office, house string, plan *seats.Plan, turns []turn) error {
	return together(crew, len(turns), func(i int) error {
		t := &turns[i]
		t.visitor = newVisitor()
		v, _, err := office.Join(house, t.visitor)
		t.house, t.token, t.place = house, v.Token, v.QueueID
		for j := range groupSeats {
			t.seats = append(t.seats, plan.Seat(i*groupSeats+j).ID)
		}
		return err
	})
}

// prepareHouses makes a folder with so many houses, full of guests whose turn it is.
func prepareHouses(t testing.TB, houses, seatCount int) *prepared {
	t.Helper()
	p := &prepared{folder: t.TempDir()}
	st, office := openOffice(t, p.folder)
	defer st.Close()
	p.tagger = newTagger(st.Secret())
	plan, err := housePlan(seatCount)
	if err != nil {
		t.Fatal(err)
	}
	each := seatCount / groupSeats
	p.turns = make([]turn, houses*each)
	for h := range houses {
		id := fmt.Sprintf("house-%d", h)
		if err := openHouse(office, id, plan); err != nil {
			t.Fatal(err)
		}
		if err := fillHouse(office, id, plan, p.turns[h*each:(h+1)*each]); err != nil {
			t.Fatal(err)
		}
	}
	for i := range p.turns {
		p.turns[i].tag = p.tagger.tag(p.turns[i].visitor)
	}
	if _, p.shop, err = office.CreateKey("bench", sale.RoleShop, "bench"); err != nil {
		t.Fatal(err)
	}
	return p
}

// again copies the folder and forgets the orders, so that a new server finds it
// as it was prepared.
func (p *prepared) again(t testing.TB) *prepared {
	t.Helper()
	c := *p
	c.folder = t.TempDir()
	c.turns = append([]turn(nil), p.turns...)
	if err := os.CopyFS(c.folder, os.DirFS(p.folder)); err != nil {
		t.Fatal(err)
	}
	return &c
}
