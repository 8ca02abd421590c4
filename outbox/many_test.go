package outbox

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// Tasks share a sink, and some of their receivers hang: the others do not wait for them, whether their lanes have a pace or
// none, up to the bound.
func TestManyLanesThatHangLeaveRoomForOthers(t *testing.T) {
	for _, interval := range []time.Duration{0, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			book := newShelf()
			sink := &receiver{answer: func(ctx context.Context, m Message) error {
				if m.Key != "well" {
					<-ctx.Done()
				}
				return ctx.Err()
			}}
			sinks := map[string]Sink{TaskSink: sink, "other": &receiver{}}
			r, end := running(t, book, sinks, book.commit(TaskSink, keysOf("hung", 100, 3)...), func(c *Config) {
				c.Many = map[string]int{TaskSink: TasksAtOnce}
				c.Rules = map[string]Rule{TaskSink: {Interval: interval}}
			})
			time.Sleep(time.Second)
			r.Offer(book.commit(TaskSink, "well"))
			synctest.Wait()
			if n := len(sink.seqs("well")); n != 1 || sink.count() != 101 {
				t.Errorf("beside %d that hang, %d were called", sink.count()-n, n)
			}
			r.Offer(book.commit(TaskSink, keysOf("more", 1000, 1)...))
			r.Offer(book.commit("other", "k"))
			synctest.Wait()
			if n, o := r.Stats().InFlight, sinks["other"].(*receiver).count(); n != TasksAtOnce || o != 1 {
				t.Errorf("%d are under way, of another sink came %d", n, o)
			}
			_ = end()
		})
	}
}
