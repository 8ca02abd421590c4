package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"foyer/outbox"
	"foyer/outbox/httptask"
	"foyer/sale"
)

// lanes lets the house make tasks, at targets on this machine too, until the test ends.
func (h *house) lanes() {
	h.t.Helper()
	relay := outbox.NewRelay(outbox.Config{
		Book: h.store, Now: h.store.Now, Sinks: map[string]outbox.Sink{outbox.TaskSink: httptask.New(httptask.Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})},
		Rules: map[string]outbox.Rule{outbox.TaskSink: {Interval: sale.TaskInterval, Concurrency: 1}},
	})
	h.office = sale.New(sale.Config{Store: h.store, Secret: h.store.Secret(), Lanes: relay, Relay: relay, TicketCode: uuid.UUID.String})
	h.server.office = h.office
	if err := h.store.ServeOutbox(relay.Offer); err != nil {
		h.t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- relay.Run(ctx) }()
	h.t.Cleanup(func() {
		end()
		if err := <-ended; err != nil {
			h.t.Error(err)
		}
	})
}

// hanging is a target that says when it was called and answers when it is released.
func hanging(t *testing.T) (url string, called <-chan struct{}, release func()) {
	came, free := make(chan struct{}, 9), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		came <- struct{}{}
		<-free
	}))
	t.Cleanup(s.Close)
	release = sync.OnceFunc(func() { close(free) })
	t.Cleanup(release)
	return s.URL, came, release
}

// becomes waits until a task has a state.
func (h *house) becomes(task, state string) *answer {
	h.t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		a := h.staff("GET", "/api/v1/tasks/"+task, "").want(200)
		if a.text("state") == state {
			return a
		}
		if time.Now().After(end) {
			h.t.Fatalf("the task stays %s", a.Body)
		}
	}
}

// laneErrors reaches the rows of the error table that tasks and lanes have.
func laneErrors(h *house, check func(a *answer, code string)) {
	const lane = "/api/v1/lanes/k"
	url, called, release := hanging(h.t.(*testing.T))
	h.lanes()
	check(h.staff("PUT", lane, `{"concurrency":0}`), "bad_lane")
	check(h.staff("POST", lane+"/tasks", `{"url":"mailto:x"}`), "bad_task")
	check(h.staff("GET", "/api/v1/tasks/none", ""), "no_such_task")
	task := h.staff("POST", lane+"/tasks", `{"url":"`+url+`","id":"1"}`).want(202).text("taskId")
	check(h.staff("POST", lane+"/tasks", `{"url":"`+url+`/other","id":"1"}`), "task_id_reused")
	<-called
	check(h.staff("DELETE", "/api/v1/tasks/"+task, ""), "task_running")
	release()
	h.becomes(task, "DONE")
	check(h.staff("DELETE", "/api/v1/tasks/"+task, ""), "task_done")
}

func TestTaskIsShownThroughItsLife(t *testing.T) {
	h := newHouse(t)
	url, called, release := hanging(t)
	h.lanes()
	const lane = "/api/v1/lanes/tenant-1"
	first := h.staff("POST", lane+"/tasks", `{"url":"`+url+`"}`).want(202)
	<-called
	a := h.staff("POST", lane+"/tasks", `{"url":"`+strings.Replace(url, "://", "://ann:sesame@", 1)+`/x?key=sesame","method":"PUT","headers":{"X-Key":"sesame","accept":"text/plain"},"body":"sesame","id":"mine"}`).want(202)
	for _, field := range []string{"taskId", "createdAt", "serverTime", "dueAt"} {
		if a.text(field) == "" {
			t.Errorf("%s is missing in %s", field, a.Body)
		}
	}
	if a.text("state") != "WAITING" || a.field("position") != 0.0 || a.text("key") != "tenant-1" || a.text("id") != "mine" || a.text("url") != url+"/x?..." || a.text("method") != "PUT" ||
		a.text("headers.X-Key") != "..." || a.text("headers.accept") != "text/plain" || a.field("attempts") != 0.0 {
		t.Errorf("the task is %s", a.Body)
	}
	l := h.staff("GET", lane, "").want(200)
	if l.text("key") != "tenant-1" || l.field("queueCount") != 1.0 || l.field("inFlight") != 1.0 || l.text("interval") != "1m0s" || l.field("concurrency") != 1.0 || l.field("paused") != false {
		t.Errorf("the lane is %s", l.Body)
	}
	if l.text("nextSlot") != a.text("dueAt") {
		t.Errorf("the next slot is %s and the next task due %s", l.text("nextSlot"), a.text("dueAt"))
	}
	running := h.becomes(first.text("taskId"), "RUNNING")
	if running.field("position") != nil || running.field("dueAt") != nil {
		t.Errorf("running it is %s", running.Body)
	}
	release()
	done := h.becomes(first.text("taskId"), "DONE")
	if done.text("endedAt") == "" || done.text("lastAnswer") != "200 OK" || done.field("attempts") != 1.0 {
		t.Errorf("done it is %s", done.Body)
	}
	h.staff("DELETE", "/api/v1/tasks/"+a.text("taskId"), "").want(204)
	list := h.staff("GET", lane+"/tasks", "").want(200)
	if list.text("items.0.state") != "DONE" || list.text("items.1.state") != "CANCELLED" || list.field("next") != nil {
		t.Errorf("the list is %s", list.Body)
	}
	audit := h.staff("GET", "/api/v1/admin/audit", "").want(200)
	all := string(a.Body) + string(list.Body) + string(audit.Body) + h.log.String() + string(h.staff("GET", "/api/v1/admin/outbox", "").Body)
	if strings.Contains(all, "sesame") {
		t.Errorf("a secret is told: %s", all)
	}
	if !strings.Contains(string(audit.Body), "task.cancel") {
		t.Errorf("the audit does not know of the cancelled task: %s", audit.Body)
	}
}

