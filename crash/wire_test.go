package crash

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"syscall"
	"time"
)

// moment is a time on the rig's clock: nanoseconds since the run began. Times
// that the program tells are put on it too.
type moment int64

const (
	second = moment(time.Second)
	never  = moment(1) << 62
)

// slack is how far the program's clock may be from the rig's. Both are the
// machine's, but the program's times are whole milliseconds, and looking at two
// clocks takes a while on a busy machine.
const slack = moment(40 * time.Millisecond)

// clock is the rig's.
type clock struct{ zero time.Time }

func (c clock) now() moment           { return moment(time.Since(c.zero)) }
func (c clock) of(t time.Time) moment { return moment(t.Sub(c.zero.Round(0))) }
func (m moment) String() string       { return time.Duration(m).Round(time.Millisecond).String() }

// answer is what came of a call. Its status is 0 when nobody knows: the call may
// have taken effect until the end of the life it was made in, or never.
type answer struct {
	status     int
	body       []byte
	start, end moment
	life       int  // the life of the program in which the call ended
	unsent     bool // it never reached the program
}

func (a *answer) known() bool { return a.status != 0 }

// decided tells whether the program answered the question: with a commit that
// failed it answers 503 for a while, and nothing was done.
func (a *answer) decided() bool { return a.known() && a.status < 500 }

// code is that of a refusal (RFC 9457 problem).
func (a *answer) code() string {
	var p struct{ Code string }
	if a.status < 400 || json.Unmarshal(a.body, &p) != nil {
		return ""
	}
	return p.Code
}

// lost is the seats that a refusal names.
func (a *answer) lost() []string {
	var p struct{ Seats []string }
	_ = json.Unmarshal(a.body, &p)
	return p.Seats
}

func (a *answer) place() (d placeDoc) { _ = json.Unmarshal(a.body, &d); return d }
func (a *answer) order() (d orderDoc) { _ = json.Unmarshal(a.body, &d); return d }

type placeDoc struct {
	Status, QueueID, EntryToken, TokenState, OrderID, Class string
	Number                                                  int
	EntryTokenExpiresAt, ServerTime                         time.Time
}

type orderDoc struct {
	OrderID, EventID, Status                     string
	Seats                                        []seatDoc
	Total                                        struct{ Amount int64 }
	HoldExpiresAt, CreatedAt, PaidAt, ServerTime time.Time
	Tickets                                      []struct {
		TicketID, Code string
		Seat           seatDoc
	}
}

type seatDoc struct{ ID string }

func (d *orderDoc) seats() (ids []string) {
	for _, s := range d.Seats {
		ids = append(ids, s.ID)
	}
	return ids
}

type object map[string]any

var client = &http.Client{
	Timeout:   8 * time.Second,
	Transport: &http.Transport{MaxIdleConns: 1000, MaxIdleConnsPerHost: 500, DisableCompression: true},
}

// call speaks to the program; headers are name, value, name, value. Nothing is
// sent again behind the caller's back, unless no byte of it was sent.
func (r *rig) call(act, method, path string, body any, headers ...string) *answer {
	var content io.Reader
	switch b := body.(type) {
	case nil:
	case []byte:
		content = io.NopCloser(bytes.NewReader(b)) // hides that it could be sent again
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			panic(err)
		}
		content = io.NopCloser(bytes.NewReader(raw))
	}
	q, err := http.NewRequest(method, "http://"+r.house.addr+path, content)
	if err != nil {
		panic(err)
	}
	if content != nil {
		q.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	a := &answer{start: r.clock.now()}
	res, err := client.Do(q)
	if err == nil {
		a.body, err = io.ReadAll(res.Body)
		res.Body.Close()
	}
	a.end = r.clock.now()
	a.life = int(r.life.Load())
	if err == nil {
		a.status = res.StatusCode
	}
	a.unsent = errors.Is(err, syscall.ECONNREFUSED)
	r.count(act, a)
	return a
}

// insist makes a call until it is answered by a program that can write; between
// the tries it waits for the next life. first is the start of the first try
// that may have taken effect.
func (r *rig) insist(try func() *answer) (a *answer, first moment) {
	first = never
	for {
		r.waitUp()
		a = try()
		if !a.unsent {
			first = min(first, a.start)
		}
		if a.known() && a.status < 500 || r.over() {
			return a, first
		}
		time.Sleep(20 * time.Millisecond)
	}
}
