package web

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strings"
	"testing"
	"time"

	"foyer/cell"
	"foyer/sale"
)

// sold has somebody buy seats at the door.
func (h *house) sold(method string, b sale.Buyer, seats ...string) *sale.OrderView {
	h.t.Helper()
	o, err := h.office.Sell(sale.DoorSale{Actor: "staff:eve", Event: "gala", Seats: seats, Method: method, Buyer: b})
	if err != nil {
		h.t.Fatal(err)
	}
	return o
}

// sheet reads an answer as a spreadsheet would, and checks its form.
func (a *answer) sheet() (columns []string, lines []map[string]string) {
	a.t.Helper()
	body, marked := bytes.CutPrefix(a.want(200).Body, []byte("\ufeff"))
	if !marked || bytes.HasPrefix(body, []byte("\ufeff")) || bytes.Count(body, []byte("\n")) != bytes.Count(body, []byte("\r\n")) {
		a.t.Errorf("%s: not one byte order mark and CRLF: %q", a.what, a.Body)
	}
	all, err := csv.NewReader(bytes.NewReader(body)).ReadAll() // refuses lines of other lengths
	if err != nil {
		a.t.Fatalf("%s: %v: %q", a.what, err, a.Body)
	}
	for _, record := range all[1:] {
		line := map[string]string{}
		for i, v := range record {
			line[all[0][i]] = cell.Read(v)
		}
		lines = append(lines, line)
	}
	if a.Header.Get("Content-Type") != "text/csv; charset=utf-8; header=present" || !strings.HasPrefix(a.Header.Get("Cache-Control"), "no-store") {
		a.t.Errorf("%s: headers %v", a.what, a.Header)
	}
	return all[0], lines
}

const galaReport, galaOrders = "/api/v1/admin/events/gala/report", "/api/v1/admin/events/gala/orders.csv"

func TestReportIsForAdminsAndHasAWindow(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	for _, path := range []string{galaReport + ".json", galaReport + ".csv", galaOrders} {
		h.do("GET", path, "").refused(401, "no_key")
		h.do("GET", path, "", "Authorization", "Bearer "+h.key("boxoffice")).refused(403, "wrong_role")
		h.staff("GET", strings.Replace(path, "gala", "none", 1), "").refused(404, "no_such_event")
		h.staff("HEAD", path, "").want(200)
	}
	for _, q := range []string{"since=yesterday", "until=2027-03-01", "since=2027-03-02T00:00:00Z&until=2027-03-01T00:00:00Z", "since=2027-03-02T00:00:00Z&until=2027-03-02T00:00:00Z"} {
		h.staff("GET", galaReport+".json?"+q, "").refused(400, "bad_request")
	}
	h.sold(sale.Cash, sale.Buyer{}, "A-1")
	h.clock.pass(time.Hour)
	h.sold(sale.Card, sale.Buyer{}, "A-2", "A-3")
	a := h.staff("GET", galaReport+".json", "").want(200)
	if a.field("total.gross.amount") != 12750.0 || a.text("total.gross.currency") != "EUR" || a.field("balanced") != true || a.text("operators.1.method") != "cash" || a.field("since") != nil {
		t.Errorf("got %s", a.Body)
	}
	id := h.staff("POST", "/api/v1/admin/keys", `{"role":"boxoffice","name":"=Eve"}`).want(201).text("id")
	if _, err := h.office.Sell(sale.DoorSale{Actor: "staff:" + id, Event: "gala", Seats: []string{"A-4"}, Method: sale.Free}); err != nil {
		t.Fatal(err)
	}
	if csv := string(h.staff("GET", galaReport+".csv", "").Body); !strings.Contains(csv, "operator,staff:"+id+",free,1,1,0,") || !strings.Contains(csv, ",EUR,'=Eve\r\n") {
		t.Errorf("no name of the operator: %s", csv)
	}
	a = h.staff("GET", galaReport+".json?since=2026-12-01T20:30:00%2B01:00", "").want(200)
	if a.field("total.gross.amount") != 8500.0 || a.field("orders.PAID") != 3.0 || a.text("since") != "2026-12-01T19:30:00.000Z" {
		t.Errorf("got %s", a.Body)
	}
}

func TestReportAsASheet(t *testing.T) {
	for currency, want := range map[string][2]string{"EUR": {"99.99", "-33.33"}, "JPY": {"9999", "-3333"}, "KRW": {"9999", "-3333"}, "KWD": {"9.999", "-3.333"}} {
		h := newHouse(t)
		h.event("gala", `"currency":"`+currency+`"`)
		h.staff("PATCH", "/api/v1/admin/events/gala", `{"prices":{"Stalls":3333}}`).want(200)
		o := h.sold(sale.Cash, sale.Buyer{}, "A-1", "A-2", "A-3")
		h.clock.pass(time.Minute)
		if _, err := h.office.Refund(o.ID, sale.RefundWish{Actor: "staff:eve", Seats: []string{"A-1"}}); err != nil {
			t.Fatal(err)
		}
		a := h.staff("GET", galaReport+".csv", "")
		_, lines := a.sheet()
		found := map[string]map[string]string{}
		for _, l := range lines {
			found[l["section"]+" "+l["name"]] = l
		}
		total := found["total "]
		if total["gross"] != want[0] || total["tickets"] != "3" || total["returned"] != "1" || total["currency"] != currency || found["balanced true"] == nil {
			t.Errorf("%s: got %s", currency, a.Body)
		}
		if k := found["category Stalls"]; k["gross"] != want[0] || k["orders"] != "" || "-"+k["refunded"] != want[1] {
			t.Errorf("%s: got %v", currency, k)
		}
		a = h.staff("GET", galaReport+".csv?since=2026-12-01T19:00:30Z", "") // the shift that only gave back
		if !strings.Contains(string(a.Body), "operator,staff:eve,cash,0,0,1,"+sale.Decimal(0, currency)+","+want[1][1:]+","+want[1]+",") {
			t.Errorf("%s: got %s", currency, a.Body)
		}
		if got := a.Header.Get("Content-Disposition"); got != `attachment; filename="report-gala-2026-12-01.csv"` {
			t.Errorf("got %s", got)
		}
	}
}

