package sale_test

import (
	"testing"
	"time"

	"foyer/sale"
)

// because wants this reason in the visitor's place.
func (v *visitor) because(reason string) sale.PlaceView {
	v.h.Helper()
	p := v.poll()
	if p.Slower != reason {
		v.h.Errorf("%s in: the place (%s, rank %d) says %q, want %q", time.Since(v.h.began), p.Status, p.Rank, p.Slower, reason)
	}
	return p
}

// Nobody is called in a lobby, in a pause or after the end. That is no evidence of a slow line.
func TestStandingOnPurposeDoesNotLengthenTheWait(t *testing.T) {
	later := func(s *sale.Settings) {
		at := time.Now().Add(10 * time.Minute)
		s.OpensAt, s.Line, s.Rules.AdmitPerSecond, s.Rules.MaxActive = &at, "always", 5, 100
	}
	play(t, later, func(h *house) {
		last := h.crowd(300)[299]
		at := 0
		stand := func(until int) {
			for ; at < until; at++ {
				h.at(time.Duration(at) * sec)
				h.tick()
			}
		}
		stand(600)
		h.at(10 * time.Minute)
		if p := last.because(""); p.Status != sale.Waiting || p.Wait != 60 {
			h.Errorf("at the opening 299 are ahead at 5 a second: %s, a wait of %d s", p.Status, p.Wait)
		}
		stand(610)
		_, err := h.PauseEvent("staff", gala, "")
		h.ok(err)
		before := last.poll().Wait
		stand(900)
		if p := last.because(sale.SlowerPaused); p.Wait != before {
			h.Errorf("after the pause the wait is %d s, before it was %d", p.Wait, before)
		}
	})
}
