package tickets

import (
	"fmt"
	"html"
	"strconv"
	"strings"

	"rsc.io/qr"
)

// quiet is the empty border that scanners need: 4 modules (ISO/IEC 18004).
const quiet = 4

// QR draws text as a QR code, error correction M: an inline SVG of one path with
// a label for those who cannot see it, a module is one unit. It has no style, so that a strict Content-Security-Policy
// lets it through. Text of more than 2,331 bytes does not fit and is refused.
func QR(text, label string) (svg string, err error) {
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		return "", fmt.Errorf("tickets: QR code: %w", err)
	}
	side := strconv.Itoa(code.Size + 2*quiet)
	var b strings.Builder
	b.WriteString(`<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="` + html.EscapeString(label) + `" viewBox="0 0 ` + side + ` ` + side +
		`" shape-rendering="crispEdges"><rect width="` + side + `" height="` + side + `" fill="#fff"/><path fill="#000" d="`)
	for y := range code.Size {
		for x := 0; x < code.Size; x++ {
			run := 0
			for x+run < code.Size && code.Black(x+run, y) {
				run++
			}
			if run > 0 {
				fmt.Fprintf(&b, "M%d %dh%dv1h-%dz", x+quiet, y+quiet, run, run)
				x += run
			}
		}
	}
	b.WriteString(`"/></svg>`)
	return b.String(), nil
}
