package contract

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// tab is somebody who waits: what he was shown, and when he tried to come back.
type tab struct {
	*person
	number int

	mu     sync.Mutex
	shown  int         // places seen since the last cut
	wrong  string      // a place that was not his
	status string      // last seen
	tries  []time.Time // since the last cut
}

// cut forgets what was before a restart.
func (b *tab) cut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shown, b.tries = 0, nil
}

func (b *tab) tried() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tries = append(b.tries, time.Now())
}

// see reads a place as JSON.
func (b *tab) see(data []byte) (pollAfter time.Duration) {
	var v struct {
		Status, QueueID         string
		Number, PollAfterMillis int
	}
	err := json.Unmarshal(data, &v)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shown++
	b.status = v.Status
	if err != nil || v.QueueID != b.queueId || v.Number != b.number {
		b.wrong = string(data)
	}
	return time.Duration(v.PollAfterMillis) * time.Millisecond
}

// follow keeps the stream of the place open, as an EventSource does (HTML
// standard, section 9.2): after each end it waits as long as the last retry said.
func (b *tab) follow(ctx context.Context, client *http.Client) {
	wait := 3 * time.Second
	for {
		b.tried()
		b.listen(ctx, client, &wait)
		if !rest(ctx, wait) {
			return
		}
	}
}

func (b *tab) listen(ctx context.Context, client *http.Client, wait *time.Duration) {
	res, err := b.open(ctx, client, "/stream")
	if err != nil {
		return
	}
	defer res.Body.Close()
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "retry":
			if ms, err := strconv.Atoi(value); err == nil {
				*wait = time.Duration(ms) * time.Millisecond
			}
		case "data":
			b.see([]byte(value))
		}
	}
}

// poll asks for the place as often as it is told, and less and less often while
// nobody answers, as the waiting page does.
func (b *tab) poll(ctx context.Context, client *http.Client) {
	for fails := 0; ; {
		wait := time.Second << min(fails, 4) / 2
		wait += rand.N(2 * wait)
		b.tried()
		res, err := b.open(ctx, client, "")
		if err == nil {
			data, err := io.ReadAll(res.Body)
			res.Body.Close()
			if err == nil {
				wait, fails = b.see(data), -1
			}
		}
		fails++
		if !rest(ctx, wait) {
			return
		}
	}
}

func (b *tab) open(ctx context.Context, client *http.Client, rest string) (*http.Response, error) {
	q, err := http.NewRequestWithContext(ctx, "GET", b.e.h.url()+b.e.path("/queue/"+b.queueId+rest), nil)
	if err != nil {
		return nil, err
	}
	q.Header.Set("X-Visitor", b.credential)
	res, err := client.Do(q)
	if err == nil && res.StatusCode != http.StatusOK {
		res.Body.Close()
		return nil, fmt.Errorf("status %d", res.StatusCode)
	}
	return res, err
}

