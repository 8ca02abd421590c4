package store

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"foyer/outbox"
	"foyer/sale"
)

func sendTask(tx sale.Tx, lane string) uuid.UUID {
	id := tx.NewID()
	tx.Send(outbox.Message{
		ID: id.String(), Topic: sale.TopicTask, Key: lane, Sink: outbox.TaskSink, CreatedAt: tx.Now(), State: outbox.Waiting,
		Body: []byte(`{"url":"https://x.example","method":"GET"}`),
	})
	return id
}

func mustUpdate(t *testing.T, s *Store, fn func(tx sale.Tx)) {
	t.Helper()
	if err := s.Update(func(tx sale.Tx) error { fn(tx); return nil }); err != nil {
		t.Fatal(err)
	}
}

func slotsOf(t *testing.T, s *Store) (slots []outbox.Slot) {
	t.Helper()
	if err := s.eachSlot(func(at outbox.Slot) { slots = append(slots, at) }); err != nil {
		t.Fatal(err)
	}
	return slots
}

func TestSlotsSurviveAndAreForgottenOnceTheyHavePassed(t *testing.T) {
	dir := t.TempDir()
	var now atomic.Int64
	now.Store(time.Date(2026, 12, 1, 19, 0, 0, 0, time.UTC).UnixNano())
	clock := func() time.Time { return time.Unix(0, now.Load()).UTC() }
	s := openWith(t, dir, Options{Now: clock})
	soon, late := clock().Add(time.Minute), clock().Add(time.Hour)
	if err := s.Begin([]outbox.Slot{{Sink: "s", Key: "a/b", At: clock()}, {Sink: "s", Key: "b", At: late}, {Sink: "s2", Key: "b", At: soon}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Begin([]outbox.Slot{{Sink: "s", Key: "a/b", At: soon}}); err != nil { // booked anew
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openWith(t, dir, Options{Now: clock})
	defer s.Close()
	check := func(want ...outbox.Slot) {
		t.Helper()
		for name, read := range map[string]func() ([]outbox.Slot, error){
			"stored": func() ([]outbox.Slot, error) { return slotsOf(t, s), nil }, "to come": s.Slots,
		} {
			got, err := read()
			if err != nil || !slices.EqualFunc(got, want, func(a, b outbox.Slot) bool { return a.Sink == b.Sink && a.Key == b.Key && a.At.Equal(b.At) }) {
				t.Errorf("%s are %v, %v; want %v", name, got, err, want)
			}
		}
	}
	forget := func() {
		t.Helper()
		for more := true; more; {
			var err error
			if more, err = s.ForgetTasks(clock().Add(-time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
	}
	forget()
	check(outbox.Slot{Sink: "s", Key: "a/b", At: soon}, outbox.Slot{Sink: "s", Key: "b", At: late}, outbox.Slot{Sink: "s2", Key: "b", At: soon})
	now.Add(int64(2 * time.Minute))
	forget()
	check(outbox.Slot{Sink: "s", Key: "b", At: late})
	now.Add(int64(2 * time.Hour))
	forget()
	check()
}

// A slot that is booked while old ones are tidied away is kept, whether it is booked in the same commit or just before.
func TestSlotBookedWhileOldOnesAreForgottenIsKept(t *testing.T) {
	s := openWith(t, t.TempDir(), Options{})
	defer s.Close()
	past, next := s.Now().Add(-time.Second), s.Now().Add(time.Hour)
	for round := range 50 {
		key := fmt.Sprint("k", round)
		if err := s.Begin([]outbox.Slot{{Sink: "s", Key: key, At: past}}); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 2)
		go func() { _, err := s.ForgetTasks(past); done <- err }()
		go func() { done <- s.Begin([]outbox.Slot{{Sink: "s", Key: key, At: next}}) }()
		for range 2 {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		kept := false
		for _, at := range slotsOf(t, s) {
			kept = kept || at.Key == key && at.At.After(past.Add(time.Minute))
		}
		if !kept {
			t.Fatalf("round %d: the slot booked meanwhile is gone", round)
		}
	}
	// the same in one commit, in both orders
	for _, bookFirst := range []bool{true, false} {
		if err := s.Begin([]outbox.Slot{{Sink: "s", Key: "one", At: past}}); err != nil {
			t.Fatal(err)
		}
		mustUpdate(t, s, func(stx sale.Tx) {
			w := stx.(*tx)
			if bookFirst {
				w.slots.add(outbox.Slot{Sink: "s", Key: "one", At: next})
				w.pastSlots.add(outbox.Slot{Sink: "s", Key: "one", At: past})
			} else {
				w.pastSlots.add(outbox.Slot{Sink: "s", Key: "one", At: past})
				w.slots.add(outbox.Slot{Sink: "s", Key: "one", At: next})
			}
		})
		if !slices.ContainsFunc(slotsOf(t, s), func(at outbox.Slot) bool { return at.Key == "one" && at.At.After(past.Add(time.Minute)) }) {
			t.Errorf("booked first %v: the slot is gone", bookFirst)
		}
	}
}

func TestTasksOfALaneAreFoundAmongManyRows(t *testing.T) {
	s := openWith(t, t.TempDir(), Options{})
	defer s.Close()
	var want []string
	const others, every = 2*scanAtOnce + 500, 9000
	for i := 0; i < others; i += 500 {
		mustUpdate(t, s, func(tx sale.Tx) {
			for j := range 500 {
				sendTask(tx, fmt.Sprint("other ", j))
				if (i+j)%every == 0 {
					want = append(want, sendTask(tx, "k").String())
				}
			}
		})
	}
	var got []string
	pages := 0
	for after := uint64(0); pages == 0 || after != 0; pages++ {
		list, next, err := s.Tasks("k", after, 3)
		if err != nil || len(list) < 3 && next != 0 || next != 0 && next <= after || pages > 10 {
			t.Fatalf("page %d: %d rows, %d after %d, %v", pages, len(list), next, after, err)
		}
		for _, m := range list {
			got = append(got, m.ID)
		}
		after = next
	}
	if !slices.Equal(got, want) {
		t.Errorf("listed are %d tasks, want %d in their order", len(got), len(want))
	}
	if some, next, err := s.someTasks("none", 0, 3); err != nil || len(some) > 0 || next != scanAtOnce {
		t.Errorf("one look ends after %d, %v; it must not look at more than %d rows", next, err, scanAtOnce)
	}
}

// More tasks than one pass takes are forgotten in several, while a restart between two leaves the rest.
func TestManyEndedTasksAreForgottenInParts(t *testing.T) {
	dir := t.TempDir()
	s := openWith(t, dir, Options{})
	var ids []uuid.UUID
	mustUpdate(t, s, func(tx sale.Tx) {
		for range forgetAtOnce + 10 {
			ids = append(ids, sendTask(tx, "k"))
		}
	})
	mustUpdate(t, s, func(tx sale.Tx) {
		for _, id := range ids {
			m, _ := tx.Task(id)
			tx.Settle(outbox.Outcome{Seq: m.Seq, Delivered: true, Keep: true, Attempts: 1})
		}
	})
	later := s.Now().Add(time.Hour)
	if more, err := s.ForgetTasks(later); err != nil || !more {
		t.Fatalf("the first pass: more %v, %v", more, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openWith(t, dir, Options{})
	defer s.Close()
	if list, _, err := s.Tasks("k", 0, 100); err != nil || len(list) != 10 {
		t.Errorf("after one pass %d are left, %v", len(list), err)
	}
	if more, err := s.ForgetTasks(later); err != nil || more {
		t.Errorf("the second pass: more %v, %v", more, err)
	}
	if len(s.mem.tasks) != 0 {
		t.Errorf("memory knows %d tasks", len(s.mem.tasks))
	}
}

func TestB78CheckFindsBrokenRulesSlotsAndTasks(t *testing.T) {
	ended := func(b *breaker, seq uint64, change func(m *outbox.Message)) outbox.Message {
		m := outbox.Message{
			Seq: seq, ID: uuid.NewString(), Topic: sale.TopicTask, Key: "k", Sink: outbox.TaskSink, CreatedAt: moment(1), NextAt: moment(1), State: outbox.Done,
			Body: []byte(`{"url":"https://x.example","method":"GET"}`),
		}
		change(&m)
		b.put(bucketEnded, key64(seq), encodeMessage(m))
		return m
	}
	none := func(*outbox.Message) {}
	brokenFiles{
		"a rule is no rule": {"row", func(b *breaker) { b.put(bucketRules, []byte("k"), []byte("{")) }},
		"a rule cannot be": {"I10", func(b *breaker) {
			b.put(bucketRules, []byte("k"), encodeJSON(outbox.Rule{Interval: -5, Concurrency: 1}))
		}},
		"a rule is for no key":                            {"I10", func(b *breaker) { b.put(bucketRules, []byte("a*b"), encodeJSON(outbox.Rule{Concurrency: 1})) }},
		"a slot has no lane":                              {"row", func(b *breaker) { b.put(bucketSlots, []byte("k"), key64(1)) }},
		"a slot has half a time":                          {"row", func(b *breaker) { b.put(bucketSlots, []byte("s\x00k"), []byte{1}) }},
		"an ended task has no number":                     {"row", func(b *breaker) { b.put(bucketEnded, []byte("x"), []byte("x")) }},
		"an ended task is cut":                            {"row", func(b *breaker) { b.put(bucketEnded, key64(1), []byte{9}) }},
		"a message has ended":                             {"I10", func(b *breaker) { ended(b, 1, func(m *outbox.Message) { m.Sink = "log:" }) }},
		"an ended task waits":                             {"I10", func(b *breaker) { ended(b, 1, func(m *outbox.Message) { m.State = outbox.Waiting }) }},
		"an ended task asks nothing":                      {"I10", func(b *breaker) { ended(b, 1, func(m *outbox.Message) { m.Body = []byte("{}") }) }},
		"an ended task has a number that was never given": {"I10", func(b *breaker) { ended(b, 1<<40, none) }},
		"two ended tasks have one id": {"I10", func(b *breaker) {
			m := ended(b, 1, none)
			ended(b, 2, func(n *outbox.Message) { n.ID = m.ID })
		}},
		"a task has ended and waits": {"I10", func(b *breaker) {
			m := ended(b, 1, none)
			m.Seq, m.State, m.NextAt = b.Bucket(bucketOutbox).Sequence(), outbox.Waiting, moment(0)
			c := b.Bucket(bucketOutbox).Cursor()
			k, _ := c.Last()
			b.must(b.Bucket(bucketOutbox).SetSequence(m.Seq + 1))
			m.Seq++
			if n, err := numberKey(k); err != nil || n >= m.Seq {
				b.Fatalf("the last message is %x", k)
			}
			b.message(m)
		}},
	}.run(t)
	t.Run("all is well", func(t *testing.T) {
		path, _ := busy(t)
		amend(t, path, func(tx *bolt.Tx) error {
			b := &breaker{TB: t, Tx: tx}
			b.put(bucketRules, []byte("t-*"), encodeJSON(outbox.Rule{Interval: outbox.SinkInterval, Concurrency: 1}))
			b.put(bucketSlots, slotKey(outbox.Slot{Sink: "s", Key: "k"}), key64(1))
			ended(b, 1, none)
			return nil
		})
		if found := looked(t, path).Findings; len(found) > 0 {
			t.Errorf("found %v", found)
		}
		s := openWith(t, filepath.Dir(path), Options{})
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
