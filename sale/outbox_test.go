package sale_test

import (
	"slices"
	"testing"

	"github.com/google/uuid"

	"foyer/outbox"
	"foyer/sale"
)

// runner writes down what the relay is told.
type runner struct{ told []string }

func (r *runner) Retry(uint64)  { r.told = append(r.told, "retry") }
func (r *runner) Forget(uint64) { r.told = append(r.told, "forget") }

func TestStaffDecideAboutEveryCopyOfAMessage(t *testing.T) {
	play(t, nil, func(h *house) {
		h.sinks = func(string) []string { return []string{"log:", "https://shop.example/hook"} }
		relay := &runner{}
		h.Office = sale.New(sale.Config{Store: h.store, Secret: h.store.Secret(), Sinks: h.sinks, Relay: relay, TicketCode: uuid.UUID.String})
		ann := h.buyer()
		ann.hold("A-1")
		_, err := h.confirm(ann.order, "k", 4250)
		h.ok(err)
		all := h.messages()
		if len(all) != 4 {
			h.Fatalf("%d messages, want 2 for each of two sinks", len(all))
		}
		paid := all[0].ID
		h.ok(h.store.Settle([]outbox.Outcome{{Seq: all[0].Seq, State: outbox.Dead, Attempts: 9, LastError: "no"}}))
		h.ok(h.RetryMessage("staff", paid))
		for _, m := range h.messages() {
			if m.State != outbox.Waiting || m.Attempts != 0 || len(m.Body) == 0 {
				h.Errorf("after the retry: %+v", m)
			}
		}
		h.ok(h.DropMessage("staff", paid))
		if left := h.messages(); len(left) != 2 || left[0].ID == paid {
			h.Errorf("after the drop %d messages are left", len(left))
		}
		h.refused(h.DropMessage("staff", paid), sale.ErrNoSuchMessage)
		h.refused(h.RetryMessage("staff", "nonsense"), sale.ErrNoSuchMessage)
		if want := []string{"retry", "retry", "forget", "forget"}; !slices.Equal(relay.told, want) {
			h.Errorf("the relay was told %v, want %v", relay.told, want)
		}
	})
}

func TestOpeningDoesNotMoveBehindThoseWhoJoined(t *testing.T) {
	play(t, nil, func(h *house) {
		later := func(s *sale.Settings) error {
			at := h.began.Add(3600 * sec)
			s.OpensAt = &at
			return nil
		}
		_, err := h.ChangeEvent("staff", gala, later)
		h.ok(err) // nobody has come yet
		_, err = h.OpenEvent("staff", gala)
		h.ok(err)
		h.buyer()
		_, err = h.ChangeEvent("staff", gala, later)
		h.refused(err, sale.ErrPromise)
	})
}
