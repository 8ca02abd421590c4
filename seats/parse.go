package seats

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// What a plan may have at most. Lengths are in characters (Unicode code points) after trimming.
const (
	maxBytes      = 32 << 20 // of a document, and of Plan.JSON
	maxSeats      = 100_000
	maxZones      = 1_000
	maxCategories = 1_000
	maxText       = 100 // plan, zone, row and category names, seat numbers
	maxID         = 64
	maxCoordinate = 1e6 // either side of zero
)

// Parse reads a plan in one of three forms, told apart by the content: Foyer's JSON, the pretix seating plan
// JSON (src/pretix/static/seating/seating-plan.schema.json of github.com/pretix/pretix), or CSV. The text is
// UTF-8, or UTF-16 with a byte order mark. Blanks around every value are dropped. The error is a *BadPlan
// with every problem found. data is neither kept nor changed.
//
// Foyer's JSON: unknown fields, fields given twice and null are refused. Without categories they are
// collected from the seats.
//
// pretix: other fields are ignored, a position is the sum of zone, row and seat, colours other than #rgb and
// #rrggbb are replaced. A zone without a name is called by its zone_id or place, a row without a number by
// its place.
//
// CSV: columns zone, row, seat, category, and if wanted id, x, y, accessible, companion, in any order; others
// are ignored, and told by Notices. The separator is a comma, a semicolon or a tab. A missing id is row-seat
// if no other seat of the plan gets that, else zone-row-seat. A line break inside a name becomes a blank.
// Where the separator is not a comma, x and y may have a decimal comma. The apostrophe that keeps a value from
// being a formula (package cell) is dropped.
//
// In every form rows and zones without seats are left out. Either all seats have coordinates or none; then
// rows are drawn straight.
func Parse(data []byte) (*Plan, error) {
	d := &draft{}
	if text, ok := d.decode(data); ok {
		switch {
		case len(bytes.TrimSpace(text)) == 0:
			d.add(place("plan"), "the document is empty")
		case isJSON(text):
			d.readJSON(text)
		default:
			d.readCSV(text)
		}
	}
	return d.finish()
}

func isJSON(text []byte) bool {
	text = bytes.TrimSpace(text)
	return text[0] == '{' || text[0] == '['
}

// decode returns the document as valid UTF-8 without byte order marks, or reports why it is not text.
func (r *report) decode(data []byte) (text []byte, ok bool) {
	if len(data) > maxBytes {
		r.add(place("plan"), "the document is larger than %d MiB", maxBytes>>20)
		return nil, false
	}
	switch {
	case bytes.HasPrefix(data, []byte("PK\x03\x04")):
		r.add(place("plan"), "this is a zip archive or a spreadsheet; save the sheet as CSV (UTF-8)")
		return nil, false
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		data, ok = r.fromUTF16(data[2:], binary.LittleEndian)
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		data, ok = r.fromUTF16(data[2:], binary.BigEndian)
	default:
		ok = r.checkUTF8(data)
	}
	for mark := []byte("\ufeff"); bytes.HasPrefix(data, mark); {
		data = data[len(mark):]
	}
	if i := bytes.IndexByte(data, 0); ok && i >= 0 {
		r.add(lineAt(data, i), "a NUL byte; if the file is UTF-16 it needs a byte order mark")
		ok = false
	}
	return data, ok
}

// checkUTF8 reports every line that is not UTF-8.
func (r *report) checkUTF8(data []byte) bool {
	if utf8.Valid(data) {
		return true
	}
	n := line(0)
	for l := range bytes.Lines(data) {
		n++
		for rest := l; len(rest) > 0; {
			c, size := utf8.DecodeRune(rest)
			if c == utf8.RuneError && size == 1 {
				r.add(n, "byte 0x%02X is not UTF-8; if this is Latin-1 or Windows-1252, save it as UTF-8", rest[0])
				break
			}
			rest = rest[size:]
		}
	}
	return false
}

func (r *report) fromUTF16(data []byte, order binary.ByteOrder) ([]byte, bool) {
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = order.Uint16(data[2*i:])
	}
	text := []byte(string(utf16.Decode(units)))
	if len(data)%2 != 0 {
		r.add(lineAt(text, len(text)), "UTF-16 that ends in the middle of a character")
		return text, false
	}
	if i := bytes.IndexRune(text, utf8.RuneError); i >= 0 {
		r.add(lineAt(text, i), "UTF-16 with half a character (U+FFFD or a lone surrogate)")
		return text, false
	}
	return text, true
}

// lineAt is the line of the byte at an offset.
func lineAt(text []byte, offset int) line {
	return line(1 + bytes.Count(text[:min(offset, len(text))], []byte("\n")))
}

func (d *draft) readJSON(text []byte) {
	if !json.Valid(text) {
		d.syntax(text)
		return
	}
	w := &walker{data: text, report: &d.report}
	if w.isPretix() {
		d.readPretix(w)
		return
	}
	d.readFoyer(w)
}

// syntax reports where text stops being JSON.
func (d *draft) syntax(text []byte) {
	var v json.RawMessage
	err := json.Unmarshal(text, &v)
	var bad *json.SyntaxError
	if !errors.As(err, &bad) {
		d.add(place("plan"), "not JSON: %v", err)
		return
	}
	at := max(int(bad.Offset)-1, 0)
	column := utf8.RuneCount(text[bytes.LastIndexByte(text[:at], '\n')+1:at]) + 1
	d.add(lineAt(text, at), "not JSON at character %d: %s", column, bad.Error())
}

// Notices tells what Parse ignores in a CSV document: columns that it has no use for. nil for the JSON forms
// and for what is no text.
func Notices(data []byte) []Problem {
	var r report
	text, ok := r.decode(data)
	if !ok || len(bytes.TrimSpace(text)) == 0 || isJSON(text) {
		return nil
	}
	var notices []Problem
	s := openSheet(text)
	for _, name := range s.header(&r) {
		notices = append(notices, Problem{s.line(0).String(), fmt.Sprintf("column %s is ignored", quote(name))})
	}
	return notices
}
