package web

import (
	"strconv"

	"foyer/outbox"
	"foyer/sale"
)

// bought makes a visitor with a PAID order at the till.
func (h *house) bought(event, seats string) (credential, order string, codes []string) {
	h.t.Helper()
	credential, order = h.held(event, seats)
	payment := h.do("POST", "/api/v1/orders/"+order+"/pay", `{"provider":"demo","name":"Eve","email":"eve@example.org"}`, "X-Visitor", credential).want(200).text("paymentId")
	o := h.staff("GET", "/api/v1/orders/"+order, "")
	h.money(order, payment, int(o.field("total.amount").(float64)))
	o = h.staff("GET", "/api/v1/orders/"+order, "")
	for i := range o.field("seats").([]any) {
		codes = append(codes, o.text("tickets."+string(rune('0'+i))+".code"))
	}
	return credential, order, codes
}

// money is an event of the till: it has taken this sum.
func (h *house) money(order, payment string, amount int) *answer {
	h.t.Helper()
	return h.do("POST", "/api/v1/payments/demo/webhook", `{"id":"paid `+payment+`","type":"payment.succeeded","paymentId":"`+payment+`","orderId":"`+order+
		`","amount":`+strconv.Itoa(amount)+`,"currency":"EUR"}`, "Signature", "right").want(200)
}

// giveBack carries out what the relay would: the refunds that are asked for.
func (h *house) giveBack() {
	h.t.Helper()
	all, err := h.office.Messages(outbox.Waiting, 0, 100)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, m := range all {
		if m.Topic != sale.TopicRefund || m.NextAt.After(h.clock.now()) {
			continue
		}
		m, _, err := h.store.Load(m.Seq)
		if err == nil {
			err = h.office.SendRefund(h.t.Context(), m.Body)
		}
		if err != nil {
			h.t.Fatal(err)
		}
	}
}

// matter is item i of the attention list.
func (h *house) matter(i int) *answer {
	h.t.Helper()
	a := h.staff("GET", "/api/v1/admin/attention", "").want(200)
	item, _ := a.field("items." + strconv.Itoa(i)).(map[string]any)
	return &answer{t: h.t, what: "matter", Body: a.Body, decoded: item}
}

func (a *answer) holds(want map[string]any) *answer {
	a.t.Helper()
	for path, w := range want {
		if got := a.field(path); got != w {
			a.t.Errorf("%s: %s is %v, want %v", a.what, path, got, w)
		}
	}
	return a
}

// each gives one member of each object in a list.
func (a *answer) each(list, member string) (all []string) {
	a.t.Helper()
	items, _ := a.field(list).([]any)
	for _, item := range items {
		if member == "" {
			all = append(all, item.(string))
			continue
		}
		s, _ := item.(map[string]any)[member].(string)
		all = append(all, s)
	}
	return all
}
