package store

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"foyer/outbox"
	"foyer/sale"
)

// looked checks a file and gives what it found.
func looked(t testing.TB, path string) *Report {
	t.Helper()
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Inspect(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the look changed the file: %v", err)
	}
	return r
}

// codesOf are the codes of findings, each once, in their order.
func codesOf(found []Finding) (codes []string) {
	for _, f := range found {
		if !slices.Contains(codes, f.Code) {
			codes = append(codes, f.Code)
		}
	}
	return codes
}

func TestBusyHouseIsSoundAndSummedUp(t *testing.T) {
	path, f := busy(t)
	r := looked(t, path)
	for _, f := range r.Findings {
		t.Errorf("%s %s", f.Code, f.What)
	}
	if !r.Rows || r.Bytes != int64(len(f.whole)) || r.Path != path {
		t.Errorf("got %+v", r)
	}
	want := map[sale.OrderStatus]int{
		sale.Pending: 2, sale.Paying: 1, sale.Paid: 3, sale.RefundDue: 1, sale.Refunded: 1, sale.Expired: 1, sale.Cancelled: 1,
	}
	for status, n := range want {
		if got := r.Tally.Orders[status]; got != n {
			t.Errorf("%d orders %s, want %d", got, status, n)
		}
	}
	if got, want := r.Tally.Money["EUR"], (sale.MoneyTally{Paid: 17000, RefundDue: 8500, Refunded: 8500, Attention: 100}); got != want {
		t.Errorf("money %+v, want %+v", got, want)
	}
	if n := r.Tally; n.Events != 2 || n.Waiting != 3 || n.Keys != 2 || n.Receipts != 6 || n.Messages == 0 || n.Entries != 10 {
		t.Errorf("got %+v", n)
	}
}

// Rules may be tightened while turns run: that is no fault of the file.
func TestTighterRulesAreNotedAtMost(t *testing.T) {
	path, _ := busy(t)
	s, err := Open(filepath.Dir(path), Options{Now: func() time.Time { return time.Date(2024, 5, 1, 18, 11, 2, 0, time.UTC) }})
	if err != nil {
		t.Fatal(err)
	}
	_, err = sale.New(sale.Config{Store: s, Secret: s.Secret(), Providers: []sale.Provider{till{}}}).ChangeEvent("staff", "gala", func(s *sale.Settings) error {
		s.Rules.MaxActive, s.Rules.AdmitPerSecond = 1, 1
		return nil
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	found := looked(t, path).Findings
	if len(found) != 1 || !found[0].Note() || !strings.Contains(found[0].What, "by now at most 1") {
		t.Errorf("found %v", found)
	}
}

func TestMessagesOfOtherTopicsAreTheirSendersBusiness(t *testing.T) {
	path, f := busy(t)
	amend(t, path, func(tx *bolt.Tx) error {
		b := &breaker{t, tx, f}
		n := tx.Bucket(bucketOutbox).Sequence() + 1
		b.must(tx.Bucket(bucketOutbox).SetSequence(n))
		id := "018f3559-0000-7000-8000-000000000001"
		body, err := outbox.Envelope(id, "task", "a lane", time.Unix(1, 0), []int{1, 2})
		b.must(err)
		b.message(outbox.Message{Seq: n, ID: id, Topic: "task", Key: "a lane", Sink: "log:", Body: body, State: outbox.Dead})
		return nil
	})
	if found := looked(t, path).Findings; len(found) != 0 {
		t.Errorf("found %v", found)
	}
}

func TestProgressEndsAtItsEnd(t *testing.T) {
	path, _ := tall(t, boltOptions)
	calls, last, total := 0, int64(0), int64(0)
	if _, err := Check(path, func(d, of int64) {
		if d < last || d > of {
			t.Errorf("%d of %d after %d", d, of, last)
		}
		calls, last, total = calls+1, d, of
	}); err != nil {
		t.Fatal(err)
	}
	if calls == 0 || last != total || total == 0 {
		t.Errorf("%d calls, the last with %d of %d", calls, last, total)
	}
}
