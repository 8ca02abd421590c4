//go:build linux

package bench

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// traffic is what one operation sends and expects.
type traffic struct {
	// next appends the next request to b and names it; ok is false when there is none left.
	next func(b []byte) (request []byte, n int, ok bool)
	// took is shown every answer with the expected status; it may be nil and must not keep body.
	took func(n int, body []byte)
	want int // status
}

// load says how hard and how long to drive. Every connection has one request
// under way at any time (closed loop).
type load struct {
	conns    int
	warm     time.Duration // not counted
	measured time.Duration
	most     int // requests in all; 0 is no limit
}

// figures are what one run came to, from the end of the warm-up.
type figures struct {
	requests int
	all      int // with the warm-up and the stragglers
	wrong    int // answers with another status, of all
	odd      string
	elapsed  time.Duration
	cpu      time.Duration   // of the server process
	others   float64         // share of the machine used by neither the server nor us
	latency  []time.Duration // sorted
}

func (f *figures) perSecond() float64 { return float64(f.requests) / f.elapsed.Seconds() }

// cpuEach is microseconds of the server's CPU per request.
func (f *figures) cpuEach() float64 {
	return float64(f.cpu.Nanoseconds()) / 1e3 / float64(max(1, f.requests))
}

// quantile is the latency that q of the requests stay below.
func (f *figures) quantile(q float64) time.Duration {
	if len(f.latency) == 0 {
		return 0
	}
	return f.latency[min(len(f.latency)-1, int(q*float64(len(f.latency))))]
}

// client is one keep-alive connection.
type client struct {
	fd   int
	out  []byte
	in   []byte // the part of an answer that came before its end
	n    int    // names the request under way
	sent time.Time
}

// driver is a load generator on one thread and one epoll: a goroutine for each
// connection would cost as much CPU as the server that is to be measured.
type driver struct {
	server    *child
	load      load
	traffic   traffic
	poll      int
	clients   map[int32]*client
	underWay  int
	dry       bool // next has nothing more, or the limit is reached
	measuring bool
	over      bool // the measured time has ended; answers under way are awaited
	start     time.Time
	before    usage
	figures   figures
}

// drive sends traffic to a server.
func drive(server *child, l load, t traffic) (figures, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	d := &driver{server: server, load: l, traffic: t, clients: map[int32]*client{}}
	defer d.close()
	if err := d.dial(); err != nil {
		return figures{}, err
	}
	if err := d.run(); err != nil {
		return figures{}, err
	}
	slices.Sort(d.figures.latency)
	return d.figures, nil
}

func (d *driver) dial() (err error) {
	if d.poll, err = syscall.EpollCreate1(syscall.EPOLL_CLOEXEC); err != nil {
		return err
	}
	to := &syscall.SockaddrInet4{Port: d.server.port, Addr: [4]byte{127, 0, 0, 1}}
	for range d.load.conns {
		fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		d.clients[int32(fd)] = &client{fd: fd}
		if err := errors.Join(
			syscall.Connect(fd, to),
			syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1),
			syscall.SetNonblock(fd, true),
			syscall.EpollCtl(d.poll, syscall.EPOLL_CTL_ADD, fd, &syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(fd)}),
		); err != nil {
			return err
		}
	}
	return nil
}

func (d *driver) close() {
	for fd := range d.clients {
		_ = syscall.Close(int(fd))
	}
	_ = syscall.Close(d.poll)
}

// patience is how long no answer may come at all.
const patience = 10 * time.Second

func (d *driver) run() error {
	d.start = time.Now()
	d.tick(d.start)
	for _, c := range d.clients {
		if err := d.send(c); err != nil {
			return err
		}
	}
	events := make([]syscall.EpollEvent, 512)
	buf := make([]byte, 256<<10)
	for quiet := time.Now(); d.underWay > 0; {
		n, err := syscall.EpollWait(d.poll, events, 100)
		if err != nil && err != syscall.EINTR {
			return err
		}
		now := time.Now()
		if n > 0 {
			quiet = now
		} else if now.Sub(quiet) > patience {
			return fmt.Errorf("no answer for %v", patience)
		}
		d.tick(now)
		for _, e := range events[:max(0, n)] {
			if err := d.receive(d.clients[e.Fd], buf); err != nil {
				return err
			}
		}
	}
	d.end(time.Now())
	return nil
}

