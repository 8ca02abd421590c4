package main

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"sync"
	"time"
)

// lineWriter gathers log lines and writes them a few times a second: at
// thousands of requests a second one write each would cost more than the
// request. Warnings and errors go out at once.
type lineWriter struct {
	mu  sync.Mutex
	w   *bufio.Writer
	out io.Writer
}

func newLineWriter(w io.Writer) *lineWriter {
	return &lineWriter{w: bufio.NewWriterSize(w, 64<<10), out: w}
}

func (l *lineWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.w.Write(b)
	l.forget(err)
	return n, err
}

func (l *lineWriter) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(l.w.Flush())
}

// forget gives up the lines that could not be written: a log that cannot be
// written cannot say so, and a bufio.Writer would never write again. Later
// lines go out once there is space.
func (l *lineWriter) forget(err error) {
	if err != nil {
		l.w.Reset(l.out)
	}
}

// flushing flushes until ctx ends, and then once more.
func (l *lineWriter) flushing(ctx context.Context) {
	t := time.NewTicker(200 * time.Millisecond)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			l.flush()
			return
		case <-t.C:
			l.flush()
		}
	}
}

// promptHandler flushes after every record that a person should see now.
type promptHandler struct {
	slog.Handler
	w *lineWriter
}

func (h promptHandler) Handle(ctx context.Context, r slog.Record) error {
	err := h.Handler.Handle(ctx, r)
	if r.Level >= slog.LevelWarn {
		h.w.flush()
	}
	return err
}

func (h promptHandler) WithAttrs(a []slog.Attr) slog.Handler {
	return promptHandler{h.Handler.WithAttrs(a), h.w}
}

func (h promptHandler) WithGroup(name string) slog.Handler {
	return promptHandler{h.Handler.WithGroup(name), h.w}
}

func newLog(w *lineWriter) *slog.Logger {
	return slog.New(promptHandler{slog.NewJSONHandler(w, nil), w})
}
