package web

import (
	"bufio"
	"net"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

// held is what this process holds in its heap and its stacks after a collection.
func heldMemory() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

// A stream that has nothing to tell holds little: ten thousand must fit into 400 MB
// with all that the collector leaves lying (see bench -streams).
func TestAnIdleStreamHoldsLittleMemory(t *testing.T) {
	const many, bound = 500, 20 << 10 // bytes each, our end of the line included
	h := newHouse(t)
	h.event("gala", `"line":"always"`, `"rules":{"maxActive":1}`)
	srv := httptest.NewServer(h.server)
	defer srv.Close()
	defer h.server.EndStreams()
	type guest struct {
		credential string
		place      uuid.UUID
	}
	var all []guest
	for range many {
		v := uuid.New()
		p, _, err := h.office.Join("gala", v)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, guest{h.server.credential(v), p.QueueID})
	}
	before := heldMemory()
	for _, g := range all {
		c, err := net.Dial("tcp", strings.TrimPrefix(srv.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		if _, err := c.Write([]byte("GET /api/v1/events/gala/queue/" + g.place.String() + "/stream HTTP/1.1\r\nHost: x\r\nX-Visitor: " + g.credential + "\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(c); ; {
			if !lines.Scan() {
				t.Fatalf("a stream ended: %v", lines.Err())
			}
			if strings.HasPrefix(lines.Text(), "data: ") {
				break
			}
		}
	}
	each := (heldMemory() - before) / many
	t.Logf("%d bytes a stream", each)
	if got := h.server.streams.now(); got != many {
		t.Errorf("%d streams are open, want %d", got, many)
	}
	if each > bound {
		t.Errorf("an idle stream holds %d bytes, want %d at most", each, bound)
	}
}
