package store_test

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"foyer/sale"
	"foyer/seats"
	"foyer/store"
)

// killDir tells the test binary that it is the child to be killed, and where to work.
const killDir = "FOYER_TEST_KILL_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(killDir); dir != "" {
		sellUntilKilled(dir)
		return
	}
	os.Exit(m.Run())
}

const killHall = 40 * 100 // seats

func killOffice(s *store.Store) *sale.Office {
	return sale.New(sale.Config{
		Store: s, Secret: s.Secret(), TicketCode: func(id uuid.UUID) string { return id.String() },
		Sinks: func(string) []string { return []string{"log:"} },
	})
}

// sellUntilKilled is the child: many visitors act as fast as they can. Before
// each act a line says what is tried, and after it what was acknowledged.
func sellUntilKilled(dir string) {
	s, err := store.Open(dir, store.Options{})
	if err != nil {
		fmt.Println("broken", strings.ReplaceAll(err.Error(), "\n", " "))
		return
	}
	o := killOffice(s)
	if _, _, err := o.Event("gala"); err != nil {
		makeKillEvent(o)
	}
	for range 24 {
		go func() {
			for {
				visit(o)
			}
		}()
	}
	for {
		if _, err := o.Tick("gala", time.Second); err != nil {
			panic(err)
		}
		time.Sleep(3 * time.Millisecond)
	}
}

func makeKillEvent(o *sale.Office) {
	set := sale.DefaultSettings()
	set.ID, set.Name, set.Prices = "gala", "Gala", map[string]int64{"Stalls": 100}
	set.Rules = sale.Rules{
		AdmitPerSecond: 5000, MaxActive: 300, TurnSeconds: 3600, PickupSeconds: 3600, ReturnSeconds: 3600, HoldSeconds: 3600,
		PaySeconds: 60, PayMarginSeconds: 60, MaxSeatsPerOrder: 4, MaxWaiting: 1_000_000, Buyer: "none",
	}
	sheet := "zone,row,seat,category\n"
	for i := range killHall {
		sheet += fmt.Sprintf("Stalls,%d,%d,Stalls\n", 1+i/100, 1+i%100)
	}
	plan, err := seats.Parse([]byte(sheet))
	if err != nil {
		panic(err)
	}
	if _, err := o.CreateEvent("test", set); err != nil {
		panic(err)
	}
	if _, err := o.SetPlan("test", "gala", plan, false); err != nil {
		panic(err)
	}
}

// say writes one line in one system call: less than PIPE_BUF, it is whole or not there.
func say(words ...any) { _, _ = os.Stdout.WriteString(fmt.Sprintln(words...)) }

// visit is one visitor from his join to wherever chance takes him.
func visit(o *sale.Office) {
	id := uuid.New()
	say("try", id, "join")
	p, _, err := o.Join("gala", id)
	if err != nil {
		panic(err)
	}
	say("place", id, p.Number, p.Status)
	if rand.IntN(8) == 0 {
		say("try", id, "left")
		if err := o.Leave("gala", id, p.QueueID); err != nil {
			panic(err)
		}
		say("left", id)
		return
	}
	for range 3 {
		if p.Status == sale.Ready {
			break
		}
		time.Sleep(5 * time.Millisecond)
		if p, err = o.Poll("gala", id); err != nil {
			panic(err)
		}
	}
	if p.Status != sale.Ready {
		return // he waits on, also after the crash
	}
	say("turn", id)
	for range 1 + rand.IntN(2) { // a second hold replaces the first
		var wish []string
		first := rand.IntN(killHall - 4)
		for i := range 1 + rand.IntN(4) {
			wish = append(wish, fmt.Sprintf("%d-%d", 1+(first+i)/100, 1+(first+i)%100))
		}
		say("try", id, "hold")
		v, err := o.Hold(sale.HoldRequest{Event: "gala", Token: p.Token, Visitor: id, Seats: wish})
		if err != nil {
			say("refused", id)
			continue
		}
		slices.Sort(wish)
		say("held", id, v.ID, strings.Join(wish, ","))
		p.OrderID = v.ID
	}
	if p.OrderID == uuid.Nil {
		return
	}
	switch rand.IntN(5) {
	case 0: // goes on holding
	case 1:
		say("try", id, "released")
		if err := o.Release(id, p.OrderID); err != nil {
			panic(err)
		}
		say("released", id)
	default:
		say("try", id, "paid")
		v, err := o.AnyOrder(p.OrderID)
		if err == nil {
			v, err = o.Confirm(p.OrderID, sale.Confirmation{Actor: "test", Key: "k", Amount: v.Total, Currency: "EUR"})
		}
		if err != nil {
			panic(err)
		}
		say("paid", id, v.ID)
	}
}

