package outbox

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// maxReason is how much of a receiver's answer is kept, in bytes.
const maxReason = 500

// Clip makes text from outside fit for a row, a log line and a page: valid UTF-8, no control characters (they become
// spaces), at most 500 bytes, cut between characters.
func Clip(s string) string {
	if len(s) > 4*maxReason {
		s = s[:4*maxReason]
	}
	s = strings.Map(func(c rune) rune {
		if unicode.IsControl(c) || c == utf8.RuneError {
			return ' '
		}
		return c
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= maxReason {
		return s
	}
	cut := maxReason
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut]
}

// Unseen tells whether a character shows nothing of itself but may change how others are shown: controls, marks that turn
// the direction of writing and other formats, separators of lines, and what Unicode tells programs not to show
// (Unicode Technical Report 36; Default_Ignorable_Code_Point). The two joiners and the variation selectors are not among
// them: emoji, Persian and the scripts of India are written with them.
func Unseen(c rune) bool {
	const nonJoiner, joiner = 0x200c, 0x200d
	return c != nonJoiner && c != joiner && unicode.In(c, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point)
}

// Escape makes what is [Unseen] in a text of others visible, as JSON escapes it: "\u202e".
func Escape(s string) string {
	if !strings.ContainsFunc(s, Unseen) {
		return s
	}
	var b strings.Builder
	for _, c := range s {
		if !Unseen(c) {
			b.WriteRune(c)
			continue
		}
		for _, unit := range utf16.Encode([]rune{c}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}
