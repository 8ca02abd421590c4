package contract

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestBusyPortAndBadSettingsEndWithCode2(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("not a folder"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"busy port":      {"serve", "--addr", shared.addr, "--data", t.TempDir()},
		"file as folder": {"serve", "--addr", "127.0.0.1:0", "--data", file},
		"no secret":      {"serve", "--addr", "127.0.0.1:0", "--data", t.TempDir(), "--demo-provider"},
		"unknown flag":   {"serve", "--nowhere"},
		"no command":     {},
	} {
		if got := exitCode(t, args...); got != 2 {
			t.Errorf("%s: exit code %d, want 2", name, got)
		}
	}
}

func TestB80DamagedFileEndsWithCode1AndStaysAsItIs(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	eventOf(t, h, 2, nil)
	h.kill()
	whole, err := os.ReadFile(filepath.Join(h.dir, "foyer.db"))
	if err != nil {
		t.Fatal(err)
	}
	garbled := append([]byte(nil), whole...)
	for i := range 8192 {
		garbled[i] = byte(i * 7)
	}
	for name, content := range map[string][]byte{"empty": {}, "garbled": garbled, "a picture": []byte("\xff\xd8\xff\xe0\x00\x10JFIF"), "a page": whole[:4096]} {
		dir := t.TempDir()
		path := filepath.Join(dir, "foyer.db")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := exitCode(t, "serve", "--addr", "127.0.0.1:0", "--data", dir); got != 1 {
			t.Errorf("%s: exit code %d, want 1", name, got)
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != string(content) {
			t.Errorf("%s: the file was changed", name)
		}
	}
}

// exitCode runs a command that must end by itself.
func exitCode(t *testing.T, args ...string) int {
	t.Helper()
	cmd := exec.Command(binary, args...)
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	for _, sign := range []string{"goroutine ", "panic:"} {
		if bytes.Contains(out, []byte(sign)) {
			t.Errorf("foyer %v shows a stack: %s", args, out)
		}
	}
	return cmd.ProcessState.ExitCode()
}

// ledger is what a crowd was told, which must be true for ever after.
type ledger struct {
	mu     sync.Mutex
	places map[string]*person // by queueId
	number map[string]int
	orders map[string]order
	status map[string]string // by order: the last status that was acknowledged
}

func newLedger() *ledger {
	return &ledger{places: map[string]*person{}, number: map[string]int{}, orders: map[string]order{}, status: map[string]string{}}
}

// crowd joins, holds, pays and confirms until stop is closed or the program
// is gone, and writes down all that was acknowledged.
func (l *ledger) crowd(t *testing.T, e event, workers int, seat *atomic.Int64, stop <-chan struct{}) *sync.WaitGroup {
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				if err := l.evening(e, seat, i+w); err != nil {
					return
				}
			}
		})
	}
	return &wg
}

// evening is what one visitor does; an error means that an outcome is unknown.
func (l *ledger) evening(e event, seat *atomic.Int64, kind int) error {
	h := e.h
	v, err := h.try("POST", "/api/v1/visitors", nil)
	if err != nil || v.status != http.StatusCreated {
		return fmt.Errorf("visitor: %d %w", v.status, err)
	}
	p := &person{e: e, credential: v.text("credential")}
	a, err := h.try("POST", e.path("/queue"), nil, "X-Visitor", p.credential)
	if err != nil || a.status != http.StatusCreated {
		return fmt.Errorf("join: %d %w", a.status, err)
	}
	p.learn(a)
	l.mu.Lock()
	if kind%5 < 3 { // the others will have bought
		l.places[p.queueId], l.number[p.queueId] = p, a.number("number")
	}
	l.mu.Unlock()
	if p.token == "" {
		return nil
	}
	a, err = h.try("POST", e.path("/holds"), object{"seats": []string{fmt.Sprintf("A-%d", seat.Add(1))}}, "X-Entry-Token", p.token, "X-Visitor", p.credential)
	if err != nil || a.status != http.StatusCreated {
		return fmt.Errorf("hold: %d %w", a.status, err)
	}
	o := order{p, a.text("orderId"), a.number("total", "amount")}
	know := func(status string) {
		l.mu.Lock()
		l.orders[o.id], l.status[o.id] = o, status
		l.mu.Unlock()
	}
	know("PENDING")
	var want string
	switch kind % 5 {
	case 0:
		return nil
	case 1:
		want = "PAYING"
		a, err = h.try("POST", o.path("/pay"), object{"provider": "demo"}, "X-Visitor", p.credential)
	case 2:
		want = "CANCELLED"
		a, err = h.try("POST", o.path("/cancel"), nil, "X-Visitor", p.credential)
	case 3:
		want = "PAID"
		a, err = h.try("POST", o.path("/confirm"), o.money(), "Authorization", "Bearer "+adminKey, "Idempotency-Key", "k")
	case 4:
		want = "PAID"
		if a, err = h.try("POST", o.path("/pay"), object{"provider": "demo"}, "X-Visitor", p.credential); err == nil && a.status == http.StatusOK {
			a, err = h.tryTell("msg_"+o.id, time.Now(), o.news("succeeded", a.text("paymentId")))
		}
	}
	if err != nil || a.status != http.StatusOK {
		know("unknown, from PENDING to " + want)
		return fmt.Errorf("%s: %d %w", want, a.status, err)
	}
	know(want)
	return nil
}