// rest waits; false means that the test is over.
func rest(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// crowded is the largest share of moments that lie within any window of this length.
func crowded(moments []time.Time, window time.Duration) float64 {
	slices.SortFunc(moments, time.Time.Compare)
	most, first := 0, 0
	for i, m := range moments {
		for m.Sub(moments[first]) > window {
			first++
		}
		most = max(most, i-first+1)
	}
	return float64(most) / float64(max(1, len(moments)))
}

// held holds those who came back after a restart to their places, and to the
// manner in which they came: few requests. The first so many of them have
// streams, the others poll. It tells whether the streams came spread out.
func held(t *testing.T, tabs []*tab, streaming int, after string, took time.Duration) (spread bool) {
	t.Helper()
	var streams []time.Time
	tries := 0
	for i, b := range tabs {
		b.mu.Lock()
		if b.wrong != "" {
			t.Errorf("after %s number %d was shown %s", after, b.number, short(b.wrong))
		}
		if len(b.tries) > 0 && i < streaming {
			streams = append(streams, b.tries[0])
		}
		tries += len(b.tries)
		b.mu.Unlock()
	}
	if len(streams) < streaming*9/10 {
		t.Errorf("only %d of %d streams had to come back after %s", len(streams), streaming, after)
	}
	share, rate := crowded(streams, 250*time.Millisecond), float64(tries)/float64(len(tabs))/took.Seconds()
	t.Logf("%s: all %d are back after %v; at most %.0f%% of the streams within any 250 ms; %.2f requests per tab and second", after, len(tabs), took.Round(time.Millisecond), 100*share, rate)
	if rate > 2 {
		t.Errorf("%.1f requests per tab and second after %s, want at most 2", rate, after)
	}
	return share <= 1.0/3
}

func TestB123FiveHundredStreamsAndPollersAreBackInTheirPlacesAfterKillAndAfterSIGTERM(t *testing.T) {
	t.Parallel()
	const each500 = 500
	h := newHouse(t, "--rate-limit", "0")
	e := eventOf(t, h, 4, object{"maxActive": 1, "turnSeconds": 3600, "pickupSeconds": 3600}, object{"line": "always"})
	tabs := make([]*tab, 2*each500)
	each(len(tabs), func(i int) {
		p := e.person(t)
		tabs[i] = &tab{person: p, number: p.join(t).number("number")}
	})
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	streaming := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * each500}}
	polling := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * each500}, Timeout: 10 * time.Second}
	for i, b := range tabs {
		if i < each500 {
			wg.Go(func() { b.follow(ctx, streaming) })
		} else {
			wg.Go(func() { b.poll(ctx, polling) })
		}
	}
	defer streaming.CloseIdleConnections()
	defer polling.CloseIdleConnections()
	back := func() bool {
		return !slices.ContainsFunc(tabs, func(b *tab) bool { b.mu.Lock(); defer b.mu.Unlock(); return b.shown == 0 })
	}
	until(t, "everybody sees his place", 2*patience, back)
	for _, end := range []struct {
		name string
		by   func()
	}{{"kill -9", h.kill}, {"SIGTERM", func() {
		if code, took := h.stop(t); code != 0 || took > 6*time.Second {
			t.Errorf("SIGTERM: exit code %d after %v, want 0 within 6 s", code, took)
		}
	}}} {
		again := func() (spread bool) {
			gone := time.Now()
			end.by()
			for _, b := range tabs {
				b.cut()
			}
			if err := h.start(); err != nil {
				t.Fatal(err)
			}
			until(t, "everybody is back after "+end.name, time.Minute, back)
			return held(t, tabs, each500, end.name, time.Since(gone))
		}
		spread := false
		for try := 0; try < 3 && !spread; try++ { // a machine that stands still lets all timers of this process go at once
			spread = again()
		}
		if !spread {
			t.Errorf("after %s more than a third of the streams come back within 250 ms, three times", end.name)
		}
	}
}

func TestB124TurnThatCameMeanwhileIsTheFirstThingAfterReconnecting(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for name, end := range map[string]func(*testing.T){
		"dropped connection": func(*testing.T) {},
		"kill -9":            func(*testing.T) { h.kill() },
		"SIGTERM":            func(t *testing.T) { h.stop(t) },
	} {
		t.Run(name, func(t *testing.T) {
			e := eventOf(t, h, 4, object{"maxActive": 1})
			first, p := e.buyer(t), e.joined(t)
			ctx, drop := context.WithCancel(context.Background())
			defer drop()
			b := &tab{person: p, number: p.place(t).number("number")}
			var lost atomic.Bool
			go func() {
				wait := time.Duration(0)
				b.listen(ctx, &http.Client{Transport: &http.Transport{}}, &wait)
				lost.Store(true)
			}()
			seen := func() bool { b.mu.Lock(); defer b.mu.Unlock(); return b.shown > 0 }
			until(t, "the first message", patience, seen)
			drop()
			until(t, "the stream is lost", patience, lost.Load)
			first.leave(t).want(t, http.StatusNoContent)
			until(t, "the turn is stored", patience, func() bool { return e.get(t, "/status").number("waiting") == 0 })
			end(t)
			if name != "dropped connection" {
				if err := h.start(); err != nil {
					t.Fatal(err)
				}
			}
			for _, last := range []string{"", "1", "999999", "no number"} {
				if got := firstMessage(t, p, last); !strings.Contains(got, `"status":"READY"`) || !strings.Contains(got, `"entryToken":"`) {
					t.Errorf("with Last-Event-ID %q the first message is %q, want READY with the token", last, got)
				}
			}
		})
	}
}

// firstMessage is the data of the first event of a fresh stream.
func firstMessage(t *testing.T, p *person, lastEventID string) string {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	q, err := http.NewRequestWithContext(ctx, "GET", p.e.h.url()+p.e.path("/queue/"+p.queueId+"/stream"), nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("X-Visitor", p.credential)
	if lastEventID != "" {
		q.Header.Set("Last-Event-ID", lastEventID)
	}
	res, err := client.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		if data, found := strings.CutPrefix(lines.Text(), "data: "); found {
			return data
		}
	}
	return ""
}
