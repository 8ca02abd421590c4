package seats

import (
	"slices"
	"strings"
	"testing"

	"foyer/cell"
)

func TestSheetsThatAreUnderstood(t *testing.T) {
	plain := "zone,row,seat,category\nStalls,A,1,K\nStalls,A,2,K\n"
	semicolons := strings.ReplaceAll(plain, ",", ";")
	tabs := strings.ReplaceAll(plain, ",", "\t")
	for name, doc := range map[string]string{
		"plain":                 plain,
		"no last line end":      strings.TrimSpace(plain),
		"CRLF":                  strings.ReplaceAll(plain, "\n", "\r\n"),
		"CR":                    strings.ReplaceAll(plain, "\n", "\r"),
		"semicolons":            semicolons,
		"tabs":                  tabs,
		"sep=;":                 "sep=;\n" + semicolons,
		"SEP=; CRLF":            "SEP=;\r\n" + strings.ReplaceAll(semicolons, "\n", "\r\n"),
		"sep=,":                 "sep=,\n" + plain,
		"quoted sep":            "\"sep=;\"\n" + semicolons,
		"sep=tab":               "sep=\t\n" + tabs,
		"BOM":                   "\ufeff" + plain,
		"double BOM":            "\ufeff\ufeff" + plain,
		"BOM and sep":           "\ufeffsep=;\n" + semicolons,
		"UTF-16 LE":             utf16Text("\ufeff"+tabs, false),
		"UTF-16 BE":             utf16Text("\ufeff"+semicolons, true),
		"UTF-16 double BOM":     utf16Text("\ufeff\ufeff"+plain, false),
		"header blanks, case":   strings.Replace(plain, "zone,row,seat,category", " Zone ,\tROW, Seat\u00a0,CATEGORY ", 1),
		"header invisible":      strings.Replace(plain, "row", "\u200bro\u00adw\ufeff", 1),
		"quoted header":         strings.Replace(plain, "zone,row", `"zone","row"`, 1),
		"other order":           "category,seat,zone,row\nK,1,Stalls,A\nK,2,Stalls,A\n",
		"extra columns":         "price,zone,row,seat,category,note\n3,Stalls,A,1,K,\"a\r\nb, c\"\n4,Stalls,A,2,K,\n",
		"extra without a name":  "zone,row,seat,category,,\nStalls,A,1,K,,\nStalls,A,2,K,,\n",
		"blank lines":           "\n\n" + strings.ReplaceAll(plain, "\n", "\n\n ,,, \n"),
		"blank values around":   "zone,row,seat,category\n Stalls , A, 1 ,K\n\"Stalls \",A,2,\" K\"\n",
		"short records":         "zone,row,seat,category,id,x,y\nStalls,A,1,K\nStalls,A,2,K,\n",
		"too many empty values": "zone,row,seat,category\nStalls,A,1,K,,\nStalls,A,2,K, ,\n",
		"ids":                   "id,zone,row,seat,category\nA-1,Stalls,A,1,K\n A-2 ,Stalls,A,2,K\n",
	} {
		p, err := Parse([]byte(doc))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if p.Len() != 2 || p.Seat(1).ID != "A-2" || p.Label(1) != "Stalls, row A, seat 2" || p.Seat(1).Category != "K" {
			t.Errorf("%s: %s", name, p.JSON())
		}
	}
}