// memo is what the parent knows of one visitor.
type memo struct {
	number string // as acknowledged
	state  string // the last act acknowledged: place, turn, held, released, paid, left
	trying string // an act that may or may not have happened
	order  uuid.UUID
	seats  string
	former []uuid.UUID // orders that a later hold replaced
}

// ledger is everything that any child acknowledged.
type ledger map[uuid.UUID]*memo

func (l ledger) note(t *testing.T, line string) {
	w := strings.Fields(line)
	if len(w) < 2 || w[0] == "broken" || w[0] == "panic:" {
		t.Errorf("the child says %s", line)
		return
	}
	id, err := uuid.Parse(w[1])
	if err != nil {
		t.Errorf("the child says %s", line)
		return
	}
	m := l[id]
	if m == nil {
		m = &memo{}
		l[id] = m
	}
	if w[0] == "try" {
		m.trying = w[2]
		return
	}
	m.trying = ""
	switch w[0] {
	case "refused":
		return
	case "place":
		m.number = w[2]
	case "held":
		if m.order != uuid.Nil {
			m.former = append(m.former, m.order)
		}
		m.order, m.seats = uuid.MustParse(w[2]), w[3]
	}
	m.state = w[0]
}

// round runs a child, does something once it sells, kills it after a while and
// notes what it acknowledged.
func (l ledger) round(t *testing.T, dir string, life time.Duration, meanwhile func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), killDir+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	var once sync.Once
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			break // what was cut off was not said
		}
		l.note(t, line)
		once.Do(func() {
			meanwhile()
			time.AfterFunc(life, func() { _ = cmd.Process.Kill() })
		})
	}
	_ = cmd.Wait()
}

