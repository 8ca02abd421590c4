package outbox

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// nothing is a Book and a Sink that cost nothing, to measure the relay itself.
type nothing struct{ left chan struct{} }

func (nothing) Load(seq uint64) (Message, bool, error) {
	return Message{Seq: seq, ID: "m", State: Waiting}, true, nil
}
func (n nothing) Settle(all []Outcome) error {
	for range all {
		n.left <- struct{}{}
	}
	return nil
}
func (nothing) Begin([]Slot) error                     { return nil }
func (nothing) Deliver(context.Context, Message) error { return nil }

func BenchmarkRelayAgainstABareLoop(b *testing.B) {
	n := nothing{left: make(chan struct{}, 1024)}
	msgs := make([]Message, b.N)
	for i := range msgs {
		msgs[i] = Message{Seq: uint64(i) + 1, Sink: "s", Key: fmt.Sprint(i % 5000), CreatedAt: epoch}
	}
	began := time.Now()
	for i := range msgs {
		ctx, cancel := context.WithTimeout(b.Context(), time.Second)
		m, _, _ := n.Load(msgs[i].Seq)
		_ = n.Deliver(ctx, m)
		cancel()
	}
	floor := time.Since(began)
	r := NewRelay(Config{Book: n, Sinks: map[string]Sink{"s": n}})
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error)
	b.ResetTimer()
	began = time.Now()
	go func() { ended <- r.Run(ctx) }()
	r.Offer(msgs)
	for range msgs {
		<-n.left
	}
	took := time.Since(began)
	cancel()
	<-ended
	b.ReportMetric(float64(took)/float64(floor), "x_floor")
	b.ReportMetric(float64(b.N)/took.Seconds(), "messages/s")
}