// audit holds the program to the ledger and returns how many entries it read.
func (l *ledger) audit(t *testing.T, e event) int {
	t.Helper()
	owner := map[string]string{}
	paid := 0
	for id, o := range l.orders {
		a := o.get(t).want(t, http.StatusOK)
		got, want := a.text("status"), l.status[id]
		switch want {
		case "PENDING", "PAYING", "CANCELLED", "PAID":
			if got != want {
				t.Errorf("order %s is %s, acknowledged was %s", id, got, want)
			}
		}
		if got == "PAID" {
			paid++
			if len(a.list("tickets")) != 1 {
				t.Errorf("paid order %s has tickets %v", id, a.list("tickets"))
			}
		}
		if got != "CANCELLED" {
			seat := a.text("seats", 0, "id")
			if other := owner[seat]; other != "" {
				t.Errorf("seat %s is in orders %s and %s", seat, other, id)
			}
			owner[seat] = id
		}
	}
	numbers := map[int]string{}
	for id, p := range l.places {
		a := p.place(t).want(t, http.StatusOK)
		if a.text("queueId") != id || a.number("number") != l.number[id] || a.text("status") != "READY" && a.text("status") != "WAITING" {
			t.Errorf("place %s reads %s, acknowledged was number %d", id, short(a.body), l.number[id])
		}
		if a.text("status") == "READY" && a.text("entryToken") == "" {
			t.Errorf("place %s lost its token", id)
		}
		if other := numbers[l.number[id]]; other != "" {
			t.Errorf("number %d was given to %s and %s", l.number[id], other, id)
		}
		numbers[l.number[id]] = id
	}
	for id, o := range l.orders { // what was sold is told, once the sink is heard
		if l.status[id] == "PAID" {
			e.h.sink.sold(t, o.id, 1)
		}
	}
	if paid == 0 || len(l.places) == 0 {
		t.Errorf("the ledger has %d paid orders and %d places; the crowd did too little", paid, len(l.places))
	}
	return len(l.orders) + len(l.places)
}

func TestB78WhatWasAcknowledgedSurvivesSIGKILL(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "--rate-limit", "0")
	e := eventOf(t, h, 20000, nil)
	// Older people, to see that tokens, money and messages survive as well.
	early := e.buyer(t)
	paying := e.buyer(t).holds(t, "A-19999")
	payment := paying.pays(t)
	l := newLedger()
	var seat atomic.Int64
	for round := range 4 {
		stop := make(chan struct{})
		before := seat.Load()
		wg := l.crowd(t, e, 8, &seat, stop)
		until(t, "a crowd at work", patience, func() bool { return seat.Load() > before+40+int64(round)*17 })
		h.kill()
		close(stop)
		wg.Wait()
		if err := h.start(); err != nil {
			t.Fatal(err)
		}
	}
	n := l.audit(t, e)
	t.Logf("%d entries of the ledger are there", n)
	early.holds(t, "A-20000") // the token shown before the crash works after it
	h.tell(t, paying.news("succeeded", payment)).want(t, http.StatusOK)
	paying.becomes(t, "PAID")
	h.sink.sold(t, paying.id, 1)
}

func TestSIGTERMUnderLoadEndsCleanlyAndLosesNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "--rate-limit", "0")
	e := eventOf(t, h, 20000, nil)
	watcher := e.joined(t)
	lines, _ := watcher.stream(t)
	l := newLedger()
	var seat atomic.Int64
	stop := make(chan struct{})
	wg := l.crowd(t, e, 8, &seat, stop)
	until(t, "a crowd at work", patience, func() bool { return seat.Load() > 60 })
	code, took := h.stop(t)
	if code != 0 || took > 10*time.Second {
		t.Errorf("exit code %d after %v, want 0 within 10s", code, took)
	}
	close(stop)
	wg.Wait()
	until(t, "the end of the stream", patience, func() bool {
		for {
			select {
			case _, ok := <-lines:
				if !ok {
					return true
				}
			default:
				return false
			}
		}
	})
	if err := h.start(); err != nil {
		t.Fatal(err)
	}
	l.audit(t, e)
}

func TestB45ConfirmationIsRememberedOverARestart(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	e := eventOf(t, h, 2, nil)
	o := e.buyer(t).holds(t, "A-1")
	first := o.confirm(t, "k", o.money()).want(t, http.StatusOK)
	news := o.news("succeeded", "dp_x")
	h.kill()
	if err := h.start(); err != nil {
		t.Fatal(err)
	}
	if got := o.confirm(t, "k", o.money()).want(t, http.StatusOK); withoutServerTime(got.body) != withoutServerTime(first.body) {
		t.Errorf("after the restart\n%s, want\n%s", got.body, first.body)
	}
	o.confirm(t, "k", object{"amount": o.total, "currency": "EUR", "reference": "other"}).refused(t, http.StatusUnprocessableEntity, "idempotency_key_reused")
	h.tell(t, news).want(t, http.StatusOK)
	if got := h.attention(t, o.id); len(got) != 1 {
		t.Errorf("a second payment of a paid order has %d entries on the attention list, want 1", len(got))
	}
	if exit := exitCode(t, "serve", "--addr", "127.0.0.1:0", "--data", h.dir); exit != 2 && exit != 1 {
		t.Errorf("a second program on one folder ended with %d", exit)
	}
}