func TestBadSheetsAreRefusedWithTheirLine(t *testing.T) {
	head := "zone,row,seat,category\n"
	full := "zone,row,seat,category,id,x,y,accessible,companion\n"
	for _, c := range []struct {
		name, doc string
		want      []string
	}{
		{"header alone", head, []string{"plan: there are no seats"}},
		{"column missing", "zone,seat,category\nS,1,K\n", []string{"line 1: column row is missing; the header needs zone, row, seat, category"}},
		{"two missing", "zone,category\nS,K\n", []string{"line 1: column row is missing; the header needs zone, row, seat, category", "line 1: column seat is missing; the header needs zone, row, seat, category"}},
		{"column twice", "zone,row,seat,category, ROW \nS,A,1,K,A\n", []string{"line 1: column row is there twice"}},
		{"missing after sep", "sep=;\nzone;row;seat\n", []string{"line 2: column category is missing; the header needs zone, row, seat, category"}},
		{"values missing", head + "S,A,1,K\n,A,,K\nS,A\n", []string{"line 3: zone is missing", "line 3: seat is missing", "line 4: seat is missing", "line 4: category is missing"}},
		{"physical lines", "zone,row,seat,category,note\nS,A,1,K,\"a\nb\nc\"\n\nS,A,,K,\n", []string{"line 6: seat is missing"}},
		{"line of the value", "note,zone,row,seat,category\n\"a\nb\",S,A,1," + strings.Repeat("k", 101) + "\n", []string{"line 3: category \"" + strings.Repeat("k", 40) + "\"... is 101 characters long, at most 100 are allowed"}},
		{"too many values", head + "S,A,1,K,x\n", []string{"line 2: there are more values than columns; does one hold an unquoted separator?"}},
		{"bare quote", head + "S,A\"B,1,K\nS,A,1,\n", []string{`line 2: not CSV: bare " in non-quoted-field`, "line 3: category is missing"}},
		{"open quote", head + "S,A,1,K\n\"S,A,2,K\nS,A,3,K\n", []string{`line 3: not CSV: extraneous or missing " in quoted-field`}},
		{"Latin-1", head + "S,A,1,K\nS\xe4le,A,2,K\nS,A,3,\xfc\n", []string{
			"line 3: byte 0xE4 is not UTF-8; if this is Latin-1 or Windows-1252, save it as UTF-8", "line 4: byte 0xFC is not UTF-8; if this is Latin-1 or Windows-1252, save it as UTF-8"}},
		{"UTF-16 without a mark", utf16Text(head+"S,A,1,K\n", false), []string{"line 1: a NUL byte; if the file is UTF-16 it needs a byte order mark"}},
		{"UTF-16 cut", utf16Text("\ufeff"+head+"S,A,1,K", false) + "x", []string{"line 2: UTF-16 that ends in the middle of a character"}},
		{"UTF-16 lone surrogate", utf16Text("\ufeff"+head, false) + "\x00\xd8", []string{"line 2: UTF-16 with half a character (U+FFFD or a lone surrogate)"}},
		{"control character", head + "S\u202e,A,1,K\n", []string{`line 2: zone "S\u202e" contains the control character U+202E`}},
		{"line break in an id", full + "S,A,1,K,\"a\nb\"\n", []string{`line 2: id "a\nb" contains the control character U+000A`}},
		{"flags", full + "S,A,1,K,a,,,maybe,2\n", []string{`line 2: accessible "maybe" is neither true nor false`, `line 2: companion "2" is neither true nor false`}},
		{"numbers", full + "S,A,1,K,a,one,1e999\n", []string{`line 2: x "one" is not a number in range`, `line 2: y "1e999" is not a number in range`}},
		{"not finite", full + "S,A,1,K,a,NaN,0\nS,A,2,K,b,0,Inf\n", []string{`line 2: x "NaN" is not a number in range`, "line 3: is farther out than 1000000"}},
		{"some coordinates", full + "S,A,1,K,a,1,1\nS,A,2,K,b,,\nS,A,3,K,c,,\n", []string{"line 3: has no x and y, like 2 of the 3 seats; give them to all seats or to none"}},
		{"half coordinates", full + "S,A,1,K,a,1,\n", []string{"line 2: has only one of x and y"}},
		{"seat twice", head + "S,A,1,K\nS,A,1,K\n", []string{`line 3: seat id "S-A-1" is taken by line 2`}},
		{"derived id too long", head + "S," + strings.Repeat("a", 64) + ",1,K\n", []string{`line 2: has no id, and "` + strings.Repeat("a", 40) + `"... is 66 characters long, at most 64 are allowed`}},
	} {
		if got := problems(t, c.doc); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}
}

