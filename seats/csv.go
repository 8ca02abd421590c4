package seats

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"foyer/cell"
)

// The columns of a CSV plan; API.md, "Plan". The first four must be there.
var columns = []string{"zone", "row", "seat", "category", "id", "x", "y", "accessible", "companion"}

const requiredColumns = 4

// sheet is a CSV document (RFC 4180) being read, record by record.
type sheet struct {
	*csv.Reader
	above  int            // lines cut off above what the reader sees
	column map[string]int // name -> place in a record
	width  int            // values in the header
	record []string
}

// openSheet finds out the separator and passes a first line "sep=;", with which spreadsheets tell it. Lines
// may end in CR, LF or both.
func openSheet(text []byte) *sheet {
	if !bytes.Contains(text, []byte("\n")) {
		text = bytes.ReplaceAll(text, []byte("\r"), []byte("\n"))
	}
	s := &sheet{column: map[string]int{}}
	first, rest, _ := bytes.Cut(text, []byte("\n"))
	told := strings.Trim(string(bytes.TrimSpace(first)), `"`)
	heading, _, _ := bytes.Cut(bytes.TrimLeft(text, " \r\n"), []byte("\n"))
	comma := rune(separator(heading))
	if len(told) == len("sep=,") && strings.EqualFold(told[:4], "sep=") && strings.Contains(",;", told[4:]) {
		comma, text, s.above = rune(told[4]), rest, 1
	} else if strings.EqualFold(told, "sep=") { // a tab that was trimmed
		comma, text, s.above = '\t', rest, 1
	}
	s.Reader = csv.NewReader(bytes.NewReader(text))
	s.Comma = comma
	s.FieldsPerRecord = -1
	s.TrimLeadingSpace = comma != '\t'
	return s
}

// separator is the one of , ; and tab that a header has most of, outside quotes.
func separator(header []byte) byte {
	count := map[byte]int{}
	quoted := false
	for _, c := range header {
		if c == '"' {
			quoted = !quoted
		}
		if !quoted {
			count[c]++
		}
	}
	best := byte(',')
	for _, c := range []byte{';', '\t'} {
		if count[c] > count[best] {
			best = c
		}
	}
	return best
}

// next reads a record that is not blank. It reports broken ones and goes on, until io.EOF.
func (s *sheet) next(r *report) error {
	for {
		record, err := s.Read()
		var bad *csv.ParseError
		switch {
		case errors.As(err, &bad):
			at := bad.Line
			if errors.Is(bad.Err, csv.ErrQuote) {
				at = bad.StartLine // the quote may have been open since then
			}
			r.add(line(at+s.above), "not CSV: %v", bad.Err)
			continue
		case err != nil:
			return err
		}
		if slices.ContainsFunc(record, func(v string) bool { return strings.TrimSpace(v) != "" }) {
			s.record = record
			return nil
		}
	}
}

// line is the physical line of value i of the record.
func (s *sheet) line(i int) line {
	n, _ := s.FieldPos(i)
	return line(n + s.above)
}

// header reads the names of the columns and returns those that are of no use here. Missing and repeated
// ones are reported.
func (s *sheet) header(r *report) (ignored []string) {
	if err := s.next(r); err != nil {
		r.add(place("plan"), "there is no header line")
		return nil
	}
	s.width = len(s.record)
	for i, raw := range s.record {
		name := headerName(raw)
		_, twice := s.column[name]
		switch {
		case !slices.Contains(columns, name):
			if name != "" {
				ignored = append(ignored, name)
			}
		case twice:
			r.add(s.line(i), "column %s is there twice", name)
		default:
			s.column[name] = i
		}
	}
	for _, name := range columns[:requiredColumns] {
		if _, ok := s.column[name]; !ok {
			r.add(s.line(0), "column %s is missing; the header needs zone, row, seat, category", name)
		}
	}
	return ignored
}

// headerName is a column's name without blanks and invisible characters, in lower case.
func headerName(s string) string {
	s = strings.Map(func(c rune) rune {
		if unicode.In(c, unicode.Cc, unicode.Cf) {
			return -1
		}
		return c
	}, s)
	return strings.ToLower(strings.TrimSpace(s))
}

