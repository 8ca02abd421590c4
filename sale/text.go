package sale

import (
	"unicode"
	"unicode/utf8"
)

// plainText tells whether s is valid UTF-8 without control characters and
// without marks that turn the direction of writing, which could make a name
// show as something else (Unicode Technical Report 36).
func plainText(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == utf8.RuneError {
			return false
		}
	}
	return true
}

// checkText tells what is wrong with a text for people, or "".
func checkText(field, s string, min, max int) string {
	switch n := utf8.RuneCountInString(s); {
	case n < min:
		return field + " is missing."
	case n > max:
		return field + " is too long."
	case !plainText(s):
		return field + " has control characters or is no valid UTF-8."
	}
	return ""
}
