package sale_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"foyer/queue"
	"foyer/sale"
)

// Who asks when he was told to is there when his turn comes, however little time there is for that.
func TestWhoAsksWhenHeIsToldToLosesNoTurn(t *testing.T) {
	for _, pickup := range []int{2, 4} {
		for name, more := range map[string]func(*sale.Settings){
			"paused": func(*sale.Settings) {},
			"lobby":  func(s *sale.Settings) { at := time.Now().Add(8 * sec); s.OpensAt = &at },
			"draw":   func(s *sale.Settings) { at := time.Now().Add(8 * sec); s.OpensAt, s.Order = &at, "draw" },
		} {
			rules := func(s *sale.Settings) {
				s.Line, s.Rules.AdmitPerSecond, s.Rules.MaxActive, s.Rules.PickupSeconds = "always", 100, 2000, pickup
				more(s)
			}
			play(t, rules, func(h *house) {
				random := rand.New(rand.NewPCG(uint64(pickup), 3))
				if name == "paused" {
					_, err := h.PauseEvent("staff", gala, "")
					h.ok(err)
				}
				const called, lost = -1, -2
				next := make([]time.Duration, 200)
				all := h.crowd(len(next))
				for i := range next {
					next[i] = time.Duration(random.Float64() * float64(all[i].poll().Poll))
				}
				for now := 50 * ms; now < 20*sec; now += 50 * ms {
					h.at(now)
					if now == 8*sec && name == "paused" {
						_, err := h.ResumeEvent("staff", gala)
						h.ok(err)
					}
					if now%sec == 0 {
						h.tick()
					}
					for i, v := range all {
						if next[i] < 0 || next[i] > now {
							continue
						}
						switch p := v.poll(); p.Status {
						case sale.Ready:
							next[i] = called
						case sale.NotEntered:
							next[i] = lost
						default:
							next[i] = now + queue.Jitter(p.Poll, random.Float64())
						}
					}
				}
				n := map[time.Duration]int{}
				for _, at := range next {
					n[at]++
				}
				if n[called] != len(all) {
					h.Errorf("%s, %d s to come: %d of %d had their turn, %d lost it", name, pickup, n[called], len(all), n[lost])
				}
			})
		}
	}
}
