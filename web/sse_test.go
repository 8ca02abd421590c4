package web

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// listen opens a stream over a real socket and gives a reader of its events and
// comments, one string each.
func (h *house) listen(server *httptest.Server, path string, headers ...string) (*http.Response, func() string) {
	h.t.Helper()
	return h.listenBy(server.Client(), server, path, headers...)
}

// listenBy is listen with a client.
func (h *house) listenBy(client *http.Client, server *httptest.Server, path string, headers ...string) (*http.Response, func() string) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	h.t.Cleanup(cancel)
	req, _ := http.NewRequestWithContext(ctx, "GET", server.URL+path, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := client.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = res.Body.Close() })
	lines := bufio.NewReader(res.Body)
	return res, func() string {
		var block strings.Builder
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return "END"
			}
			if line == "\n" {
				return block.String()
			}
			block.WriteString(line)
		}
	}
}

// placeIn reads the place in an event block.
func placeIn(t *testing.T, block string) map[string]any {
	t.Helper()
	if !strings.HasPrefix(block, "event: place\nid: ") {
		t.Fatalf("not a place event: %q", block)
	}
	_, data, _ := strings.Cut(block, "\ndata: ")
	var v map[string]any
	if err := json.Unmarshal([]byte(data), &v); err != nil {
		t.Fatalf("%v: %q", err, block)
	}
	return v
}

func TestAStreamShowsAPlaceFromTheLineToItsEnd(t *testing.T) {
	h := newHouse(t)
	h.event("gala", `"line":"always"`, `"rules":{"maxActive":1}`)
	server := httptest.NewServer(h.server)
	defer server.Close()
	defer h.server.EndStreams()
	visitor := h.visitor()
	place := h.do("POST", "/api/v1/events/gala/queue", "", "X-Visitor", visitor).want(201)
	path := "/api/v1/events/gala/queue/" + place.text("queueId")
	res, next := h.listen(server, path+"/stream", "X-Visitor", visitor, "Last-Event-ID", "7", "Accept-Encoding", "gzip")
	for name, want := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no", "Content-Encoding": ""} {
		if got := res.Header.Get(name); got != want {
			t.Errorf("got %s %q, want %q", name, got, want)
		}
	}
	if got := next(); !strings.HasPrefix(got, "retry: ") {
		t.Errorf("got %q", got)
	}
	first := placeIn(t, next())
	if first["status"] != "WAITING" || first["queueId"] != place.text("queueId") {
		t.Errorf("got %v", first)
	}
	if _, err := h.office.Tick("gala", time.Second); err != nil {
		t.Fatal(err)
	}
	called := placeIn(t, next())
	if called["status"] != "READY" || called["entryToken"] == nil {
		t.Errorf("got %v", called)
	}
	// Being connected counts as being there: past the pick-up time the turn stands.
	h.clock.pass(2 * time.Minute)
	if got := h.do("GET", path, "", "X-Visitor", visitor).want(200).text("status"); got != "READY" {
		t.Errorf("got %s", got)
	}
	h.do("DELETE", path, "", "X-Visitor", visitor).want(204)
	if last := placeIn(t, next()); last["status"] != "NOT_ENTERED" || len(last) != 2 {
		t.Errorf("got %v", last)
	}
	if got := next(); got != "END" {
		t.Errorf("after the last event: got %q", got)
	}
}

func TestEndStreamsEndsWhatIsOpenAndWhatComesLater(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	server := httptest.NewServer(h.server)
	defer server.Close()
	visitor, _ := h.ready("gala")
	path := "/api/v1/events/gala/queue/" + h.do("GET", "/api/v1/events/gala/queue", "", "X-Visitor", visitor).text("queueId") + "/stream"
	_, next := h.listen(server, path, "X-Visitor", visitor)
	next()
	next()
	h.do("GET", "/readyz", "").want(200)
	h.server.EndStreams()
	h.server.EndStreams()
	h.do("GET", "/readyz", "").refused(503, "unavailable")
	if got := next(); !strings.HasPrefix(got, "retry: ") {
		t.Errorf("the last word is %q, want when to come back", got)
	}
	if got := next(); got != "END" {
		t.Errorf("got %q", got)
	}
	_, next = h.listen(server, path, "X-Visitor", visitor)
	next()
	placeIn(t, next())
	next()
	if got := next(); got != "END" {
		t.Errorf("got %q", got)
	}
	if got := h.server.streams.now(); got != 0 {
		t.Errorf("%d streams are counted as open", got)
	}
}