func TestMissingIDsAreAsShortAsTheyCanBe(t *testing.T) {
	for _, c := range []struct {
		name, doc string
		want      []string
	}{
		{"unique", "zone,row,seat,category\nS,A,1,K\nB,B,1,K\n", []string{"A-1", "B-1"}},
		{"both rows A", "zone,row,seat,category\nS,A,1,K\nS,A,2,K\nB,A,1,K\n", []string{"S-A-1", "A-2", "B-A-1"}},
		{"one given", "zone,row,seat,category,id\nS,A,1,K,A-2\nS,A,2,K,\nS,A,3,K,\n", []string{"A-2", "S-A-2", "A-3"}},
		{"given elsewhere", "zone,row,seat,category,id\nS,A,1,K,x\nB,A,1,K,\n", []string{"x", "A-1"}},
	} {
		p := mustParse(t, c.doc)
		var got []string
		for i := range p.Len() {
			got = append(got, p.Seat(i).ID)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestSheetIsGroupedByFirstAppearance(t *testing.T) {
	p := mustParse(t, "zone,row,seat,category\nS,B,1,K\nT,A,1,K\nS,A,1,K\nS,B,2,K\nT,A,2,K\n")
	var got []string
	for i := range p.Len() {
		zone, row := p.Place(i)
		got = append(got, zone+row+p.Seat(i).Number)
	}
	if want := []string{"SB1", "SB2", "SA1", "TA1", "TA2"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSheetValuesAreRead(t *testing.T) {
	p := mustParse(t, "zone;row;seat;category;x;y;accessible;companion\n\"Upper\r\nCircle\";A;1;K;10,5;-3;TRUE;No\nx;B;1;K;1e1;.5;0;1\n")
	if s := p.Seat(0); p.Label(0) != "Upper Circle, row A, seat 1" || s.X != 10.5 || s.Y != -3 || !s.Accessible || s.Companion {
		t.Errorf("got %q %+v", p.Label(0), s)
	}
	if s := p.Seat(1); s.X != 10 || s.Y != 0.5 || s.Accessible || !s.Companion {
		t.Errorf("got %+v", s)
	}
}

// What Foyer writes into a sheet is guarded against being a formula (package cell), and read back as it was.
func TestGuardedCellsAreReadBack(t *testing.T) {
	names := []string{"=A1", "+1", "-2", "@home", "'t Hof", "'=x", "＝1", `"=1`, "Stalls"}
	doc := "zone,row,seat,category,x,y\n"
	for _, n := range names {
		q := `"` + strings.ReplaceAll(cell.Guard(n), `"`, `""`) + `"`
		doc += q + "," + q + "," + q + "," + q + ",'-3,-4\n"
	}
	p := mustParse(t, doc)
	for i, n := range names {
		zone, row := p.Place(i)
		if s := p.Seat(i); zone != n || row != n || s.Number != n || s.Category != n || s.X != -3 || s.Y != -4 {
			t.Errorf("%q came back as %q, %q, %+v", n, zone, row, s)
		}
	}
	if p := mustParse(t, "zone,row,seat,category\n't Hof,A,1,K\n"); p.Label(0) != "'t Hof, row A, seat 1" {
		t.Errorf("a name with an apostrophe came out as %q", p.Label(0))
	}
}

func TestIgnoredColumnsAreNoticed(t *testing.T) {
	got := Notices([]byte("sep=;\nprice;zone;row;seat;category;;Row note \n"))
	want := []Problem{{"line 2", `column "price" is ignored`}, {"line 2", `column "row note" is ignored`}}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, doc := range []string{"", "\xff", "\n", "{}", readTestdata(t, "hall.csv"), readTestdata(t, "hall.pretix.json")} {
		if got := Notices([]byte(doc)); got != nil {
			t.Errorf("Notices(%.20q) = %q, want none", doc, got)
		}
	}
}
