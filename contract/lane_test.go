package contract

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const nowhere = "https://tasks.example.invalid/hook" // never called where the lane is paused

func TestTaskIsTakenShownAndMadeAsAsked(t *testing.T) {
	t.Parallel()
	h, x, key := laneHouse(t), newTarget(t), lane()
	x.answer = func(w http.ResponseWriter, r *http.Request, _ int) {
		fmt.Fprint(w, "noted ", r.Header.Get("X-Api-Key"))
	}
	a := h.staff(t, "POST", lanePath(key)+"/tasks", object{
		"url": x.URL + "/in?token=sesame-open", "method": "PUT", "headers": object{"X-Api-Key": "key-s3cret-9", "Accept": "text/plain"},
		"body": object{"n": 1.5}, "id": "first",
	}).want(t, http.StatusAccepted)
	for _, field := range []string{"taskId", "key", "state"} {
		if a.text(field) == "" {
			t.Errorf("the answer lacks %s: %s", field, a.body)
		}
	}
	if a.text("state") == "WAITING" {
		a.moment(t, "dueAt")
		if a.number("position") != 0 {
			t.Errorf("alone at position %d", a.number("position"))
		}
	}
	got := x.arrive(t, "/in", 1, patience)[0]
	if got.method != "PUT" || got.uri != "/in?token=sesame-open" || got.header.Get("X-Api-Key") != "key-s3cret-9" || got.task != a.text("taskId") || got.attempt != "1" ||
		got.header.Get("Idempotency-Key") != got.task || got.header.Get("Content-Type") != "application/json" {
		t.Errorf("what arrived is %+v", got)
	}
	if got.body != `{"n":1.5}` {
		t.Errorf("the body is %s", got.body)
	}
	done := h.turns(t, a.text("taskId"), "DONE")
	if done.number("attempts") != 1 || done.text("lastAnswer") != "200 OK: noted ..." || done.at("position") != nil {
		t.Errorf("done it is %s", done.body)
	}
	done.moment(t, "endedAt")
	h.staff(t, "DELETE", "/tasks/"+a.text("taskId"), nil).refused(t, http.StatusConflict, "task_done")
	second := h.task(t, key, x.URL+"/in").want(t, http.StatusAccepted) // no rule is set: one a minute
	if wait := second.moment(t, "dueAt").Sub(got.at); wait < 59*time.Second || wait > 62*time.Second {
		t.Errorf("the next of the lane is due %v after the first", wait)
	}
	seen := strings.Join([]string{
		a.body, done.body, h.log.String(), h.staff(t, "GET", lanePath(key)+"/tasks", nil).body,
		h.staff(t, "GET", "/admin/outbox", nil).body, h.staff(t, "GET", "/admin/audit", nil).body,
	}, "\n")
	for _, secret := range []string{"sesame-open", "key-s3cret-9"} {
		if strings.Contains(seen, secret) {
			t.Errorf("%q is shown in %s", secret, seen)
		}
	}
}

func TestBodyOfATaskIsSentByteForByte(t *testing.T) {
	t.Parallel()
	h, x, key := laneHouse(t), newTarget(t), lane()
	h.rule(t, key, object{"interval": "0s"})
	for i, c := range [][2]string{
		{`{"b":"<&>\u0000\n","a":1.50,"z":[1e400]}`, `{"b":"<&>\u0000\n","a":1.50,"z":[1e400]}`},
		{`"line\nof text <&>"`, "line\nof text <&>"},
		{`null`, ""}, {`0`, "0"}, {`[]`, "[]"},
	} {
		h.staff(t, "POST", lanePath(key)+"/tasks", `{"url":"`+x.URL+`/b","method":"POST","body":`+c[0]+`}`).want(t, http.StatusAccepted)
		if got := x.arrive(t, "/b", i+1, patience)[i]; got.body != c[1] {
			t.Errorf("%s is sent as %q, want %q", c[0], got.body, c[1])
		}
	}
}

