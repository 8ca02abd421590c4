package sale_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"foyer/outbox"
	"foyer/sale"
)

// errand makes tasks and notes when.
type errand struct {
	began time.Time
	takes time.Duration
	fail  func(m outbox.Message) error // nil: everything is taken

	mu    sync.Mutex
	calls []string // "id at 1m0s"
}

func (e *errand) Deliver(ctx context.Context, m outbox.Message) error {
	_, err := e.Call(ctx, m)
	return err
}

// delivery is a sink whose answers are not kept.
type delivery func(context.Context, outbox.Message) error

func (d delivery) Deliver(ctx context.Context, m outbox.Message) error { return d(ctx, m) }

func (e *errand) Call(_ context.Context, m outbox.Message) (string, error) {
	name := m.Topic
	var r sale.TaskRequest
	if json.Unmarshal(m.Body, &r) == nil && m.Topic == sale.TopicTask {
		name = r.ID
	}
	e.mu.Lock()
	e.calls = append(e.calls, fmt.Sprintf("%s at %s", name, time.Since(e.began).Round(time.Second)))
	e.mu.Unlock()
	time.Sleep(e.takes)
	if e.fail != nil {
		if err := e.fail(m); err != nil {
			return "", err
		}
	}
	return "200 OK: noted", nil
}

func (e *errand) made() []string {
	synctest.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.calls)
}

// deliver runs a relay for the house, until end.
func (h *house) deliver(e *errand) (end func()) {
	h.Helper()
	e.began = h.began
	relay := outbox.NewRelay(outbox.Config{
		Book: h.store, Now: h.store.Now, Rand: func() float64 { return 0.5 },
		Sinks: map[string]outbox.Sink{outbox.TaskSink: e, "log:": delivery(e.Deliver)},
		Rules: map[string]outbox.Rule{outbox.TaskSink: {Interval: sale.TaskInterval, Concurrency: 1}},
	})
	h.Office = sale.New(sale.Config{
		Store: h.store, Secret: h.store.Secret(), Sinks: h.sinks, Relay: relay, Lanes: relay, TicketCode: uuid.UUID.String, Providers: []sale.Provider{h.bank},
	})
	h.ok(h.LoadLanes())
	slots, err := h.store.Slots()
	h.ok(err)
	relay.Resume(slots)
	h.ok(h.store.ServeOutbox(relay.Offer))
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- relay.Run(ctx) }()
	return func() {
		h.Helper()
		stop()
		h.ok(<-ended)
	}
}

func request(id string) sale.TaskRequest {
	return sale.TaskRequest{ID: id, Request: outbox.Request{URL: "https://x.example/in", Method: "POST", Body: json.RawMessage(`{"id":"` + id + `"}`)}}
}

// task takes a task for the lane k.
func (h *house) task(id string) uuid.UUID {
	h.Helper()
	v, fresh, err := h.AddTask("k", request(id))
	h.ok(err)
	if !fresh {
		h.Errorf("task %s was known", id)
	}
	return v.ID
}

// stands wants a task in a state.
func (h *house) stands(id uuid.UUID, state string) sale.TaskView {
	h.Helper()
	synctest.Wait()
	v, err := h.Task(id)
	h.ok(err)
	if v.State != state {
		h.Errorf("%s in: task %s is %s, want %s", time.Since(h.began), v.Request.ID, v.State, state)
	}
	return v
}

func TestTasksGoOneAMinuteAlsoOverARestart(t *testing.T) {
	play(t, nil, func(h *house) {
		e := &errand{takes: 2 * time.Second}
		end := h.deliver(e)
		h.at(10 * time.Second)
		var ids []uuid.UUID
		for i := range 5 {
			ids = append(ids, h.task(fmt.Sprint(i)))
		}
		h.stands(ids[0], sale.TaskRunning)
		for i := 1; i < 5; i++ {
			v := h.stands(ids[i], sale.TaskWaiting)
			if due := v.Due.Sub(h.began); v.Position != i-1 || due != 10*time.Second+time.Duration(i)*time.Minute {
				h.Errorf("task %d stands at %d, due %s", i, v.Position, due)
			}
		}
		h.at(75 * time.Second)
		if v := h.stands(ids[1], sale.TaskDone); v.Attempts != 1 || v.LastAnswer != "200 OK: noted" || v.EndedAt.Sub(h.began) != 72*time.Second {
			h.Errorf("done it is %+v", v)
		}
		end()
		h.restart()
		h.at(100 * time.Second)
		end = h.deliver(e)
		if l, err := h.Lane("k"); err != nil || l.Waiting != 3 || l.Next.Sub(h.began) < 130*time.Second || l.Next.Sub(h.began) > 131*time.Second {
			h.Errorf("after the restart the lane is %+v, %v", l, err)
		}
		h.at(10 * time.Minute)
		want := []string{"0 at 10s", "1 at 1m10s", "2 at 2m10s", "3 at 3m10s", "4 at 4m10s"}
		if got := e.made(); !slices.Equal(got, want) {
			h.Errorf("tasks went\n%v, want\n%v", got, want)
		}
		for _, id := range ids {
			h.stands(id, sale.TaskDone)
		}
		end()
	})
}

