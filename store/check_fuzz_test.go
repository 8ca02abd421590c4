package store

import (
	"bytes"
	"errors"
	"flag"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"foyer/outbox"
	"foyer/sale"
)

// damageStep is how many bytes of the fuzzer's input make one change.
const damageStep = 8

// spoil changes a file as the input says, and gives back a new one: a kind, a
// place (page, offset) and a value.
func spoil(whole, input []byte) []byte {
	const size = 4096
	b := bytes.Clone(whole)
	for ; len(input) >= damageStep && len(b) > 0; input = input[damageStep:] {
		n := max(1, len(b)/size)
		pg := int(input[1]) % n
		at := pg*size + (int(input[2])<<8|int(input[3]))%size
		other := int(input[4]) % n
		page, second := b[pg*size:min(len(b), (pg+1)*size)], b[other*size:min(len(b), (other+1)*size)]
		switch at = min(at, len(b)-1); input[0] % 9 {
		case 0:
			b[at] ^= 1 << (input[5] % 8)
		case 1:
			b[at] = input[5]
		case 2:
			clear(page)
		case 3:
			b = b[:at]
		case 4:
			swap := bytes.Clone(page)
			copy(page, second)
			copy(second, swap)
		case 5:
			copy(second, page)
		case 6: // an entry of a page's table, where a change does the most
			copy(b[min(pg*size+int(input[2])%1024/4*4, len(b)):], input[4:8])
		case 7: // the head, with a sum that fits
			for _, at := range []int{0, size} {
				if head := b[min(at+pageHead, len(b)):]; len(head) >= metaSize {
					copy(head[8+int(input[2])%(metaSize-16):metaSize-8], input[4:4+1+int(input[3])%4])
					sum := fnv.New64a()
					_, _ = sum.Write(head[:metaSize-8])
					native.PutUint64(head[metaSize-8:], sum.Sum64())
				}
			}
		case 8: // a text for another of the same length
			if i := bytes.Index(b[at:], []byte("PAID")); i >= 0 {
				copy(b[at+i:], []string{"paid", "XXXX", "\x00\x00\x00\x00", `"":"`}[int(input[5])%4])
			}
		}
	}
	return b
}

// FuzzDamagedFile damages a file and opens it; see endures.
func FuzzDamagedFile(f *testing.F) {
	_, house := busy(f)
	f.Add([]byte{})
	for kind := range byte(9) {
		f.Add([]byte{kind, 3 + kind, 1, 7, 4, 3, 2, 1})
		f.Add([]byte{kind, 1, 0, 10, 0xff, 0xff, 0xff, 0xff, kind, 2, 0, 24, 8, 0, 0, 0})
	}
	f.Fuzz(func(t *testing.T, input []byte) { endures(t, house.whole, input) })
}

var (
	damageSeed  = flag.Uint64("damage.seed", 0, "seed of the randomly damaged files; 0 takes a new one")
	damageFiles = flag.Int("damage.files", 60, "how many files are damaged at random")
)

func TestB80FilesDamagedAtRandomNeverEndTheProgram(t *testing.T) {
	seed := *damageSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("to repeat: -damage.seed=%d", seed)
	_, house := busy(t)
	for n := range *damageFiles {
		r := rand.New(rand.NewPCG(seed, uint64(n)))
		input := make([]byte, damageStep*(1+r.IntN(3)))
		for i := range input {
			input[i] = byte(r.Uint32())
			if i%damageStep == 4 && r.IntN(2) == 0 { // small numbers are page numbers
				input[i] %= 32
			}
		}
		if endures(t, house.whole, input); t.Failed() {
			t.Fatalf("file %d, damaged by %x", n, input)
		}
	}
}

// endures opens a damaged file. It either works or is refused with one sentence
// and untouched; the program never dies, and a look at the file says the same.
func endures(t *testing.T, whole, input []byte) {
	t.Helper()
	dog := time.AfterFunc(time.Minute, func() { panic("a damaged file makes foyer wait for ever") })
	defer dog.Stop()
	dir, err := os.MkdirTemp(inMemory(), "foyer-damaged-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, fileName)
	content := spoil(whole, input)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	r := looked(t, path)
	hard := slices.ContainsFunc(r.Findings, func(f Finding) bool { return !f.Note() })
	unreadable := slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Code == "page" || f.Code == "file" })
	s, err := Open(dir, Options{})
	switch {
	case err == nil && unreadable:
		t.Errorf("it opens, and a look finds %v", r.Findings)
	case err != nil && !hard:
		t.Errorf("it is refused (%v), and a look finds nothing", err)
	}
	if err == nil {
		live(s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		return
	}
	if !errors.Is(err, ErrBadFile) || strings.Contains(err.Error(), "\n") || len(err.Error()) > 600 {
		t.Errorf("that is no clear sentence: %v", err)
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(after, content) {
		t.Error("the refused file was changed")
	}
}

// inMemory is a folder whose files need not last, where the system has one.
func inMemory() string {
	const shm = "/dev/shm"
	if st, err := os.Stat(shm); err == nil && st.IsDir() {
		return shm
	}
	return ""
}

// live uses a store as an evening would. Errors are answers; only a panic or a
// wait without end is none.
func live(s *Store) {
	o := sale.New(sale.Config{
		Store: s, Secret: s.Secret(), TicketCode: uuid.UUID.String, Providers: []sale.Provider{till{}}, Sinks: func(string) []string { return []string{"log:"} },
	})
	_ = s.ServeOutbox(func([]outbox.Message) {})
	for _, e := range o.Events() {
		_, _ = o.Tick(e.ID, time.Second)
		_, _ = o.OpenEvent("staff", e.ID)
		visitor := uuid.New()
		p, _, _ := o.Join(e.ID, visitor)
		_, _ = o.Hold(sale.HoldRequest{Event: e.ID, Token: p.Token, Visitor: visitor, Best: true, Count: 2})
		_, _ = o.Live(e.ID)
		_, _ = o.Seats(e.ID)
		orders, _ := s.Orders(e.ID, uuid.Nil, 100)
		for _, n := range orders {
			v, err := o.AnyOrder(n.ID)
			if err != nil {
				continue
			}
			_, _ = o.Confirm(n.ID, sale.Confirmation{Actor: "shop", Key: "again", Amount: v.Total, Currency: v.Currency, Reference: "again"})
			_, _ = o.Cancel(n.Visitor, n.ID)
		}
	}
	_, _ = s.Entries(0, 100)
	messages, _ := s.Messages("", 0, 100)
	for _, m := range messages {
		_, _, _ = s.Load(m.Seq)
		_ = s.Settle([]outbox.Outcome{{Seq: m.Seq, Attempts: 1, State: outbox.Waiting}})
	}
	_ = s.RefundsDue()
	_, _ = s.ForgetOrders(time.Now())
}
