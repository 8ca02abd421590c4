package sale

import (
	"encoding/base32"
	"strings"
)

// crockford is base32 as people can read it out (Crockford), without padding.
var crockford = base32.NewEncoding("0123456789ABCDEFGHJKMNPQRSTVWXYZ").WithPadding(base32.NoPadding)

const letterGroup = 4

// writeLetters writes bytes, a multiple of five, in groups: "4X0K-9PQT-...".
func writeLetters(b []byte) string {
	plain := crockford.EncodeToString(b)
	var text strings.Builder
	for i := 0; i < len(plain); i += letterGroup {
		if i > 0 {
			text.WriteByte('-')
		}
		text.WriteString(plain[i:min(i+letterGroup, len(plain))])
	}
	return text.String()
}

// maxTyped is the longest text, in bytes, that is read as letters, with every gap
// that is forgiven.
const maxTyped = 200

// readLetters fills into with what somebody typed: in small letters, with or
// without dashes and blanks, O for 0, and I or L for 1. It reports false for any
// other letter, for fewer and for more of them.
func readLetters(text string, into []byte) bool {
	if len(text) > maxTyped {
		return false
	}
	plain := make([]byte, 0, maxTyped)
	for _, r := range strings.ToUpper(text) {
		switch {
		case strings.ContainsRune("-\u2010\u2011\u2012\u2013\u2014 \t\r\n\u00a0", r):
			continue
		case r == 'O':
			r = '0'
		case r == 'I', r == 'L':
			r = '1'
		}
		if r > 'Z' || len(plain) == crockford.EncodedLen(len(into)) {
			return false
		}
		plain = append(plain, byte(r))
	}
	if len(plain) != crockford.EncodedLen(len(into)) {
		return false
	}
	n, err := crockford.Decode(into, plain)
	return err == nil && n == len(into)
}
