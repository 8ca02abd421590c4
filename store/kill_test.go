package store_test

import (
	"bufio"
	"bytes"
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
	if os.Getenv(actDir) != "" {
		actOnFolders()
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
		say("broken", strings.ReplaceAll(err.Error(), "\n", " "))
		return
	}
	say("open")
	o := killOffice(s)
	if _, err := o.Plan("gala"); err != nil {
		must(makeKillEvent(o, killHall))
	}
	say("made")
	for range 24 {
		go func() {
			for {
				visit(o)
			}
		}()
	}
	for {
		_, err := o.Tick("gala", time.Second)
		must(err)
		time.Sleep(3 * time.Millisecond)
	}
}

func makeKillEvent(o *sale.Office, hall int) error {
	set := sale.DefaultSettings()
	set.ID, set.Name, set.Prices = "gala", "Gala", map[string]int64{"Stalls": 100}
	set.Rules = sale.Rules{
		AdmitPerSecond: 5000, MaxActive: 300, TurnSeconds: 3600, PickupSeconds: 3600, ReturnSeconds: 3600, HoldSeconds: 3600,
		PaySeconds: 60, PayMarginSeconds: 60, MaxSeatsPerOrder: 4, MaxWaiting: 1_000_000, Buyer: "none",
	}
	sheet := "zone,row,seat,category\n"
	for i := range hall {
		sheet += fmt.Sprintf("Stalls,%d,%d,Stalls\n", 1+i/100, 1+i%100)
	}
	plan, err := seats.Parse([]byte(sheet))
	if err != nil {
		return err
	}
	if _, err := o.CreateEvent("test", set); err != nil && !errors.Is(err, sale.ErrEventExists) {
		return err
	}
	_, err = o.SetPlan("test", "gala", plan, false)
	return err
}

// must ends the child's work at the first act that fails. When writing does not
// work it says so and does nothing more.
func must(err error) {
	switch {
	case errors.Is(err, sale.ErrUnavailable):
		say("down")
		select {}
	case err != nil:
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
	must(err)
	say("place", id, p.Number, p.Status)
	if rand.IntN(8) == 0 {
		say("try", id, "left")
		must(o.Leave("gala", id, p.QueueID))
		say("left", id)
		return
	}
	for range 3 {
		if p.Status == sale.Ready {
			break
		}
		time.Sleep(5 * time.Millisecond)
		p, err = o.Poll("gala", id)
		must(err)
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
		if errors.Is(err, sale.ErrSeatsTaken) {
			say("refused", id)
			continue
		}
		must(err)
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
		must(o.Release(id, p.OrderID))
		say("released", id)
	default:
		say("try", id, "paid")
		v, err := o.AnyOrder(p.OrderID)
		if err == nil {
			v, err = o.Confirm(p.OrderID, sale.Confirmation{Actor: "test", Key: "k", Amount: v.Total, Currency: "EUR"})
		}
		must(err)
		say("paid", id, v.ID)
	}
}

// child is a process that works on a folder, and says what it does.
type child struct {
	*exec.Cmd
	lines  *bufio.Reader
	stderr bytes.Buffer
}

// startChild runs this test binary again, with a variable that tells it what to do.
func startChild(t *testing.T, variable string, stdin *os.File) *child {
	t.Helper()
	c := &child{Cmd: exec.Command(os.Args[0])}
	c.Env = append(os.Environ(), variable, "GORACE=atexit_sleep_ms=0")
	c.Cmd.Stderr = &c.stderr
	if stdin != nil {
		c.Stdin = stdin
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	c.lines = bufio.NewReader(out)
	return c
}

// listen hands on every line until the child is gone. A line that was cut off was not said.
func (c *child) listen(heard func(line string)) {
	for {
		line, err := c.lines.ReadString('\n')
		if err != nil {
			break
		}
		heard(line)
	}
	_ = c.Wait()
}

// round runs a child, does something once it sells, kills it after a
// while and notes what it acknowledged.
func (l ledger) round(t *testing.T, dir string, life time.Duration, meanwhile func()) {
	t.Helper()
	c := startChild(t, killDir+"="+dir, nil)
	var once sync.Once
	c.listen(func(line string) {
		l.note(t, line)
		if strings.HasPrefix(line, "try") {
			once.Do(func() {
				meanwhile()
				time.AfterFunc(life, func() { _ = c.Process.Kill() })
			})
		}
	})
	if c.stderr.Len() > 0 {
		t.Errorf("the child says on its standard error: %s", &c.stderr)
	}
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

// checkPages runs bbolt's own check over every page, and ours over every row.
func checkPages(t *testing.T, path string) {
	t.Helper()
	soundFile(t, path)
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
