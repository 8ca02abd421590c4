//go:build linux

package store_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"foyer/crash/cutfs"
	"foyer/sale"
	"foyer/store"
)

// actDir tells the test binary that it is the child that acts on folders named
// on its standard input.
const actDir = "FOYER_TEST_ACT"

// The people of the fixed script. Each joins, holds a seat, and then does a third thing.
var people = []struct {
	name  string
	third string
}{{"ann", "pays"}, {"bob", "releases"}, {"cat", "holds another"}}

func personID(name string) uuid.UUID { return uuid.NewSHA1(uuid.Nil, []byte(name)) }

// stage is how far a person got: 0 nowhere, 1 in the line, 2 holding, 3 beyond.
func stage(o *sale.Office, s *store.Store, id uuid.UUID) int {
	orders, err := s.Orders("gala", uuid.Nil, 100)
	if err != nil {
		panic(err)
	}
	var own []*sale.Order
	for _, n := range orders {
		if n.Visitor == id {
			own = append(own, n)
		}
	}
	switch {
	case len(own) > 1 || len(own) == 1 && own[0].Status != sale.Pending:
		return 3
	case len(own) == 1:
		return 2
	}
	if p, err := o.Poll("gala", id); err != nil || p.Status == sale.NotEntered {
		return 0
	}
	return 1
}

// act takes person i from one stage to the next.
func act(o *sale.Office, i, from int) error {
	id := personID(people[i].name)
	hold := func(seat string) error {
		p, err := o.Poll("gala", id)
		if err != nil {
			return err
		}
		_, err = o.Hold(sale.HoldRequest{Event: "gala", Token: p.Token, Visitor: id, Seats: []string{seat}})
		return err
	}
	switch from {
	case 0:
		_, _, err := o.Join("gala", id)
		return err
	case 1:
		return hold(fmt.Sprintf("1-%d", 1+i))
	}
	p, err := o.Poll("gala", id)
	if err != nil {
		return err
	}
	switch people[i].third {
	case "pays":
		v, err := o.AnyOrder(p.OrderID)
		if err == nil {
			_, err = o.Confirm(p.OrderID, sale.Confirmation{Actor: "test", Key: "k", Amount: v.Total, Currency: "EUR"})
		}
		return err
	case "releases":
		return o.Release(id, p.OrderID)
	}
	return hold(fmt.Sprintf("1-%d", 11+i))
}

// actor works off the script on one folder, in the child, and says each outcome
// under the number that the parent gave it.
type actor struct {
	number   string
	patience time.Duration // how long it waits for writing to work again
	s        *store.Store
	o        *sale.Office
}

func (a *actor) say(words ...any) { say(append([]any{a.number}, words...)...) }

// actOnFolders is the child: each line of its input is a number, how many
// milliseconds to wait until writing works again, and a folder.
func actOnFolders() {
	var all sync.WaitGroup
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		w := strings.SplitN(lines.Text(), " ", 3)
		ms, _ := strconv.Atoi(w[1])
		a := &actor{number: w[0], patience: time.Duration(ms) * time.Millisecond}
		all.Go(func() {
			defer a.say("end")
			var err error
			if a.s, err = store.Open(w[2], store.Options{}); err != nil {
				if !errors.Is(err, store.ErrUnwritable) && !errors.Is(err, store.ErrBadFile) {
					a.say("odd", err)
				}
				a.say("broken", strconv.Quote(err.Error()))
				return
			}
			a.o = killOffice(a.s)
			a.say("open")
			if a.patience >= 0 && a.settles() {
				a.perform()
			}
			if err := a.s.Close(); err != nil {
				a.say("odd", err)
			}
		})
	}
	all.Wait()
}

// settles makes the event where there is none; false when that does not work.
func (a *actor) settles() bool {
	for {
		if _, err := a.o.Plan("gala"); err == nil {
			return true
		}
		if err := makeKillEvent(a.o, 40); err != nil && !a.recovers("house", err) {
			return false
		}
	}
}

// perform goes through the script until it is done or writing works no more.
func (a *actor) perform() {
	for from := range 3 {
		for i := range people {
			if !a.until(i, from) {
				return
			}
		}
		if from == 0 { // let them in
			if _, err := a.o.Tick("gala", time.Second); err != nil && !a.recovers("tick", err) {
				return
			}
			_, _ = a.o.Tick("gala", time.Second)
		}
	}
}

// until repeats an act until it is acknowledged; false when that never comes.
func (a *actor) until(i, from int) bool {
	name := people[i].name
	for {
		before := a.seen(name)
		stop := a.reading(name)
		err := act(a.o, i, from)
		stop()
		if err == nil {
			a.say("ack", name, from+1)
			return true
		}
		if after := a.seen(name); after != before {
			a.say("odd", name, "was refused, and is now", after, "after", before)
		}
		if !a.recovers(name, err) {
			if err := act(a.o, i, from); err == nil {
				a.say("odd", name, "was served after writing had failed for good")
			}
			return false
		}
	}
}

