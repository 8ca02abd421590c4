package tickets

import (
	"image"
	"image/color"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/qrcode"
)

var (
	viewBox = regexp.MustCompile(`viewBox="0 0 (\d+) (\d+)"`)
	bars    = regexp.MustCompile(`M(\d+) (\d+)h(\d+)v1h-(\d+)z`)
)

// paint draws the SVG as a picture of 4 pixels a module.
func paint(t *testing.T, svg string) image.Image {
	t.Helper()
	m := viewBox.FindStringSubmatch(svg)
	if m == nil {
		t.Fatalf("no viewBox in %s", svg)
	}
	const scale = 4
	side, _ := strconv.Atoi(m[1]) // digits by the pattern
	img := image.NewGray(image.Rect(0, 0, side*scale, side*scale))
	for i := range img.Pix {
		img.Pix[i] = 255
	}
	for _, b := range bars.FindAllStringSubmatch(svg, -1) {
		x, _ := strconv.Atoi(b[1])
		y, _ := strconv.Atoi(b[2])
		w, _ := strconv.Atoi(b[3])
		if x < quiet || y < quiet || x+w > side-quiet || b[3] != b[4] {
			t.Fatalf("bar %v reaches into the quiet zone of a code of %d", b[0], side)
		}
		for py := y * scale; py < (y+1)*scale; py++ {
			for px := x * scale; px < (x+w)*scale; px++ {
				img.SetGray(px, py, color.Gray{})
			}
		}
	}
	return img
}

func TestQRCodeIsReadByAScanner(t *testing.T) {
	for _, text := range []string{"A", strings.Repeat("ABCDEFGH234567", 12)[:160], "https://example.org/t/" + strings.Repeat("x", 300), "Käse & <b>"} {
		svg, err := QR(text, `"A" & B`)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(svg, "style") || strings.Count(svg, "<path") != 1 || !strings.Contains(svg, `role="img" aria-label="&#34;A&#34; &amp; B"`) || strings.Contains(svg, text+"<") {
			t.Errorf("not a plain drawing: %.200s", svg)
		}
		bits, err := gozxing.NewBinaryBitmapFromImage(paint(t, svg))
		if err != nil {
			t.Fatal(err)
		}
		got, err := qrcode.NewQRCodeReader().Decode(bits, nil)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if got.GetText() != text {
			t.Errorf("read %q, want %q", got.GetText(), text)
		}
	}
}

func TestTextTooLongForQRIsRefused(t *testing.T) {
	if _, err := QR(strings.Repeat("x", 3000), ""); err == nil {
		t.Error("3,000 bytes fit into a QR code")
	}
}
