//go:build linux

package bench

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"foyer/sale"
	"foyer/store"
)

var (
	backupsToo  = flag.Bool("backup", false, "measure what a backup under full load costs the sale (minutes)")
	backupSizes = flag.String("sizes", "50,500", "with -backup: sizes of the file in MB, separated by commas")
	backupPairs = flag.Int("pairs", 5, "with -backup: how often a stretch without a backup and one with backups are measured in turn")
)

// pressure is what a crowd got done in a stretch of time.
type pressure struct {
	acts    int
	took    time.Duration
	waits   []time.Duration // of each act
	backups int
	each    time.Duration // of all backups together
}

func (p *pressure) rate() float64 { return float64(p.acts) / p.took.Seconds() }

func (p *pressure) wait(share float64) time.Duration {
	slices.Sort(p.waits)
	return p.waits[min(len(p.waits)-1, int(share*float64(len(p.waits))))]
}

// press lets a crowd join until over tells, and adds up what it got done.
func press(o *sale.Office, crowd int, over <-chan struct{}, into *pressure) error {
	waits := make([][]time.Duration, crowd)
	began := time.Now()
	err := together(crowd, crowd, func(i int) error {
		for {
			select {
			case <-over:
				return nil
			default:
			}
			asked := time.Now()
			if _, _, err := o.Join(lineEvent, newVisitor()); err != nil {
				return err
			}
			waits[i] = append(waits[i], time.Since(asked))
		}
	})
	into.took += time.Since(began)
	for _, w := range waits {
		into.waits, into.acts = append(into.waits, w...), into.acts+len(w)
	}
	return err
}

// stretch presses for a time; with backups they follow one another meanwhile,
// each read to its end, and the time is long enough for one at least.
func stretch(st *store.Store, o *sale.Office, crowd int, least time.Duration, backups bool, into *pressure) error {
	over, made := make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(over)
		until := time.Now().Add(least)
		for backups && time.Now().Before(until) {
			began := time.Now()
			c, err := st.Backup(context.Background())
			if err != nil {
				made <- err
				return
			}
			_, err = io.Copy(io.Discard, c)
			into.backups, into.each = into.backups+1, into.each+time.Since(began)
			if err := c.Close(); err != nil {
				made <- err
				return
			}
			if err != nil {
				made <- err
				return
			}
		}
		time.Sleep(time.Until(until)) // the stretch without backups is time alone
		made <- nil
	}()
	if err := press(o, crowd, over, into); err != nil {
		return err
	}
	return <-made
}

// fatten fills the file with entries of the audit until it has so many bytes.
func fatten(st *store.Store, file string, size int64) error {
	detail := string(bytes.Repeat([]byte("x"), 3000))
	for {
		info, err := os.Stat(file)
		if err != nil || info.Size() >= size {
			return err
		}
		err = st.Update(func(tx sale.Tx) error {
			for range 500 {
				tx.Audit(sale.Entry{At: tx.Now(), Act: "fill", Detail: detail})
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
}

// TestBackupUnderLoad makes backups while a crowd joins. With -backup it measures
// what they cost: joins per second with backups, as a share of those without,
// measured in turn.
func TestBackupUnderLoad(t *testing.T) {
	sizes, pairs, crowd, least := []string{"1"}, 1, 4, 20*time.Millisecond
	if *backupsToo {
		sizes, pairs, crowd, least = strings.Split(*backupSizes, ","), *backupPairs, 64, 3*time.Second
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "file MB\tafterwards\tbackups\ts each\tjoins/s alone\twith backups\tratio\tlow\thigh\tp50 ms\twith\tp99 ms\twith\t")
	for _, size := range sizes {
		row, err := measureBackups(t, size, pairs, crowd, least)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(w, row)
	}
	if *backupsToo {
		_ = w.Flush()
		t.Log("\n" + b.String())
	}
}

func measureBackups(t *testing.T, size string, pairs, crowd int, least time.Duration) (row string, err error) {
	var mb int64
	if _, err := fmt.Sscan(size, &mb); err != nil {
		return "", err
	}
	dir := t.TempDir()
	st, o := openOffice(t, dir)
	defer st.Close()
	settings := sale.DefaultSettings()
	settings.ID, settings.Name, settings.Line, settings.Rules.MaxWaiting = lineEvent, "Line", "always", 5_000_000
	if _, err := o.CreateEvent("bench", settings); err != nil {
		return "", err
	}
	file := filepath.Join(dir, "foyer.db")
	if err := fatten(st, file, mb<<20); err != nil {
		return "", err
	}
	var alone, beside, warmUp pressure
	if err := stretch(st, o, crowd, least, false, &warmUp); err != nil {
		return "", err
	}
	var ratios []float64
	for range pairs {
		var a, w pressure
		if err := stretch(st, o, crowd, least, false, &a); err != nil {
			return "", err
		}
		if err := stretch(st, o, crowd, least, true, &w); err != nil {
			return "", err
		}
		ratios = append(ratios, w.rate()/a.rate())
		alone.add(a)
		beside.add(w)
	}
	if beside.backups < pairs {
		t.Errorf("%d backups in %d stretches", beside.backups, pairs)
	}
	info, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	low, mid, high := spread(ratios)
	ms := func(d time.Duration) float64 { return float64(d) / 1e6 }
	return fmt.Sprintf("%d\t%d\t%d\t%.2f\t%.0f\t%.0f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t", mb, info.Size()>>20, beside.backups,
		beside.each.Seconds()/float64(max(1, beside.backups)), alone.rate(), beside.rate(), mid, low, high,
		ms(alone.wait(.5)), ms(beside.wait(.5)), ms(alone.wait(.99)), ms(beside.wait(.99))), nil
}

func (p *pressure) add(q pressure) {
	p.acts, p.took, p.backups, p.each = p.acts+q.acts, p.took+q.took, p.backups+q.backups, p.each+q.each
	p.waits = append(p.waits, q.waits...)
}