func TestSameIDIsTheSameTaskInItsLane(t *testing.T) {
	t.Parallel()
	h, key, other := shared, lane(), lane()
	for _, k := range []string{key, other} {
		h.rule(t, k, object{"paused": true})
	}
	var mu sync.Mutex
	ids, statuses := map[string]int{}, map[int]int{}
	together(50, func(int) {
		a := h.task(t, key, nowhere, object{"id": "order 7 / ä", "body": object{"n": 7}, "headers": object{"X-A": "1", "X-B": "2"}})
		mu.Lock()
		defer mu.Unlock()
		ids[a.text("taskId")]++
		statuses[a.status]++
	})
	if len(ids) != 1 || statuses[202] != 1 || statuses[200] != 49 {
		t.Errorf("50 at once made %v with %v", ids, statuses)
	}
	if n := h.staff(t, "GET", lanePath(key), nil).number("queueCount"); n != 1 {
		t.Errorf("%d wait, want 1", n)
	}
	h.task(t, key, nowhere, object{"id": "order 7 / ä", "body": object{"n": 8}}).refused(t, 422, "task_id_reused")
	h.task(t, key, nowhere+"/other", object{"id": "order 7 / ä", "body": object{"n": 7}}).refused(t, 422, "task_id_reused")
	if a := h.task(t, other, nowhere, object{"id": "order 7 / ä"}).want(t, http.StatusAccepted); ids[a.text("taskId")] != 0 {
		t.Error("the same id in another lane is the same task")
	}
	one, two := h.task(t, other, nowhere), h.task(t, other, nowhere)
	if one.want(t, 202).text("taskId") == two.want(t, 202).text("taskId") {
		t.Error("two tasks without an id are one")
	}
}

func TestFutureTaskDoesNotBlockThoseBehindIt(t *testing.T) {
	t.Parallel()
	h, x, key := laneHouse(t), newTarget(t), lane()
	h.rule(t, key, object{"interval": "0s"})
	at := time.Now().Add(3 * time.Second)
	late := h.task(t, key, x.URL+"/late", object{"notBefore": at.UTC().Format(time.RFC3339Nano)}).want(t, 202)
	if due := late.moment(t, "dueAt"); due.Sub(at).Abs() > time.Millisecond || late.text("state") != "WAITING" {
		t.Errorf("it is %s, due %v from what was asked", late.text("state"), due.Sub(at))
	}
	for range 5 {
		h.task(t, key, x.URL+"/now").want(t, 202)
	}
	last := x.arrive(t, "/now", 5, 2*time.Second)[4]
	if !last.at.Before(at) {
		t.Errorf("those behind it waited for it until %v after its time", last.at.Sub(at))
	}
	if got := x.arrive(t, "/late", 1, patience)[0].at.Sub(at); got < -time.Millisecond || got > 2*time.Second {
		t.Errorf("it went %v after its time", got)
	}
	h.task(t, key, x.URL+"/past", object{"notBefore": "2020-01-01T00:00:00Z"}).want(t, 202)
	x.arrive(t, "/past", 1, patience)
	h.task(t, key, x.URL+"/past", object{"notBefore": "2999-01-01T00:00:00Z"}).refused(t, 422, "bad_task")
}