func (d *draft) readCSV(text []byte) {
	s := openSheet(text)
	s.header(&d.report)
	if d.total > 0 {
		return
	}
	s.ReuseRecord = true
	zones := map[string]int{}
	rows := map[[2]string]int{}
	for !d.full() {
		if err := s.next(&d.report); err == io.EOF {
			break
		} else if err != nil {
			d.add(place("plan"), "cannot be read: %v", err)
			break
		}
		zone, row := s.name(d, "zone"), s.name(d, "row")
		z, ok := zones[zone]
		if !ok {
			if len(d.zones) > maxZones {
				continue // said once, by addZone
			}
			z = len(d.zones)
			zones[zone] = z
			d.addZone(draftZone{name: zone, rows: make([]draftRow, 0, 1)}, origin{line: int(s.line(0))})
		}
		r, ok := rows[[2]string{zone, row}]
		if !ok {
			r = len(d.zones[z].rows)
			rows[[2]string{zone, row}] = r
			d.zones[z].rows = append(d.zones[z].rows, draftRow{name: row})
		}
		d.addSeat(&d.zones[z].rows[r], s.seat(d))
	}
	d.nameSeats()
}

// seat reads the rest of the record.
func (s *sheet) seat(d *draft) draftSeat {
	v := draftSeat{at: origin{line: int(s.line(0))}}
	v.Number = s.name(d, "seat")
	v.Category = s.name(d, "category")
	v.ID, _ = s.value("id")
	if fault := textFault(v.ID, maxID); fault != "" {
		s.add(d, "id", "%s %s", quote(v.ID), fault)
	}
	v.X, v.hasX = s.number(d, "x")
	v.Y, v.hasY = s.number(d, "y")
	v.Accessible = s.boolean(d, "accessible")
	v.Companion = s.boolean(d, "companion")
	for i := s.width; i < len(s.record); i++ {
		if strings.TrimSpace(s.record[i]) != "" {
			d.add(s.line(i), "there are more values than columns; does one hold an unquoted separator?")
			break
		}
	}
	return v
}

// value is a cell, trimmed and without the guard of a spreadsheet, "" if the record is short; ok says that it
// is not empty.
func (s *sheet) value(column string) (v string, ok bool) {
	if i, there := s.column[column]; there && i < len(s.record) {
		v = strings.TrimSpace(cell.Read(strings.TrimSpace(s.record[i])))
	}
	return v, v != ""
}

// name reads a cell that must not be empty, with line breaks made blanks.
func (s *sheet) name(d *draft, column string) string {
	v, ok := s.value(column)
	if !ok {
		s.add(d, column, "is missing")
		return ""
	}
	if strings.ContainsAny(v, "\r\n") {
		v = strings.Join(strings.FieldsFunc(v, func(c rune) bool { return c == '\r' || c == '\n' }), " ")
	}
	if fault := textFault(v, maxText); fault != "" {
		s.add(d, column, "%s %s", quote(v), fault)
	}
	return v
}

func (s *sheet) number(d *draft, column string) (n float64, ok bool) {
	v, ok := s.value(column)
	if !ok {
		return 0, false
	}
	point := v
	if s.Comma != ',' {
		point = strings.Replace(v, ",", ".", 1)
	}
	n, err := strconv.ParseFloat(point, 64)
	if err != nil || n != n {
		s.add(d, column, "%s is not a number in range", quote(v))
		n = 0
	}
	return n, true
}

func (s *sheet) boolean(d *draft, column string) bool {
	v, _ := s.value(column)
	switch strings.ToLower(v) {
	case "true", "1", "yes":
		return true
	case "false", "0", "no", "":
		return false
	}
	s.add(d, column, "%s is neither true nor false", quote(v))
	return false
}

// add reports a problem of one cell.
func (s *sheet) add(d *draft, column, format string, args ...any) {
	i := s.column[column]
	if i >= len(s.record) {
		i = len(s.record) - 1
	}
	d.add(s.line(i), column+" "+format, args...)
}

// nameSeats gives an id to the seats that came without.
func (d *draft) nameSeats() {
	short := func(row *draftRow, s *draftSeat) string {
		if s.ID != "" {
			return s.ID
		}
		return row.name + "-" + s.Number
	}
	users := make(map[string]int, d.seats)
	d.each(func(_ *draftZone, row *draftRow, s *draftSeat) { users[short(row, s)]++ })
	d.each(func(zone *draftZone, row *draftRow, s *draftSeat) {
		if s.ID != "" || zone.name == "" || row.name == "" || s.Number == "" {
			return // it has one, or has been refused
		}
		s.ID = short(row, s)
		if users[s.ID] > 1 {
			s.ID = zone.name + "-" + s.ID
		}
		if fault := textFault(s.ID, maxID); fault != "" {
			d.add(s.at, "has no id, and %s %s", quote(s.ID), fault)
		}
	})
}
