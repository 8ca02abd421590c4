package cell_test

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"
	"unicode/utf8"

	"foyer/cell"
)

func TestWhatCouldBeAFormulaIsGuarded(t *testing.T) {
	for _, s := range []string{
		"=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\rx", "\nx", " =1", "\u00a0=1", "\u3000＝1", "＝1", "＋1", "－1", "＠x", "﹦1", `"=1`, `""=1`, "“=1", "„=1", "＇=1", "«=1",
		"\u200b=1", "\ufeff=1", "'", "'=1", "''", "'t Hof", "=cmd|' /C calc'!A0", ` " ＠x`,
	} {
		g := cell.Guard(s)
		if g != "'"+s {
			t.Errorf("Guard(%q) = %q", s, g)
		}
		if back := cell.Read(g); back != s {
			t.Errorf("Read(%q) = %q, want %q", g, back, s)
		}
	}
	for _, s := range []string{"", " ", `"`, "Ann", "3-4", "a=b", "é@x", "Ann-Kathrin", "1e3", "🎟", "שלום", "x\n=1"} {
		if g := cell.Guard(s); g != s {
			t.Errorf("Guard(%q) = %q, want it as it is", s, g)
		}
	}
	for _, s := range []string{"'t Hof", "'Ann", "Ann'"} { // never written by Guard
		if got := cell.Read(s); got != s {
			t.Errorf("Read(%q) = %q, want it as it is", s, got)
		}
	}
}

func FuzzTextComesBack(f *testing.F) {
	for _, s := range []string{"", "'", "''", "=1", "' =1", `"=1`, "O'Neil, \"Ann\"", "a\nb", "🎟️", "\u202eabc", "שלום", ";", "'t Hof", "\u00a0'＠"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if back := cell.Read(cell.Guard(s)); back != s {
			t.Fatalf("%q came back as %q", s, back)
		}
		if !utf8.ValidString(s) || strings.Contains(s, "\r") {
			return // refused before, and a break that encoding/csv reads as another
		}
		var b bytes.Buffer
		w := csv.NewWriter(&b)
		w.UseCRLF = true
		if err := w.Write([]string{"x", cell.Guard(s)}); err != nil {
			t.Fatal(err)
		}
		w.Flush()
		r, err := csv.NewReader(&b).Read()
		if err != nil || len(r) != 2 || cell.Read(r[1]) != s {
			t.Fatalf("%q came back as %q (%v)", s, r, err)
		}
	})
}
