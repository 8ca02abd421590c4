package sale_test

import (
	"testing"
	"time"

	"foyer/outbox"
	"foyer/sale"
)

// failing is a receiver that takes nothing.
func failing() *errand {
	return &errand{fail: func(outbox.Message) error { return &outbox.Failure{Reason: "500"} }}
}

func TestPatienceWithATaskCountsFromItsNotBefore(t *testing.T) {
	for name, rule := range map[string]func(*outbox.Rule){
		"deadline": func(r *outbox.Rule) { r.Interval, r.Deadline = 0, 24*time.Hour },
		"patience": func(r *outbox.Rule) { r.Interval = 0 },
	} {
		play(t, nil, func(h *house) {
			end := h.deliver(failing())
			h.rule("k", rule)
			r := request("a")
			at := h.began.Add(5 * 24 * time.Hour)
			r.NotBefore = &at
			v, _, err := h.AddTask("k", r)
			h.ok(err)
			h.at(time.Hour)
			end()
			h.restart()
			end = h.deliver(failing())
			h.at(5*24*time.Hour + 23*time.Hour)
			if v := h.stands(v.ID, sale.TaskWaiting); v.Attempts < 7 {
				h.Errorf("%s: it was tried %d times", name, v.Attempts)
			}
			h.at(10 * 24 * time.Hour)
			h.stands(v.ID, sale.TaskDead)
			end()
		})
	}
}

func TestDeadTaskThatStaffRetryHasThePatienceOfANewOne(t *testing.T) {
	for name, retry := range map[string]func(h *house, id string){
		"one": func(h *house, id string) { h.ok(h.RetryMessage("staff", id)) },
		"all": func(h *house, _ string) { _, err := h.RetryDead("staff", sale.DeadMessages{}); h.ok(err) },
	} {
		for _, restart := range []bool{false, true} {
			play(t, nil, func(h *house) {
				end := h.deliver(failing())
				h.rule("k", func(r *outbox.Rule) { r.Interval, r.Deadline = 0, 10*time.Minute })
				id := h.task("a")
				h.at(time.Hour)
				before := h.stands(id, sale.TaskDead).Attempts
				if restart {
					end()
					retry(h, id.String())
					h.restart()
					end = h.deliver(failing())
				} else {
					retry(h, id.String())
				}
				h.at(time.Hour + 9*time.Minute)
				if v := h.stands(id, sale.TaskWaiting); v.Attempts < 3 {
					h.Errorf("%s: after the retry it was tried %d times", name, v.Attempts)
				}
				h.at(2 * time.Hour)
				if v := h.stands(id, sale.TaskDead); v.Attempts != before {
					h.Errorf("%s: after the retry it died after %d tries, at first after %d", name, v.Attempts, before)
				}
				end()
			})
		}
	}
}
