package contract

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"
)

// stream opens the stream of a place.
func (p *person) stream(t *testing.T) (lines <-chan string, header http.Header) {
	t.Helper()
	return p.e.h.stream(t, p.e.path("/queue/"+p.queueId+"/stream"), "X-Visitor", p.credential)
}

// stream opens a stream. Its lines come in a channel that is closed at its end.
func (h *house) stream(t *testing.T, path, header, value string) (lines <-chan string, got http.Header) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	q, err := http.NewRequestWithContext(ctx, "GET", h.url()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set(header, value)
	q.Header.Set("Accept-Encoding", "gzip, br")
	res, err := (&http.Client{Transport: &http.Transport{DisableCompression: true}}).Do(q)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK {
		t.Fatalf("stream: got %d, want 200", res.StatusCode)
	}
	out := make(chan string, 1000)
	go func() {
		defer close(out)
		defer res.Body.Close()
		for s := bufio.NewScanner(res.Body); s.Scan(); {
			out <- s.Text()
		}
	}()
	return out, res.Header
}

// line waits for a line with a text in it.
func line(t *testing.T, lines <-chan string, text string, within time.Duration) string {
	t.Helper()
	deadline := time.After(within)
	for {
		select {
		case l, ok := <-lines:
			if !ok {
				t.Fatalf("the stream ended before %q", text)
			}
			if strings.Contains(l, text) {
				return l
			}
		case <-deadline:
			t.Fatalf("no %q in the stream within %v", text, within)
		}
	}
}

func TestB168B170StreamTellsThePlaceAtOnceAndTheTurnWhenItComes(t *testing.T) {
	t.Parallel()
	e, first := queue(t, object{"pickupSeconds": 2})
	ahead := e.joined(t)
	p := e.joined(t)
	lines, header := p.stream(t)
	if got := header.Get("Content-Type"); !strings.HasPrefix(got, "text/event-stream") {
		t.Errorf("Content-Type %q", got)
	}
	if got := header.Get("Content-Encoding"); got != "" {
		t.Errorf("the stream is compressed: %s", got)
	}
	if header.Get("X-Accel-Buffering") != "no" || !strings.Contains(header.Get("Cache-Control"), "no-store") && !strings.Contains(header.Get("Cache-Control"), "no-transform") {
		t.Errorf("X-Accel-Buffering %q, Cache-Control %q", header.Get("X-Accel-Buffering"), header.Get("Cache-Control"))
	}
	line(t, lines, `"rank":1`, time.Second)
	ahead.leave(t)
	line(t, lines, `"rank":0`, 4*time.Second)
	// An open stream is being there: the turn is picked up without any poll.
	first.leave(t)
	ready := line(t, lines, `"READY"`, 4*time.Second)
	if !strings.Contains(ready, `"entryToken"`) {
		t.Errorf("the turn comes without its token: %s", ready)
	}
	second, _ := p.stream(t)
	line(t, second, "id:", time.Second)
	third, _ := p.stream(t)
	line(t, third, "event: place", time.Second)
	fourth, _ := p.stream(t)
	line(t, fourth, `"READY"`, time.Second)
	p.leave(t)
	line(t, lines, "NOT_ENTERED", 4*time.Second)
	until(t, "the end of the stream of a place that is gone", patience, func() bool {
		select {
		case _, ok := <-lines:
			return !ok
		default:
			return false
		}
	})
}

func TestStaffSeeTheSaleLive(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 4, nil)
	lines, _ := shared.stream(t, "/api/v1/admin/events/"+e.id+"/live", "Authorization", "Bearer "+adminKey)
	line(t, lines, `"available":4`, time.Second)
	e.buyer(t).bought(t, "A-1")
	line(t, lines, `"sold":1`, 4*time.Second)
	shared.call(t, "GET", "/api/v1/admin/events/"+e.id+"/live", nil).problem(t).want(t, http.StatusUnauthorized)
}

func TestB168IdleStreamHasAHeartbeat(t *testing.T) {
	t.Parallel()
	e, _ := queue(t, nil)
	e.staff(t, "POST", "/pause", nil).want(t, http.StatusOK)
	p := e.joined(t)
	lines, _ := p.stream(t)
	opened := time.Now()
	for !strings.HasPrefix(line(t, lines, ":", 18*time.Second), ":") {
	}
	if d := time.Since(opened); d > 18*time.Second {
		t.Errorf("the first comment came after %v, want 15s", d)
	}
}
