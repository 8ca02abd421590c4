package storetest_test

import (
	"time"

	"github.com/google/uuid"

	"foyer/outbox"
	"foyer/sale"
	"foyer/sale/storetest"
)

type txRule struct{ sale.Tx }

func (t txRule) PutLaneRule(pattern string, r outbox.Rule) { // the first one stays
	if _, there := t.Tx.LaneRules()[pattern]; !there {
		t.Tx.PutLaneRule(pattern, r)
	}
}

type txNoRemoval struct{ sale.Tx }

func (txNoRemoval) RemoveLaneRule(string) {}

type readerRules struct{ sale.Reader }

func (readerRules) LaneRules() map[string]outbox.Rule { return map[string]outbox.Rule{} }

type readerTask struct{ sale.Reader }

func (readerTask) Task(uuid.UUID) (m outbox.Message, found bool) { return m, false }

type txSettle struct{ sale.Tx }

func (t txSettle) Settle(o outbox.Outcome) { o.Keep = false; t.Tx.Settle(o) }

// nearsighted lists no tasks that have ended.
type nearsighted struct{ storetest.Store }

func (n nearsighted) Tasks(key string, after uint64, limit int) (list []outbox.Message, next uint64, err error) {
	all, next, err := n.Store.Tasks(key, after, limit)
	for _, m := range all {
		if m.State == outbox.Waiting || m.State == outbox.Dead {
			list = append(list, m)
		}
	}
	return list, next, err
}

// mixed lists the tasks of all lanes.
type mixed struct{ storetest.Store }

func (m mixed) Tasks(_ string, after uint64, n int) ([]outbox.Message, uint64, error) {
	return m.Store.Tasks("other", after, n)
}

type forgetful struct{ storetest.Store }

func (f forgetful) ForgetTasks(time.Time) (bool, error) {
	return f.Store.ForgetTasks(time.Now().Add(time.Hour))
}

type elephant struct{ storetest.Store }

func (elephant) ForgetTasks(time.Time) (bool, error) { return false, nil }

func init() {
	later := func(reader func(sale.Reader) sale.Reader) func(storetest.Store, int) storetest.Store {
		return func(s storetest.Store, opened int) storetest.Store {
			if opened < 2 {
				return s
			}
			return broken{Store: s, view: reader}
		}
	}
	brokenStores = append(brokenStores, []brokenStore{
		{"keeps the first rule of a lane for ever", "the last rule of a lane counts and is kept", func(s storetest.Store, _ int) storetest.Store {
			return broken{Store: s, update: func(tx sale.Tx) sale.Tx { return txRule{tx} }}
		}},
		{"takes no rule of a lane away", "the last rule of a lane counts and is kept", func(s storetest.Store, _ int) storetest.Store {
			return broken{Store: s, update: func(tx sale.Tx) sale.Tx { return txNoRemoval{tx} }}
		}},
		{"loses the rules of lanes when it is opened again", "the last rule of a lane counts and is kept", later(func(r sale.Reader) sale.Reader { return readerRules{r} })},
		{"finds no task when it is opened again", "a task is found by its id, also after its end", later(func(r sale.Reader) sale.Reader { return readerTask{r} })},
		{"drops tasks that are done", "a task is found by its id, also after its end", func(s storetest.Store, _ int) storetest.Store {
			return broken{Store: s, update: func(tx sale.Tx) sale.Tx { return txSettle{tx} }}
		}},
		{"lists no tasks that have ended", "the tasks of a lane are listed in the order of their sending", func(s storetest.Store, _ int) storetest.Store { return nearsighted{s} }},
		{"lists tasks of another lane", "the tasks of a lane are listed in the order of their sending", func(s storetest.Store, _ int) storetest.Store { return mixed{s} }},
		{"forgets tasks before their time", "tasks are forgotten some time after their end and not before", func(s storetest.Store, _ int) storetest.Store { return forgetful{s} }},
		{"forgets no task", "tasks are forgotten some time after their end and not before", func(s storetest.Store, _ int) storetest.Store { return elephant{s} }},
	}...)
}