// seen is what visitors and staff are shown of a person.
func (a *actor) seen(name string) string {
	p, err := a.o.Poll("gala", personID(name))
	if err != nil {
		return err.Error()
	}
	v, err := a.o.AnyOrder(p.OrderID)
	if err != nil {
		return fmt.Sprint(p.Number, p.Status, p.TokenState)
	}
	return fmt.Sprint(p.Number, p.Status, p.TokenState, v.ID, v.Status, len(v.Seats))
}

// recovers tells whether writing works again within the actor's patience.
func (a *actor) recovers(name string, err error) bool {
	if !errors.Is(err, sale.ErrUnavailable) {
		a.say("odd", name, "was answered with", err)
		return false
	}
	ready := a.s.Ready()
	if ready == nil {
		return true // healed in between
	}
	var r *sale.Refusal
	sure := strings.Contains(ready.Error(), freeSpace)
	if errors.As(err, &r) && (!strings.Contains(r.Detail, ready.Error()) || strings.Contains(r.Detail, "Nothing was changed") != sure) {
		a.say("odd", name, "was told", strconv.Quote(r.Detail), "and the reason is", strconv.Quote(ready.Error()))
	}
	a.say("fail", name, strconv.Quote(ready.Error()))
	for deadline := time.Now().Add(a.patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if a.s.Ready() == nil {
			return true
		}
	}
	return false
}

// reading reads the committed state all the time, and complains when that had
// to wait for an act on its way to the disk.
func (a *actor) reading(name string) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			began := time.Now()
			_, err := a.o.Poll("gala", personID(name))
			if took := time.Since(began); err != nil || took > slowSync/2 {
				a.say("odd", "a reader waited", took, err)
			}
			select {
			case <-quit:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return func() { close(quit); <-done }
}

// slowSync is a sync that takes far longer than a reader may wait.
const slowSync = time.Second

// stageHand gives folders to a child and hears what becomes of them.
type stageHand struct {
	c     *child
	stdin interface{ Write([]byte) (int, error) }
	mu    sync.Mutex
	heard map[string]chan string
	next  int
	dies  bool   // what the child says at its end is no failure
	close func() // ends the child; may be called early
}

func newStageHand(t *testing.T) *stageHand {
	t.Helper()
	h := &stageHand{heard: map[string]chan string{}}
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	h.stdin = out
	h.c = startChild(t, actDir+"=1", in)
	_ = in.Close()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		h.c.listen(func(line string) {
			number, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			h.mu.Lock()
			defer h.mu.Unlock()
			if c := h.heard[number]; c != nil {
				c <- rest
				if rest == "end" {
					close(c)
					delete(h.heard, number)
				}
			}
		})
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, c := range h.heard {
			close(c)
		}
	}()
	h.close = sync.OnceFunc(func() {
		_ = out.Close()
		late := time.AfterFunc(powerPatience, func() { _ = h.c.Process.Kill() })
		defer late.Stop()
		<-gone
		if h.c.stderr.Len() > 0 && !h.dies {
			t.Errorf("the child says on its standard error: %s", &h.c.stderr)
		}
	})
	t.Cleanup(h.close)
	return h
}

// acts is what an actor said of its folder.
type acts struct {
	open    bool
	broken  string         // why the store did not open
	acked   map[string]int // by person: the last stage that was acknowledged
	failed  string         // whose act failed last, and did not come to anything later
	reasons []string
	odd     []string
	ended   bool
}

// perform lets the child work on a disk; what names the trial. Failing is
// called at each act that failed.
func (h *stageHand) perform(t *testing.T, what string, d *cutfs.Disk, patience time.Duration, failing func()) acts {
	t.Helper()
	_, dir, unmount := mount(t, d)
	defer unmount()
	a := h.order(dir, patience, failing)
	if !a.ended {
		t.Errorf("%s: the child is gone: %s", what, &h.c.stderr)
	}
	for _, o := range a.odd {
		t.Errorf("%s: %s", what, o)
	}
	return a
}

// openOnly as an actor's patience lets it open and close the store and do no more.
const openOnly = -time.Millisecond

// order lets the child work on a folder.
func (h *stageHand) order(dir string, patience time.Duration, failing func()) acts {
	h.mu.Lock()
	h.next++
	number, heard := strconv.Itoa(h.next), make(chan string, 100)
	h.heard[number] = heard
	h.mu.Unlock()
	fmt.Fprintln(h.stdin, number, patience.Milliseconds(), dir)
	a := acts{acked: map[string]int{}}
	for line := range heard {
		w := strings.SplitN(line, " ", 3)
		switch w[0] {
		case "open":
			a.open = true
		case "broken":
			a.broken, _ = strconv.Unquote(strings.TrimPrefix(line, "broken "))
		case "ack":
			a.acked[w[1]], _ = strconv.Atoi(w[2])
			if a.failed == w[1] {
				a.failed = ""
			}
		case "fail":
			reason, _ := strconv.Unquote(w[2])
			a.failed, a.reasons = w[1], append(a.reasons, reason)
			failing()
		case "odd":
			a.odd = append(a.odd, line)
		case "end":
			a.ended = true
		}
	}
	return a
}
