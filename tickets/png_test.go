package tickets

import (
	"bytes"
	"image/png"
	"strings"
	"testing"

	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/qrcode"
)

func TestThePNGIsReadByAScanner(t *testing.T) {
	text := strings.Repeat("ABCDEFGH234567", 4)[:52]
	picture, err := PNG(text)
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	bits, err := gozxing.NewBinaryBitmapFromImage(img)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := qrcode.NewQRCodeReader().Decode(bits, nil); err != nil || got.GetText() != text {
		t.Errorf("read %v, %v", got, err)
	}
	if _, err := PNG(strings.Repeat("x", 3000)); err == nil {
		t.Error("3,000 bytes fit into a QR code")
	}
}