func TestB78KillLosesNothingThatWasAcknowledged(t *testing.T) {
	dir := t.TempDir()
	l := ledger{}
	rounds := 12
	if testing.Short() {
		rounds = 3
	}
	for range rounds {
		l.round(t, dir, time.Duration(10+rand.IntN(150))*time.Millisecond, func() {})
		checkPages(t, filepath.Join(dir, "foyer.db"))
		s, err := store.Open(dir, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		l.check(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if t.Failed() {
			return
		}
	}
	acts := map[string]int{}
	for _, m := range l {
		acts[m.state]++
	}
	t.Logf("%d visitors: %v", len(l), acts)
	for _, act := range []string{"place", "turn", "held", "released", "paid", "left"} {
		if acts[act] == 0 && !testing.Short() {
			t.Errorf("nobody got as far as %q: the test does not test it", act)
		}
	}
}

func TestFileOfAnotherProcessIsRefusedUntilThatIsGone(t *testing.T) {
	dir := t.TempDir()
	ledger{}.round(t, dir, 0, func() {
		if s, err := store.Open(dir, store.Options{}); !errors.Is(err, store.ErrInUse) {
			t.Errorf("got %v, want %v", err, store.ErrInUse)
			if err == nil {
				_ = s.Close()
			}
		}
	})
	s, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// checkPages runs bbolt's own check over every page.
func checkPages(t *testing.T, path string) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, PreLoadFreelist: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_ = db.View(func(tx *bolt.Tx) error {
		for err := range tx.Check() {
			t.Errorf("a page is damaged: %v", err)
		}
		return nil
	})
}

// check holds the store against the ledger and against itself.
func (l ledger) check(t *testing.T, s *store.Store) {
	t.Helper()
	o := killOffice(s)
	if _, _, err := o.Event("gala"); err != nil {
		return // killed before anything was acknowledged
	}
	numbers := map[string]bool{}
	for id, m := range l {
		p, err := o.Poll("gala", id)
		if err != nil {
			t.Fatal(err)
		}
		l.checkPlace(t, id, m, p)
		if m.number != "" && numbers[m.number] {
			t.Errorf("number %s was given twice", m.number)
		}
		numbers[m.number] = true
		l.checkOrders(t, o, m)
	}
	l.checkHouse(t, o, s)
}

func (l ledger) checkPlace(t *testing.T, id uuid.UUID, m *memo, p sale.PlaceView) {
	t.Helper()
	gone := m.state == "left" || m.state == "paid"
	mayBeGone := gone || m.trying == "left" || m.trying == "paid" || m.state == "" // the join was not acknowledged
	is := p.Status == sale.NotEntered
	switch {
	case gone && !is, is && !mayBeGone:
		t.Errorf("visitor %s is %s after %q (trying %q)", id, p.Status, m.state, m.trying)
	case !is && m.number != "" && fmt.Sprint(p.Number) != m.number:
		t.Errorf("visitor %s has number %d, was told %s", id, p.Number, m.number)
	case !is && p.Status != sale.Ready && slices.Contains([]string{"turn", "held", "released"}, m.state):
		t.Errorf("visitor %s lost his turn: %s after %q", id, p.Status, m.state)
	case m.state == "held" && m.trying == "" && (p.TokenState != sale.TurnClaimed || p.OrderID != m.order):
		t.Errorf("visitor %s holds %s, his turn is %s with %s", id, m.order, p.TokenState, p.OrderID)
	}
}

func (l ledger) checkOrders(t *testing.T, o *sale.Office, m *memo) {
	t.Helper()
	for _, id := range m.former {
		if v, err := o.AnyOrder(id); err != nil || v.Status != sale.Cancelled {
			t.Errorf("the replaced order %s: %+v, %v", id, v, err)
		}
	}
	if m.order == uuid.Nil {
		return
	}
	v, err := o.AnyOrder(m.order)
	if err != nil {
		t.Errorf("an acknowledged order is lost: %v", err)
		return
	}
	var has []string
	for _, s := range v.Seats {
		has = append(has, s.ID)
	}
	slices.Sort(has)
	if got := strings.Join(has, ","); got != m.seats {
		t.Errorf("order %s has the seats %s, was told %s", m.order, got, m.seats)
	}
	may := []sale.OrderStatus{map[string]sale.OrderStatus{"held": sale.Pending, "released": sale.Cancelled, "paid": sale.Paid}[m.state]}
	switch m.trying {
	case "released", "hold":
		may = append(may, sale.Cancelled)
	case "paid":
		may = append(may, sale.Paid)
	}
	if !slices.Contains(may, v.Status) {
		t.Errorf("order %s is %s after %q (trying %q)", m.order, v.Status, m.state, m.trying)
	}
}

// checkHouse checks the rows against each other: seats, orders, turns, messages.
func (l ledger) checkHouse(t *testing.T, o *sale.Office, s *store.Store) {
	t.Helper()
	orders, err := s.Orders("gala", uuid.Nil, 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	holder := map[string]uuid.UUID{}
	want := map[string]bool{} // topic and order or ticket
	sold := 0
	for _, n := range orders {
		p, err := o.Poll("gala", n.Visitor)
		if err != nil {
			t.Fatal(err)
		}
		if n.Status == sale.Pending && (p.TokenState != sale.TurnClaimed || p.OrderID != n.ID) {
			t.Errorf("order %s is PENDING and its turn is %s with %s", n.ID, p.TokenState, p.OrderID)
		}
		if n.Status == sale.Paid {
			want[sale.TopicOrderPaid+n.ID.String()] = true
			sold += len(n.Seats)
			if p.Status != sale.NotEntered {
				t.Errorf("order %s is PAID and its visitor %s", n.ID, p.Status)
			}
		}
		if !n.Status.Claims() {
			continue
		}
		for _, seat := range n.Seats {
			if other, taken := holder[seat.ID]; taken {
				t.Errorf("seat %s is claimed by %s and %s", seat.ID, other, n.ID)
			}
			holder[seat.ID] = n.ID
			if n.Status == sale.Paid {
				want[sale.TopicTicketIssued+seat.Ticket.String()] = true
			}
		}
	}
	_ = s.View(func(r sale.Reader) error {
		if n := r.Line("gala").Sold; n != sold {
			t.Errorf("%d seats are counted as sold, the orders have %d", n, sold)
		}
		for i := range killHall {
			id := fmt.Sprintf("%d-%d", 1+i/100, 1+i%100)
			if h, ok := r.Holder("gala", id); ok != (holder[id] != uuid.Nil) || ok && h.ID != holder[id] {
				t.Errorf("seat %s: holder %v, want %s", id, h, holder[id])
			}
		}
		return nil
	})
	messages, err := s.Messages("", 0, 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	for _, light := range messages {
		m, _, err := s.Load(light.Seq)
		if err != nil {
			t.Fatal(err)
		}
		subject := strings.TrimPrefix(m.Key, "order:")
		if m.Topic == sale.TopicTicketIssued {
			_, rest, _ := strings.Cut(string(m.Body), `"ticketId":"`)
			subject, _, _ = strings.Cut(rest, `"`)
		}
		if !want[m.Topic+subject] {
			t.Errorf("message %d about %s of %s: nothing of the kind happened, or it is told twice", m.Seq, m.Topic, subject)
		}
		delete(want, m.Topic+subject)
	}
	for w := range want {
		t.Errorf("nobody is told of %s", w)
	}
}
