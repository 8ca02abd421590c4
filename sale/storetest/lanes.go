package storetest

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/google/uuid"

	"foyer/outbox"
	"foyer/sale"
)

func rulesKept(b *bench) {
	slow := outbox.Rule{Interval: time.Hour, Concurrency: 3, Attempts: 4, Deadline: time.Minute}
	open := outbox.Rule{Interval: outbox.SinkInterval, Concurrency: 1, Paused: true}
	b.update(func(tx sale.Tx) {
		tx.PutLaneRule("a/b 鍵", outbox.Rule{Interval: time.Second})
		tx.PutLaneRule("t-*", open)
		tx.PutLaneRule("gone", slow)
		tx.PutLaneRule("back", slow)
	})
	b.update(func(tx sale.Tx) {
		tx.RemoveLaneRule("gone")
		tx.RemoveLaneRule("back")
		tx.RemoveLaneRule("never")
		if got := tx.LaneRules(); len(got) != 2 || got["t-*"] != open {
			b.Errorf("a function reads of its own rules %v", got)
		}
	})
	_ = b.Update(func(tx sale.Tx) error { tx.PutLaneRule("t-*", slow); return errNo })
	_ = b.Update(func(tx sale.Tx) error { tx.RemoveLaneRule("t-*"); return errNo })
	before := map[string]outbox.Rule{}
	b.view(func(r sale.Reader) { before = r.LaneRules() })
	b.update(func(tx sale.Tx) {
		if got := tx.LaneRules(); len(got) != 2 || got["t-*"] != open {
			b.Errorf("after a refusal the rules are %v", got)
		}
		tx.PutLaneRule("a/b 鍵", slow)
		tx.PutLaneRule("back", open)
	})
	if before["a/b 鍵"] != (outbox.Rule{Interval: time.Second}) {
		b.Errorf("the rules that a view gave have changed")
	}
	want := map[string]outbox.Rule{"a/b 鍵": slow, "t-*": open, "back": open}
	b.twice(func(when string) {
		b.view(func(r sale.Reader) {
			if got := r.LaneRules(); !reflect.DeepEqual(got, want) {
				b.Errorf("%s: the rules are %v, want %v", when, got, want)
			}
		})
	})
}

// task sends a task for a lane.
func task(tx sale.Tx, lane string) uuid.UUID {
	id := tx.NewID()
	tx.Send(outbox.Message{
		ID: id.String(), Topic: sale.TopicTask, Key: lane, Sink: outbox.TaskSink, CreatedAt: tx.Now(), State: outbox.Waiting,
		Body: []byte(`{"url":"https://x.example","method":"GET","id":"` + id.String() + `"}`),
	})
	return id
}

// finish ends a task in a way of its own.
func finish(tx sale.Tx, id uuid.UUID, state outbox.State) {
	m, _ := tx.Task(id)
	tx.Settle(outbox.Outcome{Seq: m.Seq, Delivered: true, Keep: true, State: state, Attempts: 2, LastError: "200 OK"})
}

