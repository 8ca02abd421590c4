package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"foyer/sale"
	"foyer/store"
)

const checkHelp = `Check a file of Foyer: every page of it, every row, and what the rows say about each other.

Usage: foyer check FILE

FILE is foyer.db, a copy or a backup of it, or the folder it lies in (--data of foyer serve). It is opened for
reading and never changed. A file that a running foyer has open cannot be checked: make a backup with
foyer backup and check that.

Each finding is one line, CODE and a sentence:
  file      the whole file is empty, of another program, cut short or too new for this foyer
  page      a page is damaged; the rows are then not compared, as some are missing
  row       a row cannot be read, or belongs to nothing
  I1 - I10  a guarantee of the README does not hold: seats, holds, turns, places, money or messages disagree
  note      not wrong, but worth a look: a limit that was lowered below what is in use, a stamp from the future
The last line sums up what the file holds. Money is as the file has it: in PAID orders, to be refunded, refunded,
and on the attention list.

Exit code 0: sound, perhaps with notes; 1: there are findings, restore a backup or ask for help with these lines;
2: the file could not be looked at.
`

func checkCommand(ctx context.Context, p program, args []string) error {
	if asksForHelp(args) {
		fmt.Fprint(p.out, checkHelp)
		return nil
	}
	if len(args) != 1 || strings.HasPrefix(args[0], "-") {
		return usageError("use check FILE; see foyer check --help")
	}
	var report *store.Report
	done := make(chan error, 1)
	bar := newBar(p.err)
	go func() {
		var err error
		report, err = store.Inspect(args[0], bar.show)
		done <- err
	}()
	select {
	case err := <-done:
		bar.clear()
		if err != nil {
			return failure{exitUsage, err}
		}
	case <-ctx.Done(): // nothing is written, so nothing needs an end
		bar.clear()
		return usageError("the check was stopped before its end")
	}
	for _, f := range report.Findings {
		fmt.Fprintf(p.out, "%-4s %s\n", f.Code, f.What)
	}
	fmt.Fprintf(p.out, "%s: %s\n", report.Path, summary(report))
	if wrong := report.Wrong(); wrong > 0 {
		return failure{exitFile, fmt.Errorf("%s is not sound: %s", report.Path, count(wrong, "finding"))}
	}
	return nil
}

// sizeText is a number of bytes for people.
func sizeText(n int64) string {
	if n < 1e6 {
		return fmt.Sprintf("%d kB", (n+999)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// summary tells what a file holds, in one line.
func summary(r *store.Report) string {
	if !r.Rows {
		return sizeText(r.Bytes) + "; its rows were not compared"
	}
	t := r.Tally
	orders := 0
	var kinds []string
	for _, s := range slices.Sorted(maps.Keys(t.Orders)) {
		orders += t.Orders[s]
		kinds = append(kinds, fmt.Sprintf("%d %s", t.Orders[s], s))
	}
	text := fmt.Sprintf("%s, %s, %s in line, %d with a turn, %s", sizeText(r.Bytes),
		count(t.Events, "event"), count(t.Waiting, "place"), t.Called, count(orders, "order"))
	if orders > 0 {
		text += " (" + strings.Join(kinds, ", ") + ")"
	}
	text += fmt.Sprintf(", %s, %s to deliver", count(t.Receipts, "payment fact"), count(t.Messages, "message"))
	for _, c := range slices.Sorted(maps.Keys(t.Money)) {
		m := t.Money[c]
		name := cmp.Or(c, "no currency") // as a provider said, and staff must look at it
		text += fmt.Sprintf("; %s: %s paid, %s to be refunded, %s refunded, %s on the attention list",
			name, sale.Decimal(m.Paid, c), sale.Decimal(m.RefundDue, c), sale.Decimal(m.Refunded, c), sale.Decimal(m.Attention, c))
	}
	return text
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// bar shows on a terminal how far a long work has come; elsewhere it is silent.
type bar struct {
	w    io.Writer // nil: no terminal
	last time.Time
}

func newBar(w io.Writer) *bar {
	f, ok := w.(*os.File)
	if !ok {
		return &bar{}
	}
	if st, err := f.Stat(); err != nil || st.Mode()&os.ModeCharDevice == 0 {
		return &bar{}
	}
	return &bar{w: w}
}

// show is called by one goroutine.
func (b *bar) show(done, total int64) {
	if b.w == nil || total == 0 || time.Since(b.last) < 100*time.Millisecond {
		return
	}
	b.last = time.Now()
	const width = 40
	full := int(min(done, total) * width / total)
	fmt.Fprintf(b.w, "\r[%s%s] %3d %%", strings.Repeat("#", full), strings.Repeat(".", width-full), min(done, total)*100/total)
}

func (b *bar) clear() {
	if b.w != nil {
		fmt.Fprint(b.w, "\r\033[K")
	}
}
