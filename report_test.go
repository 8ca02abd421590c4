package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"foyer/sale"
	"foyer/seats"
	"foyer/store"
)

// toldHouse is a file in which two seats were sold at the door, one of them given back.
func toldHouse(t *testing.T, data, currency string) {
	t.Helper()
	st, err := store.Open(data, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	o := sale.New(sale.Config{Store: st, Secret: st.Secret(), TicketCode: uuid.UUID.String})
	s := sale.DefaultSettings()
	s.ID, s.Name, s.Currency, s.Prices = "gala", "Gala", currency, map[string]int64{"Stalls": 123450}
	_, err = o.CreateEvent("staff", s)
	must(err)
	plan, err := seats.Parse([]byte("zone,row,seat,category\nStalls,A,1,Stalls\nStalls,A,2,Stalls\n"))
	must(err)
	_, err = o.SetPlan("staff", "gala", plan, false)
	must(err)
	v, err := o.Sell(sale.DoorSale{Actor: "staff:eve", Event: "gala", Seats: []string{"A-1", "A-2"}, Method: sale.Cash, Buyer: sale.Buyer{Name: "Ann Bell"}})
	must(err)
	_, err = o.Refund(v.ID, sale.RefundWish{Actor: "staff:bob", Seats: []string{"A-2"}})
	must(err)
	must(st.Close())
}

func TestReportCommand(t *testing.T) {
	for currency, want := range map[string][]string{
		"EUR": {"2469.00   1234.50   1234.50  ", "-1234.50", "all amounts in EUR"}, "JPY": {"246900    123450   123450  ", "-123450"}, "KWD": {"246.900   123.450   123.450  ", "-123.450"},
	} {
		w := newWorld(t)
		data := filepath.Join(w.dir, "data")
		toldHouse(t, data, currency)
		w.env["FOYER_ADMIN_KEY"] = "a key for this test"
		url, _ := w.start("serve", "--addr", "127.0.0.1:0", "--data", data)
		cli := newWorld(t)
		cli.env["FOYER_ADMIN_KEY"], cli.env["FOYER_SERVER"] = "a key for this test", url
		cli.says("report gala", append(want, "Gala (gala), made ", "staff:eve cash", "PAID  1 order")...)
		if lines := strings.Split(cli.out.String(), "\n"); len(lines[2]) != len(lines[3]) {
			t.Errorf("the columns do not stand straight:\n%s", cli.out.String())
		}
		cli.says("report --since 2020-01-01T00:00:00Z gala --until 2020-01-02T00:00:00+01:00", "from 2020-01-01T00:00:00Z, before 2020-01-01T23:00:00Z", "total")
		cli.says("report gala --csv", "\ufeffsection,name,method,", "balanced,true")
		cli.says("report gala --json", `"balanced": true`)
		if !json.Valid([]byte(cli.out.String())) {
			t.Errorf("no JSON: %s", cli.out.String())
		}
		if code := cli.run("report", "none"); code != exitFile || !strings.Contains(cli.err.String(), "no event") {
			t.Errorf("report of none: %d, %q", code, cli.err.String())
		}
	}
}

func TestReportCommandIsCareful(t *testing.T) {
	w := newWorld(t)
	for args, say := range map[string]string{
		"report": "use report EVENT", "report a b": "use report EVENT", "report a --json --csv": "use report EVENT", "report a --since now": "must be a time", "report a": "FOYER_ADMIN_KEY",
		"report a --until 2027-03-01": "must be a time", "event forget": "use event create", "event forget a b": "use event create", "event forget --plan x a": "use event create",
	} {
		if code := w.run(strings.Fields(args)...); code != exitUsage || !strings.Contains(w.err.String(), say) {
			t.Errorf("foyer %s: exit code %d, said %q", args, code, w.err.String())
		}
	}
}

// A report that does not fit is printed, and told by the exit code.
func TestReportThatDoesNotFitFails(t *testing.T) {
	w := newWorld(t)
	r := reportRow{Report: *sale.NewReport("EUR", time.Time{}, time.Time{}, time.Time{})}
	r.Differences = []string{"Order 1: it does not fit."}
	if err := r.show(w.program(), nil, false); err == nil || !strings.Contains(w.out.String(), "DOES NOT FIT: Order 1") {
		t.Errorf("got %v, %s", err, w.out.String())
	}
}

func TestEventForgetCommand(t *testing.T) {
	w := newWorld(t)
	data := filepath.Join(w.dir, "data")
	toldHouse(t, data, "EUR")
	if code := w.run("event", "forget", "--data", data, "gala"); code != exitFile || !strings.Contains(w.err.String(), "Close the event first") {
		t.Errorf("of an open event: %d, %s", code, w.err.String())
	}
	closeGala := func(o *sale.Office) error { _, err := o.CloseEvent("staff", "gala", ""); return err }
	if err := (eventFlags{data: data}).withOffice(false, closeGala); err != nil {
		t.Fatal(err)
	}
	w.says("event forget --data "+data+" gala", "forgotten: the buyers of 1 order of gala")
	w.env["FOYER_ADMIN_KEY"] = "a key for this test"
	url, _ := w.start("serve", "--addr", "127.0.0.1:0", "--data", data)
	cli := newWorld(t)
	cli.env["FOYER_ADMIN_KEY"], cli.env["FOYER_SERVER"] = "a key for this test", url
	cli.says("event forget gala", "forgotten: the buyers of 0 orders of gala")
	if code := cli.run("event", "forget", "none"); code != exitFile || !strings.Contains(cli.err.String(), "no event") {
		t.Errorf("of none: %d, %q", code, cli.err.String())
	}
}

func TestReadmeTellsEveryCommand(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range commands() {
		if c.name != "version" && !strings.Contains(string(readme), "foyer "+c.name) {
			t.Errorf("README does not tell of foyer %s", c.name)
		}
	}
	for _, words := range []string{"foyer report EVENT", "foyer event forget"} {
		if !strings.Contains(string(readme), words) {
			t.Errorf("README does not tell of %s", words)
		}
	}
}