func TestTasksAreCancelledWhileTheyWait(t *testing.T) {
	t.Parallel()
	h, x, key := laneHouse(t), newTarget(t), lane()
	free := make(chan struct{})
	release := sync.OnceFunc(func() { close(free) })
	t.Cleanup(release)
	x.answer = func(http.ResponseWriter, *http.Request, int) { <-free }
	h.rule(t, key, object{"interval": "0s"})
	running := h.task(t, key, x.URL+"/a").want(t, 202).text("taskId")
	x.arrive(t, "/a", 1, patience)
	h.turns(t, running, "RUNNING")
	waiting := h.task(t, key, x.URL+"/b").want(t, 202)
	behind := h.task(t, key, x.URL+"/c").want(t, 202)
	if waiting.number("position") != 0 || behind.number("position") != 1 {
		t.Errorf("positions %d and %d, want 0 and 1", waiting.number("position"), behind.number("position"))
	}
	a := h.staff(t, "DELETE", "/tasks/"+running, nil).refused(t, http.StatusConflict, "task_running")
	if a.header.Get("Retry-After") == "" {
		t.Error("task_running says not when to look again")
	}
	id := waiting.text("taskId")
	for range 2 {
		h.staff(t, "DELETE", "/tasks/"+id, nil).want(t, http.StatusNoContent)
	}
	if got := h.look(t, id); got.text("state") != "CANCELLED" || got.text("endedAt") == "" {
		t.Errorf("cancelled it is %s", got.body)
	}
	if n := h.look(t, behind.text("taskId")).number("position"); n != 0 {
		t.Errorf("the next stands at %d", n)
	}
	release()
	x.arrive(t, "/c", 1, patience)
	h.turns(t, running, "DONE")
	if len(x.at("/b")) > 0 {
		t.Error("the cancelled task was made")
	}
	for _, none := range []string{"00000000-0000-4000-8000-000000000000", "none", "%2F", strings.Repeat("9", 5000)} {
		h.staff(t, "GET", "/tasks/"+none, nil).refused(t, http.StatusNotFound, "no_such_task")
		h.staff(t, "DELETE", "/tasks/"+none, nil).refused(t, http.StatusNotFound, "no_such_task")
	}
}

// What was cancelled is never made, though starts and cancels race.
func TestCancelledTaskIsNeverMade(t *testing.T) {
	t.Parallel()
	h, x, key := laneHouse(t), newTarget(t), lane()
	h.rule(t, key, object{"interval": "0s", "concurrency": 3})
	var mu sync.Mutex
	cancelled := map[string]bool{}
	each(300, func(i int) {
		id := h.task(t, key, x.URL+"/r", object{"body": i}).want(t, 202).text("taskId")
		switch a := h.staff(t, "DELETE", "/tasks/"+id, nil); a.status {
		case 204:
			mu.Lock()
			cancelled[id] = true
			mu.Unlock()
		default:
			if a.text("code") != "task_running" && a.text("code") != "task_done" {
				t.Errorf("got %s", a.body)
			}
		}
	})
	until(t, "an empty lane", patience, func() bool {
		a := h.staff(t, "GET", lanePath(key), nil)
		return a.number("queueCount") == 0 && a.number("inFlight") == 0
	})
	made := x.at("/r")
	for _, m := range made {
		if cancelled[m.task] {
			t.Errorf("task %s was cancelled and made", m.task)
		}
	}
	if len(made)+len(cancelled) != 300 {
		t.Errorf("%d made and %d cancelled of 300", len(made), len(cancelled))
	}
}

