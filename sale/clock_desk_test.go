package sale_test

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"foyer/sale"
	"foyer/store"
)

// desk is a machine whose clocks the script sets. Its real time is the bubble's.
type desk struct {
	run   string
	began time.Time
	wrong atomic.Int64 // by which the wall clock is ahead of real time
	slept atomic.Int64 // by which real time is ahead of the bubble's
	up    atomic.Int64 // the boot clock when real time was zero
	deaf  bool         // its system does not tell of sleep
	log   bytes.Buffer
}

func newDesk() *desk {
	d := &desk{run: "first", began: time.Now()}
	d.up.Store(int64(time.Hour))
	return d
}

// boot starts the machine anew, or another one, as of so long ago.
func (d *desk) boot(run string, ago time.Duration) {
	d.run = run
	d.up.Store(int64(ago - d.real()))
}

// real is how much time has passed in truth.
func (d *desk) real() time.Duration { return time.Since(d.began) + time.Duration(d.slept.Load()) }

// set puts the wall clock forward or back.
func (d *desk) set(by time.Duration) { d.wrong.Add(int64(by)) }

// sleep lets the machine sleep: no code runs and the monotonic clock stands.
func (d *desk) sleep(span time.Duration) { d.slept.Add(int64(span)) }

func (d *desk) options() store.Options {
	if d == nil {
		return store.Options{}
	}
	m := &store.Machine{Run: d.run, Wall: func() time.Time { return d.began.Add(d.real() + time.Duration(d.wrong.Load())) }}
	if !d.deaf {
		m.Boot = func() (time.Duration, error) { return time.Duration(d.up.Load()) + d.real(), nil }
	}
	return store.Options{Machine: m, Log: slog.New(slog.NewTextHandler(&d.log, nil))}
}

// warnings counts those that speak of a clock.
func (d *desk) warnings() (n int) {
	for line := range strings.Lines(d.log.String()) {
		if strings.Contains(line, "level=WARN") && strings.Contains(line, " clock ") {
			n++
		}
	}
	return n
}

// onDesk plays a script in a house on a desk.
func onDesk(t *testing.T, rules func(*sale.Settings), script func(h *house)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &house{T: t, dir: t.TempDir(), began: time.Now(), bank: &bank{}, desk: newDesk()}
		h.sinks = func(string) []string { return []string{"https://books.example/in"} }
		h.open()
		defer func() { h.ok(h.store.Close()) }()
		h.event(gala, rules)
		script(h)
	})
}

// reopen ends the run in order and begins the next.
func (h *house) reopen() {
	h.Helper()
	h.ok(h.store.Close())
	h.open()
}

// crash goes on with the file as it lies on disk now, as after kill -9.
func (h *house) crash() {
	h.Helper()
	from, err := os.Open(filepath.Join(h.dir, "foyer.db"))
	h.ok(err)
	dir := h.TempDir()
	to, err := os.Create(filepath.Join(dir, "foyer.db"))
	h.ok(err)
	_, err = io.Copy(to, from)
	h.ok(err)
	h.ok(to.Close())
	h.ok(from.Close())
	h.ok(h.store.Close())
	h.dir = dir
	h.open()
}
