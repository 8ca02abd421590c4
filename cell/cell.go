// Package cell makes texts of strangers harmless in the cells of a spreadsheet,
// and reads them back. A program that opens a CSV file takes a cell that begins
// with = + - or @ for a formula, whether it is quoted or not, and may run it
// (CWE-1236). It knows nothing of CSV itself: quoting is encoding/csv's.
package cell

import (
	"strings"
	"unicode"
)

// Guard gives s as it is to be written: with an apostrophe in front when it
// could be taken for a formula, or begins with an apostrophe already. [Read] is
// its inverse.
func Guard(s string) string {
	if guarded(s) {
		return "'" + s
	}
	return s
}

// Read gives the text that a cell was written for. Cells that [Guard] never
// writes, such as 't Hof with its one apostrophe, stay as they are.
func Read(s string) string {
	if rest, ok := strings.CutPrefix(s, "'"); ok && guarded(rest) {
		return rest
	}
	return s
}

// guarded tells whether Guard changes s: what comes first in it, past what
// spreadsheets drop or people type around a value, is a sign that begins a
// formula, in its plain, full-width or small form, or a break.
func guarded(s string) bool {
	if strings.HasPrefix(s, "'") {
		return true
	}
	for _, r := range s {
		switch {
		case strings.ContainsRune("=+-@\t\r\n＝＋－＠﹦﹢﹣﹫", r):
			return true
		case unicode.IsSpace(r), unicode.Is(unicode.Cf, r), unicode.In(r, unicode.Pi, unicode.Pf), strings.ContainsRune("\"'`＂＇„‚", r):
		default:
			return false
		}
	}
	return false
}
