package tickets

import (
	"fmt"

	"rsc.io/qr"
)

// PNG draws text as a QR code, error correction M, with its border of 4
// modules; a module is 8 pixels. It is for places that take no SVG, such as
// mails. Text of more than 2,331 bytes does not fit and is refused.
func PNG(text string) ([]byte, error) {
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		return nil, fmt.Errorf("tickets: QR code: %w", err)
	}
	return code.PNG(), nil
}
