package outbox

import (
	"encoding/json"
	"testing"
)

func TestWhatIsNotSeenIsEscapedAsInJSON(t *testing.T) {
	for in, want := range map[string]string{
		"":                          "",
		"👩\u200d👩\u200d👧 ❤\ufe0f":   "👩\u200d👩\u200d👧 ❤\ufe0f",
		"Grüße, 東京 – ok":            "Grüße, 東京 – ok",
		"pay\u202ecod.exe":          `pay\u202ecod.exe`,
		"\u2066a\u2069\u200e\u200f": `\u2066a\u2069\u200e\u200f`,
		"a\u200bb\ufeff\u00adc":     `a\u200bb\ufeff\u00adc`,
		"line\u2028\u2029":          `line\u2028\u2029`,
		"\x1b[31m\x7f\u009b\n":      `\u001b[31m\u007f\u009b\u000a`,
		"\u3164\u061c":              `\u3164\u061c`,
		"tag\U000e0041":             `tag\udb40\udc41`,
	} {
		got := Escape(in)
		if got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
		var back string
		if err := json.Unmarshal([]byte(`"`+got+`"`), &back); err != nil || back != in {
			t.Errorf("%s is read as %q, %v", got, back, err)
		}
	}
}

func TestAnswerThatTurnsTheWritingIsShownEscaped(t *testing.T) {
	if f := failureOf(&Failure{Reason: "500: \x1b[2J\u202etxt"}); f.Reason != `500: [2J\u202etxt` {
		t.Errorf("got %q", f.Reason)
	}
}