func TestStaffWatchTheSaleLive(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	server := httptest.NewServer(h.server)
	defer server.Close()
	defer h.server.EndStreams()
	_, next := h.listen(server, "/api/v1/admin/events/gala/live", "Authorization", "Bearer "+adminKey)
	next()
	block := next()
	if !strings.HasPrefix(block, "event: live\nid: 1\ndata: {") || !strings.Contains(block, `"taken":{"amount":0,"currency":"EUR"}`) || !strings.Contains(block, `"available":6`) {
		t.Errorf("got %q", block)
	}
	h.do("GET", "/api/v1/admin/events/gala/live", "").refused(401, "no_key")
	h.staff("GET", "/api/v1/admin/events/none/live", "").refused(404, "no_such_event")
}

// B168: a stream without news shows life every 15 s, and only news in between.
func TestB168AQuietStreamBeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		h.event("gala", `"line":"always"`, `"rules":{"maxActive":1}`)
		visitor := h.visitor()
		id := h.do("POST", "/api/v1/events/gala/queue", "", "X-Visitor", visitor).text("queueId")
		ctx, cancel := context.WithCancel(t.Context())
		r := httptest.NewRequest("GET", "/api/v1/events/gala/queue/"+id+"/stream", nil).WithContext(ctx)
		r.Header.Set("X-Visitor", visitor)
		w := &memoryWriter{header: http.Header{}}
		ended := make(chan struct{})
		go func() { h.server.ServeHTTP(w, r); close(ended) }()
		time.Sleep(61 * time.Second) // in the bubble, at once
		if got := strings.Count(w.body.String(), ": here\n\n"); got != 4 {
			t.Errorf("%d comments in 61 s, want 4", got)
		}
		if got := strings.Count(w.body.String(), "event: place\n"); got != 1 {
			t.Errorf("%d events without a change, want 1", got)
		}
		cancel()
		<-ended
		_ = h.store.Close()
	})
}

// A line that moves all the time wakes a stream only a few times a second.
func TestAStreamLooksOnlyAFewTimesASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		h.event("gala", `"line":"always"`, `"rules":{"maxActive":1}`)
		visitor := h.visitor()
		id := h.do("POST", "/api/v1/events/gala/queue", "", "X-Visitor", visitor).text("queueId")
		ctx, cancel := context.WithCancel(t.Context())
		r := httptest.NewRequest("GET", "/api/v1/events/gala/queue/"+id+"/stream", nil).WithContext(ctx)
		r.Header.Set("X-Visitor", visitor)
		w := &memoryWriter{header: http.Header{}}
		ended := make(chan struct{})
		go func() { h.server.ServeHTTP(w, r); close(ended) }()
		for range 300 { // 3 s, a hundred joins in each
			h.do("POST", "/api/v1/events/gala/queue", "", "X-Visitor", h.visitor())
			time.Sleep(10 * time.Millisecond)
		}
		if got := strings.Count(w.body.String(), "event: place\n"); got < 3 || got > 14 {
			t.Errorf("%d events in 3 s", got)
		}
		cancel()
		<-ended
		_ = h.store.Close()
	})
}

// The server's own time-outs are for requests and answers; a stream outlives them.
func TestAStreamOutlivesTheServersTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		h.event("gala", `"line":"always"`, `"rules":{"maxActive":1}`)
		visitor := h.visitor()
		id := h.do("POST", "/api/v1/events/gala/queue", "", "X-Visitor", visitor).text("queueId")
		client, conn := net.Pipe()
		server := &http.Server{Handler: h.server, ReadTimeout: 15 * time.Second, WriteTimeout: 30 * time.Second}
		served := make(chan struct{})
		go func() { _ = server.Serve(&oneConn{closed: make(chan struct{}), first: conn}); close(served) }()
		var got lockedBuffer
		read := make(chan struct{})
		go func() { _, _ = io.Copy(&got, client); close(read) }()
		_, err := io.WriteString(client, "GET /api/v1/events/gala/queue/"+id+"/stream HTTP/1.1\r\nHost: x\r\nX-Visitor: "+visitor+"\r\n\r\n")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(61 * time.Second) // in the bubble, at once
		if n := strings.Count(got.String(), ": here\n\n"); n != 4 {
			t.Errorf("%d comments in 61 s, want 4", n)
		}
		h.server.EndStreams()
		_ = client.Close()
		_ = server.Close()
		<-served
		<-read
		_ = h.store.Close()
	})
}

// oneConn is a listener that accepts one connection.
type oneConn struct {
	closed chan struct{}
	first  net.Conn
}

func (l *oneConn) Accept() (net.Conn, error) {
	if c := l.first; c != nil {
		l.first = nil
		return c, nil
	}
	<-l.closed
	return nil, net.ErrClosed
}

func (l *oneConn) Close() error   { close(l.closed); return nil }
func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{} }

// now tells how many streams are open.
func (n *streams) now() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.all
}

func TestAVisitorHasEightStreamsAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		defer func() { _ = h.store.Close() }()
		h.event("gala", `"line":"always"`, `"rules":{"maxActive":1}`)
		path := func(visitor string) string {
			return "/api/v1/events/gala/queue/" + h.do("POST", "/api/v1/events/gala/queue", "", "X-Visitor", visitor).text("queueId") + "/stream"
		}
		eve, ann := h.visitor(), h.visitor()
		at, others := path(eve), path(ann)
		ctx, cancel := context.WithCancel(t.Context())
		var open sync.WaitGroup
		start := func(path, visitor string) {
			r := httptest.NewRequest("GET", path, nil).WithContext(ctx)
			r.Header.Set("X-Visitor", visitor)
			open.Go(func() { h.server.ServeHTTP(&memoryWriter{header: http.Header{}}, r) })
			synctest.Wait()
		}
		for range maxOwnStreams {
			start(at, eve)
		}
		brief, done := context.WithTimeout(ctx, time.Minute) // should it be let in
		r := httptest.NewRequest("GET", at, nil).WithContext(brief)
		r.Header.Set("X-Visitor", eve)
		a := h.send(r)
		done()
		if a.refused(429, "too_many_requests"); a.Header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
		h.do("HEAD", at, "", "X-Visitor", eve).want(200)
		start(others, ann)
		if got := h.server.streams.now(); got != maxOwnStreams+1 {
			t.Errorf("%d streams are open, want %d", got, maxOwnStreams+1)
		}
		cancel()
		open.Wait()
		if got := h.server.streams.now(); got != 0 || len(h.server.streams.each) != 0 {
			t.Errorf("%d streams of %d visitors are counted after the last has ended", got, len(h.server.streams.each))
		}
	})
}

// piped opens the stream of a place in a line that stands, over a pipe that holds
// nothing back: what the client does not read blocks the server.
func (h *house) piped() (client net.Conn, end func()) {
	h.t.Helper()
	h.event("gala", `"line":"always"`, `"rules":{"maxActive":1}`)
	visitor := h.visitor()
	place := h.do("POST", "/api/v1/events/gala/queue", "", "X-Visitor", visitor).text("queueId")
	client, conn := net.Pipe()
	server := &http.Server{Handler: h.server}
	served := make(chan struct{})
	go func() { _ = server.Serve(&oneConn{closed: make(chan struct{}), first: conn}); close(served) }()
	_, err := io.WriteString(client, "GET /api/v1/events/gala/queue/"+place+"/stream HTTP/1.1\r\nHost: x\r\nX-Visitor: "+visitor+"\r\nLast-Event-ID: 12\r\n\r\n")
	if err != nil {
		h.t.Fatal(err)
	}
	return client, func() {
		h.server.EndStreams()
		_ = client.Close()
		_ = server.Close()
		<-served
		if err := h.server.AwaitStreams(h.t.Context()); err != nil {
			h.t.Error(err)
		}
		_ = h.store.Close()
	}
}

// Who reads slowly gets the last state, not all that passed meanwhile.
func TestASlowReaderIsToldTheLastStateOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		client, end := h.piped()
		defer end()
		lines := bufio.NewReader(client)
		read := func() string {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			return line
		}
		for !strings.HasPrefix(read(), "data: ") {
		}
		for range 80 { // 8 s, in which he reads nothing
			h.do("POST", "/api/v1/events/gala/queue", "", "X-Visitor", h.visitor())
			time.Sleep(100 * time.Millisecond)
		}
		events, last := 0, ""
		for !strings.Contains(last, `"currentTotalWaitingCount":81`) && events < 9 {
			if last = read(); strings.HasPrefix(last, "data: ") {
				events++
			}
		}
		if events > 2 {
			t.Errorf("%d events until the last state, want the one that was under way and the last", events)
		}
	})
}

// Who reads nothing at all is let go after a while, and another one's stream is not held up.
func TestAReaderWhoReadsNothingIsLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		_, end := h.piped()
		defer end()
		time.Sleep(writePatience / 2)
		if got := h.server.streams.now(); got != 1 {
			t.Errorf("after half of the patience %d streams are open, want 1", got)
		}
		time.Sleep(writePatience)
		if got := h.server.streams.now(); got != 0 {
			t.Errorf("%d streams are open after the patience", got)
		}
	})
}

// A client that goes is noticed at once, not at the next word to it: its place must not be held for it.
func TestAClientThatGoesIsNoticedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		client, end := h.piped()
		defer end()
		go func() { _, _ = io.Copy(io.Discard, client) }()
		time.Sleep(time.Second)
		if got := h.server.streams.now(); got != 1 {
			t.Fatalf("%d streams are open, want 1", got)
		}
		_ = client.Close()
		synctest.Wait()
		if got := h.server.streams.now(); got != 0 {
			t.Errorf("%d streams are open after the client went", got)
		}
	})
}