func TestOrdersAsASheetAddUp(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	names := []string{`=HYPERLINK("http://evil","x")`, `O'Neil, "Ann"; 🎟️`, "\u00a0＝cmd", "'t Hof", "שלום", "+49 123"}
	for i, n := range names {
		h.sold(sale.Cash, sale.Buyer{Name: n, Email: "a+b@example.org"}, fmt.Sprintf("A-%d", i+1))
	}
	orders, err := h.office.Orders("gala", [16]byte{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.office.Refund(orders[0].ID, sale.RefundWish{Actor: "staff:eve", Reason: "-1 guest"}); err != nil {
		t.Fatal(err)
	}
	columns, lines := h.staff("GET", galaOrders, "").sheet()
	if len(lines) != len(names) || len(columns) != len(orderColumns) {
		t.Fatalf("got %d lines", len(lines))
	}
	for i, n := range names {
		l := lines[len(names)-1-i]
		if l["buyer"] != n || l["email"] != "a+b@example.org" || l["seat"] != fmt.Sprintf("A-%d", i+1) || l["price"] != "42.50" || l["orderReceived"] != "42.50" || l["method"] != "cash" {
			t.Errorf("%q: got %v", n, l)
		}
	}
	if l := lines[0]; l["status"] != "REFUNDED" || l["sold"] != "42.50" || l["back"] != "42.50" || l["refundState"] != "DONE" || l["refundReason"] != "-1 guest" {
		t.Errorf("got %v", lines[0])
	}
	if body := string(h.staff("GET", galaOrders, "").Body); !strings.Contains(body, `"'=HYPERLINK(""http://evil"",""x"")"`) || !strings.Contains(body, ",''t Hof,") || !strings.Contains(body, ",'+49 123,") {
		t.Errorf("not guarded: %s", body)
	}
}

func TestWhatBelongsToAnOrderStandsInItsFirstLine(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	h.sold(sale.Card, sale.Buyer{}, "A-1", "A-2", "A-3")
	h.held("gala", `["A-4"]`)
	_, lines := h.staff("GET", galaOrders, "").sheet()
	got := ""
	for _, l := range lines {
		got += l["status"] + " " + l["orderTotal"] + " " + l["orderReceived"] + " " + l["price"] + " " + l["sold"] + "|"
	}
	if want := "PENDING 42.50 0.00 42.50 |PAID 127.50 127.50 42.50 42.50|PAID   42.50 42.50|PAID   42.50 42.50|"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestOrdersAreSentInPages(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	plan := "zone,row,seat,category\n"
	for i := range pageMax + 3 {
		plan += fmt.Sprintf("Stalls,A,%d,Stalls\n", i+1)
	}
	h.staff("PUT", "/api/v1/admin/events/gala/plan", plan).want(200)
	for i := range pageMax + 3 {
		h.sold(sale.Free, sale.Buyer{}, fmt.Sprintf("A-%d", i+1))
	}
	_, lines := h.staff("GET", galaOrders, "").sheet()
	seen := map[string]bool{}
	for _, l := range lines {
		seen[l["seat"]] = true
	}
	if len(lines) != pageMax+3 || len(seen) != len(lines) {
		t.Errorf("got %d lines of %d seats", len(lines), len(seen))
	}
}

// forgetErrors are the rows of the error table about erasing buyers.
func forgetErrors(h *house, check func(*answer, string)) {
	h.event("gala")
	h.sold(sale.Cash, sale.Buyer{Name: "Ann Bell"}, "A-1")
	check(h.staff("POST", "/api/v1/admin/events/gala/forget", ""), "event_open")
	h.staff("POST", "/api/v1/admin/events/gala/close", "").want(200)
	check(h.staff("POST", "/api/v1/admin/events/gala/forget", ""), "messages_left")
}

func TestForgettingOverHTTP(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	const path = "/api/v1/admin/events/gala/forget"
	h.sold(sale.Cash, sale.Buyer{Name: "Ann Bell"}, "A-1")
	h.do("POST", path, "", "Authorization", "Bearer "+h.key("boxoffice")).refused(403, "wrong_role")
	h.staff("POST", path, "").refused(409, "event_open")
	h.staff("POST", "/api/v1/admin/events/gala/close", "").want(200)
	h.staff("POST", path, "").refused(409, "messages_left") // of the sink of the tests
	messages, err := h.store.Messages("", 0, 10)
	if err != nil || len(messages) != 1 {
		t.Fatalf("%d messages, %v", len(messages), err)
	}
	h.staff("POST", "/api/v1/admin/outbox/"+messages[0].ID+"/drop", "").want(204)
	if a := h.staff("POST", path, "{}").want(200); a.field("orders") != 1.0 || a.text("eventId") != "gala" {
		t.Errorf("got %s", a.Body)
	}
	if a := h.staff("POST", path, "").want(200); a.field("orders") != 0.0 {
		t.Errorf("again: got %s", a.Body)
	}
	h.staff("POST", path, `{"x":1}`).refused(400, "unknown_field")
	if a := h.staff("GET", "/api/v1/admin/orders?query=ann", "").want(200); strings.Contains(string(a.Body), "Ann Bell") {
		t.Errorf("still known: %s", a.Body)
	}
}