func TestIDOfATaskIsKnownForAWeekAfterItsEnd(t *testing.T) {
	play(t, nil, func(h *house) {
		defer h.deliver(&errand{})()
		id := h.task("a")
		_, fresh, err := h.AddTask("k", request("a"))
		h.ok(err)
		other := request("a")
		other.Headers = map[string]string{"X-A": "1"}
		_, _, refusal := h.AddTask("k", other)
		h.refused(refusal, sale.ErrTaskReused)
		elsewhere, isNew, err := h.AddTask("k2", other)
		h.ok(err)
		if fresh || !isNew || elsewhere.ID == id {
			h.Errorf("the same id: fresh %v, in another lane %v", fresh, isNew)
		}
		same := request("a") // the same, written another way
		same.Method, same.Body, same.Headers = "", json.RawMessage(" { \"id\" : \"a\" }\n"), map[string]string{}
		if v, fresh, err := h.AddTask("k", same); err != nil || fresh || v.ID != id {
			h.Errorf("blanks and defaults make another request: %v", err)
		}
		h.at(6 * 24 * time.Hour)
		h.ok(h.Tidy())
		if _, fresh, err := h.AddTask("k", request("a")); err != nil || fresh {
			h.Errorf("after six days: fresh %v, %v", fresh, err)
		}
		h.at(7*24*time.Hour + time.Minute)
		h.ok(h.Tidy())
		_, err = h.Task(id)
		h.refused(err, sale.ErrNoSuchTask)
		if list, _, err := h.Tasks("k", 0, 9); err != nil || len(list) != 0 {
			h.Errorf("after a week %d are listed, %v", len(list), err)
		}
		if v, fresh, err := h.AddTask("k", request("a")); err != nil || !fresh || v.ID != id {
			h.Errorf("after a week: fresh %v, %v", fresh, err)
		}
	})
}

func TestTaskGoesNotBeforeItsTimeAndLetsOthersPass(t *testing.T) {
	play(t, nil, func(h *house) {
		e := &errand{}
		defer h.deliver(e)()
		_, err := h.ChangeLane("staff", "k", func(r *outbox.Rule) { r.Interval = 0 })
		h.ok(err)
		late := request("late")
		at := h.began.Add(time.Hour)
		late.NotBefore = &at
		v, _, err := h.AddTask("k", late)
		h.ok(err)
		if v.State != sale.TaskWaiting || !v.Due.Equal(at) {
			h.Errorf("it is %s, due %s", v.State, v.Due)
		}
		h.task("now")
		for _, off := range []time.Duration{367 * 24 * time.Hour, 1 << 62} {
			far := request("far")
			then := h.began.Add(off)
			far.NotBefore = &then
			_, _, err = h.AddTask("k", far)
			h.refused(err, sale.ErrBadTask)
		}
		h.at(2 * time.Hour)
		if got := e.made(); !slices.Equal(got, []string{"now at 0s", "late at 1h0m0s"}) {
			h.Errorf("tasks went %v", got)
		}
	})
}