func TestTasksOfALaneAreListedInPages(t *testing.T) {
	t.Parallel()
	h, key, other := shared, lane(), lane()
	h.rule(t, key, object{"paused": true})
	h.rule(t, other, object{"paused": true})
	var want []string
	for i := range 25 {
		a := h.task(t, key, nowhere, object{"id": fmt.Sprint(i)}).want(t, 202)
		if a.number("position") != i || a.at("dueAt") != nil {
			t.Errorf("task %d of a paused lane: %s", i, a.body)
		}
		want = append(want, a.text("taskId"))
		h.task(t, other, nowhere).want(t, 202)
	}
	h.staff(t, "DELETE", "/tasks/"+want[3], nil).want(t, 204) // an ended one keeps its place
	var got []string
	for cursor := ""; ; {
		a := h.staff(t, "GET", lanePath(key)+"/tasks?limit=4&cursor="+cursor, nil).want(t, 200)
		if n := len(a.list("items")); n > 4 {
			t.Errorf("a page of %d", n)
		}
		got = append(got, a.texts("items", "taskId")...)
		if cursor = a.text("next"); cursor == "" {
			break
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("listed are %v, want %v", got, want)
	}
	a := h.staff(t, "GET", lanePath(lane())+"/tasks", nil).want(t, 200)
	if a.at("items") == nil || len(a.list("items")) != 0 || !strings.Contains(a.body, `"next":null`) {
		t.Errorf("an empty list is %s", a.body)
	}
	h.staff(t, "GET", lanePath(key)+"/tasks?cursor=x", nil).refused(t, 400, "bad_cursor")
	h.staff(t, "GET", lanePath(key)+"/tasks?limit=0", nil).refused(t, 400, "bad_request")
}

func TestLanesAreForShopAndAdmin(t *testing.T) {
	t.Parallel()
	h, key := shared, lane()
	h.rule(t, key, object{"paused": true})
	task := h.task(t, key, nowhere).want(t, 202).text("taskId")
	calls := []struct {
		method, path string
		body         any
		status       int
	}{
		{"GET", "/api/v1/lanes", nil, 200}, {"GET", "/api/v1" + lanePath(key), nil, 200}, {"PUT", "/api/v1" + lanePath(key), object{"paused": true}, 200},
		{"GET", "/api/v1" + lanePath(key) + "/tasks", nil, 200}, {"POST", "/api/v1" + lanePath(key) + "/tasks", object{"url": nowhere, "method": "GET"}, 202},
		{"GET", "/api/v1/tasks/" + task, nil, 200}, {"DELETE", "/api/v1/tasks/" + task, nil, 204},
	}
	for _, role := range []string{"shop", "admin", "boxoffice", "door"} {
		secret := h.staff(t, "POST", "/admin/keys", object{"role": role, "name": "lanes"}).want(t, 201).text("key")
		for _, c := range calls {
			a := h.call(t, c.method, c.path, c.body, "Authorization", "Bearer "+secret)
			if role == "shop" || role == "admin" {
				a.want(t, c.status)
			} else {
				a.refused(t, 403, "wrong_role")
			}
		}
	}
	for _, c := range calls {
		h.call(t, c.method, c.path, c.body).refused(t, 401, "no_key")
	}
}

func TestB104BadTasksAndRulesAreRefusedWithAReason(t *testing.T) {
	t.Parallel()
	h, key := shared, lane()
	h.rule(t, key, object{"paused": true})
	tasks := "/api/v1" + lanePath(key) + "/tasks"
	good := `"url":"` + nowhere + `","method":"GET"`
	for _, c := range []struct {
		body   string
		status int
		code   string
	}{
		{``, 422, "bad_task"}, {`{}`, 422, "bad_task"}, {`{`, 400, "bad_json"}, {`{"url":"ftp://x.example/","method":"GET"}`, 422, "bad_task"},
		{`{"url":"/relative","method":"GET"}`, 422, "bad_task"}, {`{"url":"http:///x","method":"GET"}`, 422, "bad_task"}, {`{"url":"http://x.example:99999/","method":"GET"}`, 422, "bad_task"},
		{`{"url":"http://` + strings.Repeat("x", 3000) + `.example","method":"GET"}`, 422, "bad_task"},
		{`{"url":"` + nowhere + `","method":"BREW"}`, 422, "bad_task"}, {`{"url":"` + nowhere + `","method":"get"}`, 422, "bad_task"},
		{`{` + good + `,"headers":{"Host":"x"}}`, 422, "bad_task"}, {`{` + good + `,"headers":{"content-length":"1"}}`, 422, "bad_task"},
		{`{` + good + `,"headers":{"a b":"1"}}`, 422, "bad_task"}, {`{` + good + `,"headers":{"A":"1\r\nB: 2"}}`, 422, ""}, {`{` + good + `,"headers":{"A":1}}`, 422, "bad_field"},
		{`{` + good + `,"headers":{"X-A":"1","x-a":"2"}}`, 422, "bad_task"},
		{`{` + good + `,"id":"` + strings.Repeat("x", 256) + `"}`, 422, "bad_task"}, {`{` + good + `,"id":7}`, 422, "bad_field"}, {`{` + good + `,"id":""}`, 422, "bad_task"}, {`{` + good + `,"id":"a\u202eb"}`, 422, "bad_task"}, {`{"url":"` + nowhere + `","method":""}`, 422, "bad_task"},
		{`{` + good + `,"notBefore":"tomorrow"}`, 422, "bad_field"}, {`{` + good + `,"extra":1}`, 400, "unknown_field"}, {`{` + good + `,"method":"PUT"}`, 400, "bad_json"},
		{`{` + good + `,"body":"` + strings.Repeat("x", 64<<10) + `"}`, 413, "body_too_large"}, {`{` + good + `,"body":{"a":}}`, 400, "bad_json"},
		{`{` + good + `,"body":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`, 400, "bad_json"}, {`[]`, 400, ""}, {`null`, 400, ""},
	} {
		a := h.call(t, "POST", tasks, c.body, "Authorization", "Bearer "+adminKey)
		if c.code == "" {
			a.problem(t)
			continue
		}
		if a.status != c.status || a.text("code") != c.code {
			t.Errorf("%s: got %d %s, want %d %s", short(c.body), a.status, short(a.body), c.status, c.code)
		}
	}
	for body, code := range map[string]string{
		`{"interval":"soon"}`: "bad_lane", `{"interval":60}`: "bad_lane", `{"interval":"-1s"}`: "bad_lane", `{"interval":"0"}`: "bad_lane", `{"interval":"+1s"}`: "bad_lane", `{"interval":"1ns"}`: "bad_lane", `{"interval":"721h"}`: "bad_lane", `{"concurrency":0}`: "bad_lane",
		`{"concurrency":1001}`: "bad_lane", `{"concurrency":1.5}`: "bad_field", `{"paused":"yes"}`: "bad_field", `{"attempts":-1}`: "bad_lane", `{"deadline":"800h"}`: "bad_lane",
		`{"pace":1}`: "unknown_field", `{`: "bad_json", `{"interval":null}`: "",
	} {
		a := h.call(t, "PUT", "/api/v1"+lanePath(key), body, "Authorization", "Bearer "+adminKey)
		if code == "" && a.status == 200 {
			continue // null leaves it alone
		}
		if a.problem(t); code != "" && a.text("code") != code {
			t.Errorf("%s: got %s, want %s", body, short(a.body), code)
		}
	}
	if a := h.staff(t, "GET", lanePath(key), nil); a.number("queueCount") != 0 || a.at("paused") != true {
		t.Errorf("after all refusals the lane is %s", a.body)
	}
}

func TestOddKeysReachTheirLanes(t *testing.T) {
	t.Parallel()
	h := shared
	for _, key := range []string{"a/b", "50%", "%2F", "a/b%", "ключ 鍵 👩‍👩‍👧", "a b+c?d#e&f=g;h,i", "..", ".", "tasks", ":key", strings.Repeat("k", 200), strings.Repeat("é", 100), `"quoted"\`, "order:7"} {
		h.rule(t, key, object{"paused": true, "interval": "0s"})
		if a := h.task(t, key, nowhere).want(t, 202); a.text("key") != key {
			t.Errorf("the task of %q is in lane %q", key, a.text("key"))
		}
		a := h.staff(t, "GET", lanePath(key), nil).want(t, 200)
		if a.text("key") != key || a.number("queueCount") != 1 || a.at("paused") != true {
			t.Errorf("the lane of %q is %s", key, a.body)
		}
		if n := len(h.staff(t, "GET", lanePath(key)+"/tasks", nil).list("items")); n != 1 {
			t.Errorf("%d tasks are listed for %q", n, key)
		}
	}
	for _, key := range []string{strings.Repeat("k", 201), "a*b", "tenant-*", "*", "a\x00b", "a\nb", "a\u202eb", "a\u2066b", "a\u200f", "\u200b", "\ufeffa"} {
		h.task(t, key, nowhere).refused(t, 422, "bad_lane")
		h.staff(t, "GET", lanePath(key), nil).refused(t, 422, "bad_lane")
	}
	h.staff(t, "PUT", lanePath("a*b"), object{}).refused(t, 422, "bad_lane")
	h.staff(t, "PUT", lanePath("**"), object{}).refused(t, 422, "bad_lane")
	h.staff(t, "POST", "/lanes/%FF/tasks", object{"url": nowhere, "method": "GET"}).refused(t, 422, "bad_lane")
}