func TestTaskHasNoEmptyIDOrMethod(t *testing.T) {
	h := newHouse(t)
	h.lanes()
	h.staff("PUT", "/api/v1/lanes/k", `{"paused":true}`).want(200)
	for _, field := range []string{"id", "method"} {
		detail := h.staff("POST", "/api/v1/lanes/k/tasks", `{"url":"http://x.example/","`+field+`":""}`).refused(422, "bad_task").text("detail")
		if !strings.HasPrefix(detail, field+" is empty") {
			t.Errorf("got %s", detail)
		}
	}
	a := h.staff("POST", "/api/v1/lanes/k/tasks", `{"url":"http://x.example/","id":null,"method":null,"notBefore":null,"body":null}`).want(202)
	if a.text("method") != "POST" || a.field("id") != nil || a.field("notBefore") != nil {
		t.Errorf("the task is %s", a.Body)
	}
}

func TestRuleKeepsWhatIsNotSent(t *testing.T) {
	h := newHouse(t)
	h.lanes()
	set := func(key, body string) *answer {
		t.Helper()
		return h.staff("PUT", "/api/v1/lanes/"+key, body).want(200)
	}
	is := func(a *answer, interval string, concurrency float64, paused bool) {
		t.Helper()
		if a.text("interval") != interval || a.field("concurrency") != concurrency || a.field("paused") != paused {
			t.Errorf("%s: %s, want %s, %v, %v", a.what, a.Body, interval, concurrency, paused)
		}
	}
	is(set("a-*", `{"concurrency":3}`), "1m0s", 3, false)
	is(set("a-*", `{"interval":"1500ms"}`), "1.5s", 3, false)
	is(set("a-1", `{"paused":true}`), "1.5s", 3, true) // as its pattern has it
	is(set("a-*", `{"interval":"0s","paused":null}`), "0s", 3, false)
	is(set("a-1", `{"attempts":4,"deadline":"1h"}`), "1.5s", 3, true)
	is(set("a-1", `{}`), "1.5s", 3, true)
	paused := h.staff("GET", "/api/v1/lanes/a-1", "").want(200)
	is(paused, "1.5s", 3, true)
	if !strings.Contains(string(paused.Body), `"nextSlot":null`) {
		t.Errorf("a paused lane is %s", paused.Body)
	}
	is(h.staff("GET", "/api/v1/lanes/a-2", "").want(200), "0s", 3, false)
	is(set("b", `{}`), "1m0s", 1, false)
	list := h.staff("GET", "/api/v1/lanes", "").want(200)
	if list.text("items.0.key") != "a-*" || list.text("items.1.key") != "a-1" || list.field("items.1.attempts") != 4.0 || list.text("items.1.deadline") != "1h0m0s" || list.text("items.2.interval") != "1m0s" {
		t.Errorf("the rules are %s", list.Body)
	}
	h.staff("PUT", "/api/v1/lanes/a-1", "").refused(400, "bad_request")
	bad := h.staff("PUT", "/api/v1/lanes/a-1", `{"interval":"-9223372036854775808ns"}`)
	if bad.Status == 200 {
		t.Errorf("taken: %s", bad.Body)
	}
	for body, says := range map[string]string{
		`{"interval":"soon"}`: `interval is "soon", but it must be a duration of whole milliseconds from "0s"`, `{"deadline":"+1s"}`: `deadline is "+1s"`,
		`{"interval":"0"}`: `interval is "0"`, `{"interval":"1ns"}`: `interval is "1ns"`, `{"interval":"721h"}`: `interval is "721h"`, `{"interval":""}`: `interval is ""`, `{"interval":60}`: "interval is 60,", `{"deadline":{}}`: "deadline is {},",
		`{"concurrency":0}`: "concurrency is 0", `{"concurrency":1001}`: "concurrency is 1001", `{"attempts":-1}`: "attempts is -1",
	} {
		if detail := h.staff("PUT", "/api/v1/lanes/a-1", body).refused(422, "bad_lane").text("detail"); !strings.Contains(detail, says) {
			t.Errorf("%s: the refusal does not say what was sent: %s", body, detail)
		}
	}
	for body, says := range map[string]string{`{"paused":[]}`: "cannot be an array", `{"paused":{}}`: "cannot be an object", `{"paused":1}`: "cannot be a number"} {
		if detail := h.staff("PUT", "/api/v1/lanes/a-1", body).refused(422, "bad_field").text("detail"); !strings.Contains(detail, says) {
			t.Errorf("%s: %s", body, detail)
		}
	}
	is(set("a-1", `{"interval":null,"concurrency":null,"deadline":null}`), "1.5s", 3, true)
	if audit := h.staff("GET", "/api/v1/admin/audit", ""); !strings.Contains(string(audit.Body), "a-1: 3 per 1.5s, paused true") {
		t.Errorf("the audit is %s", audit.Body)
	}
}