func TestTasksAreCancelledUnlessTheyRunOrAreDone(t *testing.T) {
	play(t, nil, func(h *house) {
		e := &errand{takes: 10 * time.Second, fail: func(m outbox.Message) error {
			if strings.Contains(string(m.Body), "gone") {
				return &outbox.Failure{Reason: "410 Gone", Final: true}
			}
			return nil
		}}
		defer h.deliver(e)()
		_, err := h.ChangeLane("staff", "k", func(r *outbox.Rule) { r.Interval = 0 })
		h.ok(err)
		gone, running, waiting, last := h.task("gone"), h.task("running"), h.task("waiting"), h.task("last")
		h.at(15 * time.Second)
		if v := h.stands(gone, sale.TaskDead); v.LastAnswer != "410 Gone" || v.Attempts != 1 {
			h.Errorf("dead it is %+v", v)
		}
		h.stands(running, sale.TaskRunning)
		h.refused(h.CancelTask("staff", running), sale.ErrTaskRunning)
		for range 2 {
			h.ok(h.CancelTask("staff", gone))
			h.ok(h.CancelTask("staff", waiting))
		}
		h.stands(gone, sale.TaskCancelled)
		if v := h.stands(waiting, sale.TaskCancelled); v.EndedAt.Sub(h.began) != 15*time.Second {
			h.Errorf("cancelled it is %+v", v)
		}
		if v := h.stands(last, sale.TaskWaiting); v.Position != 0 {
			h.Errorf("the last stands at %d", v.Position)
		}
		h.refused(h.CancelTask("staff", uuid.New()), sale.ErrNoSuchTask)
		h.refused(h.RetryMessage("staff", gone.String()), sale.ErrNoSuchMessage)
		h.at(time.Minute)
		h.stands(running, sale.TaskDone)
		h.refused(h.CancelTask("staff", running), sale.ErrTaskDone)
		if got := e.made(); !slices.Equal(got, []string{"gone at 0s", "running at 10s", "last at 20s"}) {
			h.Errorf("tasks went %v", got)
		}
	})
}

func TestDeadTaskIsRetriedOrDroppedByStaff(t *testing.T) {
	play(t, nil, func(h *house) {
		broken := true
		defer h.deliver(&errand{fail: func(outbox.Message) error {
			if broken {
				return &outbox.Failure{Reason: "410 Gone", Final: true}
			}
			return nil
		}})()
		_, err := h.ChangeLane("staff", "k", func(r *outbox.Rule) { r.Interval = 0 })
		h.ok(err)
		one, two := h.task("one"), h.task("two")
		h.stands(one, sale.TaskDead)
		h.stands(two, sale.TaskDead)
		broken = false
		h.ok(h.RetryMessage("staff", one.String()))
		h.ok(h.DropMessage("staff", two.String()))
		if v := h.stands(one, sale.TaskDone); v.Attempts != 1 {
			h.Errorf("done it is %+v", v)
		}
		h.stands(two, sale.TaskCancelled)
		h.refused(h.DropMessage("staff", two.String()), sale.ErrNoSuchMessage)
	})
}

func TestTimeThatIsNoneForATaskIsRefusedAsSuch(t *testing.T) {
	play(t, nil, func(h *house) {
		for at, says := range map[time.Time]string{
			time.Date(-1, 12, 31, 0, 0, 0, 0, time.UTC): "notBefore is before the year 0", time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC): "notBefore is after the year 9999",
			time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC): "notBefore is 9999-01-01T00:00:00Z, but it must be at most a year away",
		} {
			r := request("a")
			r.NotBefore = &at
			_, _, err := h.AddTask("k", r)
			var refusal *sale.Refusal
			if !errors.As(err, &refusal) || refusal.Code != "bad_task" || !strings.Contains(refusal.Detail, says) {
				h.Errorf("%v: %v", at, err)
			}
		}
	})
}

func TestTasksThatCannotBeMadeAreRefused(t *testing.T) {
	play(t, nil, func(h *house) {
		for name, spoil := range map[string]func(*sale.TaskRequest){
			"scheme": func(r *sale.TaskRequest) { r.URL = "file:///etc/passwd" }, "method": func(r *sale.TaskRequest) { r.Method = "BREW" },
			"id": func(r *sale.TaskRequest) { r.ID = strings.Repeat("x", 256) }, "turned id": func(r *sale.TaskRequest) { r.ID = "a\u202eb" }, "body": func(r *sale.TaskRequest) { r.Body = json.RawMessage("{") },
			"header": func(r *sale.TaskRequest) { r.Headers = map[string]string{"Host": "x"} },
		} {
			r := request("a")
			spoil(&r)
			if _, _, err := h.AddTask("k", r); err == nil {
				h.Errorf("%s: it was taken", name)
			} else {
				h.refused(err, sale.ErrBadTask)
			}
		}
		if left := h.messages(); len(left) != 0 {
			h.Errorf("%d messages are left", len(left))
		}
		_, err := h.Task(uuid.New())
		h.refused(err, sale.ErrNoSuchTask)
	})
}
