package sale

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"foyer/outbox"
)

// TopicTask is the topic of tasks: requests to be made later.
const TopicTask = "task"

const (
	maxTaskID    = 255
	maxNotBefore = 366 * 24 * time.Hour
	// KeepTasks is how long a task that is done or cancelled can be looked at, and its id is known.
	KeepTasks = 7 * 24 * time.Hour
)

// TaskRequest asks for an HTTP request to be made in the lane of a key.
type TaskRequest struct {
	ID        string     `json:"id,omitempty"` // the caller's; the same again is the same task
	NotBefore *time.Time `json:"notBefore,omitempty"`
	outbox.Request
}

// The states of a task.
const (
	TaskWaiting   = "WAITING"
	TaskRunning   = "RUNNING"
	TaskDone      = "DONE"
	TaskDead      = "DEAD"
	TaskCancelled = "CANCELLED"
)

// TaskView is a task at one moment; secrets of its request are masked.
type TaskView struct {
	ID         uuid.UUID
	Key        string
	State      string
	Position   int       // WAITING: how many of its lane go before it
	Due        time.Time // WAITING: when it starts at the pace of its lane; zero in a paused lane
	CreatedAt  time.Time
	EndedAt    time.Time // DONE, CANCELLED
	Attempts   int
	LastAnswer string // what the last attempt met
	Request    TaskRequest
	Now        time.Time
}

// taskSpace is the name space of task ids that callers chose (RFC 9562, version 5).
var taskSpace = uuid.MustParse("6f8f7d0e-3a51-4d6c-9d0a-6a1c41f0b7a3")

// AddTask takes a request to be made in the lane of a key; fresh tells that it was not known. The same id with another
// request is refused with [ErrTaskReused].
func (o *Office) AddTask(key string, r TaskRequest) (v TaskView, fresh bool, err error) {
	if err := checkLaneKey(key, false); err != nil {
		return v, false, err
	}
	body, err := o.taskBody(r)
	if err != nil {
		return v, false, err
	}
	var m outbox.Message
	err = o.store.Update(func(tx Tx) error {
		id := tx.NewID()
		if r.ID != "" {
			id = uuid.NewSHA1(taskSpace, []byte(key+"\x00"+r.ID))
		}
		if known, there := tx.Task(id); there {
			m, fresh = known, false
			return nil
		}
		if r.NotBefore != nil && r.NotBefore.After(tx.Now().Add(maxNotBefore)) {
			return ErrBadTask.say(fmt.Sprintf("notBefore is %s, but it must be at most a year away.", r.NotBefore.UTC().Format(time.RFC3339)))
		}
		m, fresh = outbox.Message{
			ID: id.String(), Topic: TopicTask, Key: key, Sink: outbox.TaskSink, CreatedAt: tx.Now(), Body: body, State: outbox.Waiting,
		}, true
		if r.NotBefore != nil && r.NotBefore.After(tx.Now()) {
			m.NextAt, m.Since = *r.NotBefore, *r.NotBefore
		}
		tx.Send(m)
		return nil
	})
	if err != nil {
		return v, false, err
	}
	if !fresh && !bytes.Equal(m.Body, body) {
		return v, false, ErrTaskReused
	}
	v, err = o.Task(uuid.MustParse(m.ID))
	return v, fresh, err
}