// tick begins and ends the measured time.
func (d *driver) tick(now time.Time) {
	switch ran := now.Sub(d.start); {
	case !d.measuring && !d.over && ran >= d.load.warm:
		d.measuring, d.start, d.before = true, now, d.server.usage()
	case d.measuring && (d.dry || ran >= d.load.measured):
		d.end(now)
	}
}

func (d *driver) end(now time.Time) {
	if d.measuring {
		u := d.server.usage()
		d.figures.elapsed = now.Sub(d.start)
		d.figures.cpu = u.server - d.before.server
		d.figures.others = u.othersSince(d.before)
	}
	d.measuring, d.over = false, true
}

// send puts the connection's next request on its way, unless there is none.
func (d *driver) send(c *client) (err error) {
	if d.over || d.dry {
		return nil
	}
	var ok bool
	c.out, c.n, ok = d.traffic.next(c.out[:0])
	if d.dry = !ok || d.load.most > 0 && d.figures.all+d.underWay >= d.load.most; d.dry {
		return nil
	}
	c.sent = time.Now()
	d.underWay++
	n, err := syscall.Write(c.fd, c.out)
	if err == nil && n < len(c.out) { // the socket is empty: it takes any request of ours whole
		err = errors.New("short write")
	}
	return err
}

func (d *driver) receive(c *client, buf []byte) error {
	n, err := syscall.Read(c.fd, buf)
	switch {
	case err == syscall.EAGAIN || err == syscall.EINTR:
		return nil
	case err != nil:
		return err
	case n == 0:
		return fmt.Errorf("the server closed the connection; request: %q", c.out)
	}
	raw := buf[:n]
	if len(c.in) > 0 {
		c.in = append(c.in, raw...)
		raw = c.in
	}
	status, body, whole := answer(raw)
	if !whole {
		if len(c.in) == 0 {
			c.in = append(c.in, raw...)
		}
		return nil
	}
	d.book(c, status, body)
	c.in = c.in[:0]
	return d.send(c)
}

func (d *driver) book(c *client, status int, body []byte) {
	d.underWay--
	d.figures.all++
	if d.measuring {
		d.figures.requests++
		d.figures.latency = append(d.figures.latency, time.Since(c.sent))
	}
	switch {
	case status != d.traffic.want:
		d.figures.wrong++
		d.figures.odd = fmt.Sprintf("%d %.300s to %.200q", status, body, c.out)
	case d.traffic.took != nil:
		d.traffic.took(c.n, body)
	}
}

var (
	endOfHeader = []byte("\r\n\r\n")
	lengthField = []byte("\r\nContent-Length: ")
	chunked     = []byte("\r\nTransfer-Encoding: chunked")
	lastChunk   = []byte("\r\n0\r\n\r\n")
)

// answer reads an HTTP/1.1 answer of net/http, if raw holds it whole. The body
// of a chunked one keeps its chunk marks.
func answer(raw []byte) (status int, body []byte, whole bool) {
	at := bytes.Index(raw, endOfHeader)
	if at < 12 {
		return 0, nil, false
	}
	header, body := raw[:at], raw[at+len(endOfHeader):]
	status = number(header[len("HTTP/1.1 "):])
	if i := bytes.Index(header, lengthField); i >= 0 {
		return status, body, len(body) >= number(header[i+len(lengthField):])
	}
	if bytes.Contains(header, chunked) {
		return status, body, bytes.HasSuffix(body, lastChunk)
	}
	return status, body, true // 204, 304
}

// number reads the decimal digits that b begins with.
func number(b []byte) (n int) {
	for _, c := range b {
		if c < '0' || c > '9' {
			break
		}
		n = 10*n + int(c-'0')
	}
	return n
}
