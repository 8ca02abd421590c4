//go:build linux

package bench

import (
	"bufio"
	"flag"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"foyer/sale"
)

var openStreams = flag.Int("streams", 0, "open so many idle event streams and measure the server's memory; 10000 is the promise")

const (
	promisedStreams = 10_000
	promisedMemory  = 400 << 20 // bytes resident, for so many
)

// TestIdleStreams opens streams of people in a line that stands still, in a
// process beside the server's, and holds its memory to what is promised. It
// tries a few; with -streams 10000 it measures.
func TestIdleStreams(t *testing.T) {
	n, watched := 500, 2*time.Second
	if *openStreams > 0 {
		n, watched = *openStreams, 20*time.Second // a heartbeat and some looks
	}
	p := prepareLine(t, n)
	st, office := openOffice(t, p.folder)
	if _, err := office.PauseEvent("bench", lineEvent, ""); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	server := startFoyer(t, p.folder)
	defer server.stop()
	before := server.memory()
	conns := make([]net.Conn, n)
	defer func() {
		for _, c := range conns {
			if c != nil {
				_ = c.Close()
			}
		}
	}()
	err := together(64, n, func(i int) (err error) {
		conns[i], err = openStream(server.port, &p.guests[i])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	least, most := int64(0), int64(0)
	for until := time.Now().Add(watched); time.Now().Before(until); time.Sleep(time.Second) {
		now := server.memory().whole
		if least == 0 || now < least {
			least = now
		}
		most = max(most, now)
	}
	each := float64(most-before.whole) / float64(n)
	t.Logf("%d idle streams: %.0f MB resident at most (%.0f MB at least), %.0f MB before: %.1f KB a stream", n, mega(most), mega(least), mega(before.whole), each/1024)
	if bound := float64(promisedMemory) / promisedStreams; n >= 500 && each > bound {
		t.Errorf("a stream costs %.1f KB, want %.1f at most", each/1024, bound/1024)
	}
	if n >= promisedStreams && most > promisedMemory*int64(n)/promisedStreams {
		t.Errorf("%d streams need %.0f MB, promised are %.0f for %d", n, mega(most), mega(promisedMemory), promisedStreams)
	}
}

// openStream opens one stream and reads its first event.
func openStream(port int, g *guest) (net.Conn, error) {
	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, err
	}
	_ = c.SetReadDeadline(time.Now().Add(time.Minute))
	req := "GET " + placePath(g) + "/stream HTTP/1.1\r\nHost: x\r\nX-Visitor: " + string(g.credential(nil)) + "\r\n\r\n"
	if _, err := c.Write([]byte(req)); err != nil {
		return c, err
	}
	lines := bufio.NewScanner(c)
	for lines.Scan() {
		switch line := lines.Text(); {
		case strings.HasPrefix(line, "HTTP/1.1 ") && !strings.HasPrefix(line, "HTTP/1.1 200"):
			return c, fmt.Errorf("a stream: %s", line)
		case strings.HasPrefix(line, `data: {"status":"`+sale.Waiting):
			return c, nil
		}
	}
	return c, fmt.Errorf("a stream ended: %v", lines.Err())
}