func taskFound(b *bench) {
	var id uuid.UUID
	b.update(func(tx sale.Tx) {
		if _, there := tx.Task(uuid.New()); there {
			b.Errorf("a task that never was is found")
		}
		id = task(tx, "k")
		if m, there := tx.Task(id); !there || m.Key != "k" {
			b.Errorf("a function does not find the task that it sent")
		}
	})
	find := func(when string, state outbox.State, attempts int) {
		b.view(func(r sale.Reader) {
			m, there := r.Task(id)
			if !there || m.ID != id.String() || m.Seq == 0 || m.State != state || m.Attempts != attempts || len(m.Body) == 0 {
				b.Errorf("%s: the task is found %v, as %+v", when, there, m)
			}
		})
	}
	b.twice(func(when string) { find(when, outbox.Waiting, 0) })
	var refused uuid.UUID
	_ = b.Update(func(tx sale.Tx) error { refused = task(tx, "k"); finish(tx, id, outbox.Cancelled); return errNo })
	find("after a refusal", outbox.Waiting, 0)
	var ended time.Time
	b.update(func(tx sale.Tx) {
		if _, there := tx.Task(refused); there {
			b.Errorf("a refused task is found")
		}
		finish(tx, id, "") // made
		ended = tx.Now()
		if m, there := tx.Task(id); !there || m.State != outbox.Done {
			b.Errorf("a function does not see how the task ended that it ended: %+v", m)
		}
	})
	b.twice(func(when string) {
		find(when, outbox.Done, 2)
		b.view(func(r sale.Reader) {
			if m, _ := r.Task(id); !m.NextAt.Equal(ended) || m.LastError != "200 OK" {
				b.Errorf("%s: it ended at %s with %q, want %s", when, m.NextAt, m.LastError, ended)
			}
		})
		if list, _ := b.Messages("", 0, 9); len(list) != 0 {
			b.Errorf("%s: a task that ended waits", when)
		}
	})
}

func tasksListed(b *bench) {
	var want []string
	for i := range 12 {
		b.update(func(tx sale.Tx) {
			message(tx, fmt.Sprint("m", i)) // of no lane of tasks
			task(tx, "other")
			want = append(want, task(tx, "k").String())
		})
	}
	b.update(func(tx sale.Tx) {
		finish(tx, uuid.MustParse(want[2]), "")
		finish(tx, uuid.MustParse(want[7]), outbox.Cancelled)
	})
	b.twice(func(when string) {
		var got []string
		for after, first := uint64(0), true; first || after != 0; first = false {
			page, next, err := b.Tasks("k", after, 5)
			if err != nil || len(page) > 5 || next != 0 && next <= after {
				b.Fatalf("%s: a page of %d after %d, next %d: %v", when, len(page), after, next, err)
			}
			for _, m := range page {
				got = append(got, m.ID)
				if m.Key != "k" || len(m.Body) == 0 {
					b.Errorf("%s: listed is %+v", when, m)
				}
			}
			after = next
		}
		if !slices.Equal(got, want) {
			b.Errorf("%s: listed are %v, want %v", when, got, want)
		}
	})
}

func tasksForgotten(b *bench) {
	var waits, old, young uuid.UUID
	b.update(func(tx sale.Tx) { waits, old, young = task(tx, "k"), task(tx, "k"), task(tx, "k") })
	var oldEnd time.Time
	b.update(func(tx sale.Tx) { finish(tx, old, ""); oldEnd = tx.Now() })
	for later := false; !later; { // stamps have whole milliseconds
		time.Sleep(time.Millisecond)
		b.update(func(tx sale.Tx) {
			if later = tx.Now().After(oldEnd); later {
				finish(tx, young, "")
			}
		})
	}
	forget := func(before time.Time) {
		for more := true; more; {
			var err error
			if more, err = b.ForgetTasks(before); err != nil {
				b.Fatalf("cannot forget: %v", err)
			}
		}
	}
	forget(oldEnd)
	b.view(func(r sale.Reader) {
		if _, there := r.Task(old); !there {
			b.Errorf("a task is forgotten at its time, not after it")
		}
	})
	forget(oldEnd.Add(time.Millisecond))
	b.twice(func(when string) {
		b.view(func(r sale.Reader) {
			_, hasOld := r.Task(old)
			_, hasYoung := r.Task(young)
			_, hasWaiting := r.Task(waits)
			if hasOld || !hasYoung || !hasWaiting {
				b.Errorf("%s: the old task is there %v, the young one %v, the one that waits %v", when, hasOld, hasYoung, hasWaiting)
			}
		})
		if list, _, _ := b.Tasks("k", 0, 9); len(list) != 2 {
			b.Errorf("%s: %d are listed, want 2", when, len(list))
		}
	})
	b.update(func(tx sale.Tx) {
		if _, there := tx.Task(old); there {
			b.Errorf("a function finds a forgotten task")
		}
	})
}