// Changes of different parts at once are all kept, and what is stored is what goes.
func TestRulesChangedAtOnceLoseNothing(t *testing.T) {
	h := newHouse(t)
	h.lanes()
	for range 20 {
		h.staff("PUT", "/api/v1/lanes/k", `{"interval":"1h","concurrency":1,"paused":false,"attempts":0}`).want(200)
		var wg sync.WaitGroup
		for _, part := range []string{`{"interval":"2s"}`, `{"concurrency":7}`, `{"paused":true}`, `{"attempts":9}`} {
			wg.Go(func() { h.staff("PUT", "/api/v1/lanes/k", part) })
		}
		wg.Wait()
		for _, a := range []*answer{h.staff("GET", "/api/v1/lanes/k", "").want(200), h.staff("PUT", "/api/v1/lanes/k", "{}").want(200)} {
			if a.text("interval") != "2s" || a.field("concurrency") != 7.0 || a.field("paused") != true || a.field("attempts") != 9.0 {
				t.Fatalf("after four changes at once: %s", a.Body)
			}
		}
	}
}

func TestShopsSetNoRulesForMessagesOfTheHouse(t *testing.T) {
	h := newHouse(t)
	h.lanes()
	shop := "Bearer " + h.key("shop")
	for _, key := range []string{"*", "o*", "order:*", "order:0190f3d2-7b1c-7000-8000-000000000001", "order:0*"} {
		h.do("PUT", "/api/v1/lanes/"+key, `{"paused":true}`, "Authorization", shop).refused(403, "wrong_role")
		h.staff("PUT", "/api/v1/lanes/"+key, `{"paused":false}`).want(200)
		h.do("DELETE", "/api/v1/lanes/"+key, "", "Authorization", shop).refused(403, "wrong_role")
		h.staff("DELETE", "/api/v1/lanes/"+key, "").want(204)
	}
	for _, key := range []string{"tenant-*", "orders", "p*"} {
		h.do("PUT", "/api/v1/lanes/"+key, `{"paused":true}`, "Authorization", shop).want(200)
		for range 2 {
			h.do("DELETE", "/api/v1/lanes/"+key, "", "Authorization", shop).want(204)
		}
	}
	if list := h.staff("GET", "/api/v1/lanes", "").want(200); list.field("items.0") != nil {
		t.Errorf("there are still rules: %s", list.Body)
	}
	h.staff("DELETE", "/api/v1/lanes/a*b", "").refused(422, "bad_lane")
}
