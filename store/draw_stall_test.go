package store_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"foyer/sale"
	"foyer/store"
)

// TestPollsGoOnWhileALargeLobbyIsDrawn asks for a place all the time while a lobby
// is drawn. No poll may take a quarter of the time that the draw takes: they
// never wait for it. The draw itself is one commit.
func TestPollsGoOnWhileALargeLobbyIsDrawn(t *testing.T) {
	const people = 100_000
	dir := t.TempDir()
	s, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	longest, took, polls := drawAndPoll(t, s, people)
	t.Logf("%d entries drawn in %v; the longest of %d polls took %v", people, took, polls, longest)
	if polls < 10 || longest > took/4 {
		t.Errorf("the longest of %d polls took %v, and the draw %v", polls, longest, took)
	}
}

// drawAndPoll fills a lobby, draws it, and polls meanwhile.
func drawAndPoll(t testing.TB, s *store.Store, people int) (longest, took time.Duration, polls int) {
	t.Helper()
	o := sale.New(sale.Config{Store: s, Secret: s.Secret()})
	settings := sale.DefaultSettings()
	at := time.Now().Add(time.Hour)
	settings.ID, settings.Name, settings.Order, settings.OpensAt, settings.Rules.MaxWaiting = "gala", "Gala", "draw", &at, 5_000_000
	if _, err := o.CreateEvent("staff", settings); err != nil {
		t.Fatal(err)
	}
	var me uuid.UUID
	for done := 0; done < people; {
		n := min(people-done, 5000)
		if err := s.Update(func(tx sale.Tx) error {
			for range n {
				me = uuid.New()
				tx.PutPlace(sale.Place{Event: "gala", Number: tx.Line("gala").Next, Visitor: me})
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		done += n
	}
	if _, err := o.OpenEvent("staff", "gala"); err != nil {
		t.Fatal(err)
	}
	over := make(chan time.Duration)
	go func() {
		began := time.Now()
		if _, err := o.Tick("gala", time.Second); err != nil {
			t.Error(err)
		}
		over <- time.Since(began)
	}()
	var each []time.Duration
	for {
		select {
		case took = <-over:
			slices.Sort(each)
			return each[len(each)-1], took, len(each)
		default:
			began := time.Now()
			if _, err := o.Poll("gala", me); err != nil {
				t.Error(err)
			}
			each = append(each, time.Since(began))
			time.Sleep(100 * time.Microsecond)
		}
	}
}

func BenchmarkDrawOfTwoMillion(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		s, err := store.Open(b.TempDir(), store.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		longest, took, polls := drawAndPoll(b, s, 2_000_000)
		b.ReportMetric(float64(longest.Milliseconds()), "ms-longest-poll")
		b.ReportMetric(float64(took.Milliseconds()), "ms-draw")
		b.ReportMetric(float64(polls), "polls")
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