// taskBody checks a request and gives it as it is stored.
func (o *Office) taskBody(r TaskRequest) ([]byte, error) {
	if r.Method == "" {
		r.Method = "POST"
	}
	if len(r.ID) > maxTaskID {
		return nil, ErrBadTask.say(fmt.Sprintf("id has %d bytes, but at most %d may be.", len(r.ID), maxTaskID))
	}
	if strings.ContainsFunc(r.ID, outbox.Unseen) {
		return nil, ErrBadTask.say("id has no control characters and no others that cannot be seen, such as marks for the direction of writing.")
	}
	if err := r.Check(); err != nil {
		return nil, ErrBadTask.say("The task cannot be made: " + err.Error() + ".")
	}
	if r.NotBefore != nil {
		at := r.NotBefore.UTC().Truncate(time.Millisecond)
		switch year := at.Year(); { // of others no JSON can be written
		case year < 0:
			return nil, ErrBadTask.say("notBefore is before the year 0.")
		case year > 9999:
			return nil, ErrBadTask.say("notBefore is after the year 9999, but it must be at most a year away.")
		}
		r.NotBefore = &at
	}
	if r.Body = bytes.TrimSpace(r.Body); string(r.Body) == "null" {
		r.Body = nil
	}
	if len(r.Headers) == 0 {
		r.Headers = nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // it is sent as it came, but for blanks
	if err := e.Encode(r); err != nil {
		return nil, ErrBadTask.say("body is no JSON.")
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// Task finds a task. It refuses with [ErrNoSuchTask], also when it ended more than [KeepTasks] ago.
func (o *Office) Task(id uuid.UUID) (v TaskView, err error) {
	err = o.store.View(func(r Reader) error {
		m, there := r.Task(id)
		if !there {
			return ErrNoSuchTask
		}
		v, err = o.taskView(m)
		v.Now = r.Now()
		return err
	})
	return v, err
}

// Tasks lists the tasks of a key by rising number after one, at most n, and the number to go on after; 0 ends the list.
func (o *Office) Tasks(key string, after uint64, n int) (list []TaskView, next uint64, err error) {
	if err := checkLaneKey(key, false); err != nil {
		return nil, 0, err
	}
	rows, next, err := o.store.Tasks(key, after, n)
	if err != nil {
		return nil, 0, err
	}
	var now time.Time
	if err := o.store.View(func(r Reader) error { now = r.Now(); return nil }); err != nil {
		return nil, 0, err
	}
	for _, m := range rows {
		v, err := o.taskView(m)
		if err != nil {
			return nil, 0, err
		}
		v.Now = now
		list = append(list, v)
	}
	return list, next, nil
}

func (o *Office) taskView(m outbox.Message) (v TaskView, err error) {
	v = TaskView{Key: m.Key, CreatedAt: m.CreatedAt, Attempts: m.Attempts, LastAnswer: m.LastError}
	if v.ID, err = uuid.Parse(m.ID); err != nil {
		return v, err
	}
	if err := json.Unmarshal(m.Body, &v.Request); err != nil {
		return v, err
	}
	v.Request.Request = v.Request.Masked()
	switch m.State {
	case outbox.Waiting:
		v.State, v.Due = TaskWaiting, m.NextAt
		if s, known := o.lanes.Standing(m.Seq); known {
			v.Position, v.Due = s.Position, s.Due
			if s.Running {
				v.State = TaskRunning
			}
		}
	case outbox.Dead:
		v.State = TaskDead
	case outbox.Done:
		v.State, v.EndedAt = TaskDone, m.NextAt
	case outbox.Cancelled:
		v.State, v.EndedAt = TaskCancelled, m.NextAt
	}
	return v, nil
}

// CancelTask ends a task that waits or is dead. One that runs is refused with [ErrTaskRunning], one that is done with
// [ErrTaskDone]; cancelling again changes nothing. A task that is cancelled is not started any more: it is taken out of
// its lane before that is written down, and put back if it cannot be.
func (o *Office) CancelTask(actor string, id uuid.UUID) error {
	seq := uint64(0)
	err := o.store.Update(func(tx Tx) error {
		m, there := tx.Task(id)
		switch {
		case !there:
			return ErrNoSuchTask
		case m.State == outbox.Done:
			return ErrTaskDone
		case m.State == outbox.Cancelled:
			return nil
		case m.Seq == 0 || !o.lanes.Withdraw(m.Seq): // without a number it is not even committed
			return ErrTaskRunning
		}
		seq = m.Seq
		tx.Settle(outbox.Outcome{Seq: m.Seq, Delivered: true, Keep: true, State: outbox.Cancelled, Attempts: m.Attempts, LastError: m.LastError})
		o.audit(tx, actor, "", "task.cancel", m.ID+" of "+m.Key)
		return nil
	})
	if err != nil && seq != 0 && o.relay != nil {
		o.relay.Retry(seq)
	}
	return err
}
