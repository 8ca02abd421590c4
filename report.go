package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"foyer/sale"
)

const reportHelp = `Sum up an event of a running foyer: tickets, money received and given back, by provider, category and operator.

Usage: foyer report EVENT [--since TIME] [--until TIME] [--json | --csv]

Money counts when it came or went, tickets when they were sold and taken back: with --since and --until it is the end of
a shift. How many orders stand how, and what is on the attention list, are those of now. The report checks itself; when
something does not fit it says what, and the exit code is 1. --csv is for a spreadsheet. All orders of an event, a line for
each seat, are at GET /api/v1/admin/events/EVENT/orders.csv.

`

// reportRow is a report as the API gives it.
type reportRow struct {
	EventID  string     `json:"eventId"`
	Name     string     `json:"name"`
	Currency string     `json:"currency"`
	Since    *time.Time `json:"since"`
	Until    *time.Time `json:"until"`
	At       time.Time  `json:"serverTime"`
	sale.Report
}

func reportCommand(ctx context.Context, p program, args []string) error {
	var since, until string
	var asJSON, asCSV bool
	r, words, err := remoteCommand(p, "report", reportHelp, args, func(f *flag.FlagSet) {
		f.StringVar(&since, "since", "", "`TIME` from which money and tickets count, such as 2027-03-01T19:00:00Z")
		f.StringVar(&until, "until", "", "`TIME` before which they count")
		f.BoolVar(&asJSON, "json", false, "print what the API gives, with amounts in minor units")
		f.BoolVar(&asCSV, "csv", false, "print a sheet (CSV)")
	})
	if err != nil {
		return err
	}
	if len(words) != 1 || asJSON && asCSV {
		return usageError("use report EVENT [--since TIME] [--until TIME] [--json | --csv]; see foyer report --help")
	}
	query := url.Values{}
	for name, v := range map[string]string{"since": since, "until": until} {
		if v == "" {
			continue
		}
		if _, err := time.Parse(time.RFC3339, v); err != nil {
			return usageError("--%s %q must be a time such as 2027-03-01T19:00:00Z", name, v)
		}
		query.Set(name, v)
	}
	path := "/api/v1/admin/events/" + url.PathEscape(words[0]) + "/report"
	if asCSV {
		var sheet []byte
		if err := r.ask(ctx, http.MethodGet, path+".csv?"+query.Encode(), nil, &sheet); err != nil {
			return err
		}
		_, err := p.out.Write(sheet)
		return err
	}
	var raw json.RawMessage
	if err := r.ask(ctx, http.MethodGet, path+".json?"+query.Encode(), nil, &raw); err != nil {
		return err
	}
	var report reportRow
	if err := json.Unmarshal(raw, &report); err != nil {
		return fmt.Errorf("%s does not answer like foyer: %w", shownURL(r.server), err)
	}
	return report.show(p, raw, asJSON)
}

// show prints the report, as it came or for people, and fails when it does not fit.
func (r *reportRow) show(p program, raw []byte, asJSON bool) error {
	var out bytes.Buffer
	if asJSON {
		if err := json.Indent(&out, raw, "", "  "); err != nil {
			return err
		}
		out.WriteByte('\n')
	} else {
		r.print(&out)
	}
	if _, err := out.WriteTo(p.out); err != nil {
		return err
	}
	if !r.Balanced {
		return fmt.Errorf("the report does not fit: %s", r.Differences[0])
	}
	return nil
}

// print writes the report for people. Columns of numbers are aligned to the right.
func (r *reportRow) print(w io.Writer) {
	window := ""
	if r.Since != nil {
		window += ", from " + r.Since.UTC().Format(time.RFC3339)
	}
	if r.Until != nil {
		window += ", before " + r.Until.UTC().Format(time.RFC3339)
	}
	fmt.Fprintf(w, "%s (%s)%s, made %s; all amounts in %s\n\n", r.Name, r.EventID, window, r.At.UTC().Format(time.RFC3339), r.Currency)
	var rows [][]string
	add := func(section, name string, orders bool, s sale.Sums) {
		n := "-"
		if orders {
			n = fmt.Sprint(s.Orders)
		}
		rows = append(rows, []string{section, name, n, fmt.Sprint(s.Tickets), fmt.Sprint(s.Returned), amount(s.Gross), amount(s.Refunded), amount(s.Net), amount(s.Refunding), amount(s.Failed)})
	}
	for _, p := range r.Providers {
		add("provider", p.Provider, true, p.Sums)
	}
	for _, k := range r.Categories {
		add("category", k.Category, false, sale.Sums{Tickets: k.Tickets, Returned: k.Returned, Gross: k.Sold, Refunded: k.Back, Net: k.Kept})
	}
	for _, o := range r.Operators {
		who := o.Operator
		if o.Name != "" {
			who = o.Name + " (" + who + ")"
		}
		add("operator", who+" "+o.Method, true, o.Sums)
	}
	add("total", "", true, r.Total)
	printColumns(w, []string{"", "", "ORDERS", "TICKETS", "RETURNED", "GROSS", "REFUNDED", "NET", "TO REFUND", "FAILED"}, rows)
	r.printRest(w)
}

// printRest writes what is not in the table.
func (r *reportRow) printRest(w io.Writer) {
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name string, m sale.Money, why string) {
		if m.Amount != 0 {
			fmt.Fprintf(t, "%s\t%s %s\t%s\n", name, amount(m), m.Currency, why)
		}
	}
	line("waived", r.Waived, "of the price of tickets, by staff")
	line("late", r.Late, "part of the total, for orders that never got their seats")
	for _, part := range []struct {
		name, why string
		sums      []sale.Money
	}{
		{"unsettled", "on the attention list, not decided", r.Attention.Unsettled}, {"going back", "from the attention list, decided", r.Attention.Refunding},
		{"gone back", "from the attention list", r.Attention.Returned}, {"settled", "from the attention list, not given back by Foyer", r.Attention.Kept},
		{"unplaced", "on the attention list, of no event", r.Attention.Unplaced},
	} {
		for _, m := range part.sums {
			line(part.name, m, part.why)
		}
	}
	for _, s := range slices.Sorted(maps.Keys(r.Orders)) {
		fmt.Fprintf(t, "%s\t%s\t\n", s, count(r.Orders[s], "order"))
	}
	_ = t.Flush() // into memory
	for _, d := range r.Differences {
		fmt.Fprintln(w, "DOES NOT FIT:", d)
	}
}

// amount writes minor units without the currency's name; "-" is nothing.
func amount(m sale.Money) string {
	if m.Amount == 0 {
		return "-"
	}
	return sale.Decimal(m.Amount, m.Currency)
}

// printColumns aligns a table: the first two columns to the left, numbers to the right.
func printColumns(w io.Writer, head []string, rows [][]string) {
	width := make([]int, len(head))
	for _, row := range append(rows, head) {
		for i, v := range row {
			width[i] = max(width[i], len([]rune(v)))
		}
	}
	for _, row := range append([][]string{head}, rows...) {
		line := ""
		for i, v := range row {
			if i < 2 {
				line += fmt.Sprintf("%-*s  ", width[i], v)
			} else {
				line += fmt.Sprintf("%*s  ", width[i], v)
			}
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
}
