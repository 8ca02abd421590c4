package seats

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

// foyer is a document with one row of these seats.
func foyer(seats ...string) string {
	return `{"name":"H","categories":[{"name":"K","color":"#102030"}],"zones":[{"name":"S","rows":[{"name":"A","seats":[` + strings.Join(seats, ",") + `]}]}]}`
}

func pretix(seats ...string) string {
	return `{"name":"H","categories":[{"name":"K","color":"red"}],"zones":[{"name":"S","position":{"x":100,"y":50},"rows":[` +
		`{"row_number":"A","position":{"x":10,"y":5},"seats":[` + strings.Join(seats, ",") + `]}]}]}`
}

const good = `{"id":"A-1","number":"1","category":"K"}`

func TestBadDocumentsAreRefusedWithTheirPlace(t *testing.T) {
	at := "zones[0].rows[0].seats[0]"
	for _, c := range []struct{ name, doc, want string }{
		{"nothing", "", "plan: the document is empty"},
		{"blanks", " \n ", "plan: the document is empty"},
		{"only a BOM", "\ufeff", "plan: the document is empty"},
		{"a spreadsheet", "PK\x03\x04...", "plan: this is a zip archive or a spreadsheet; save the sheet as CSV (UTF-8)"},
		{"no object", "[]", "plan: must be an object, not a list"},
		{"no zones", "{}", "zones: is missing"},
		{"no seats", `{"zones":[]}`, "plan: there are no seats"},
		{"empty rows", `{"zones":[{"name":"S","rows":[{"name":"A","seats":[]}]}]}`, "plan: there are no seats"},
		{"null zones", `{"zones":null}`, "zones: must be a list, not null"},
		{"null zone", `{"zones":[null]}`, "zones[0]: must be an object, not null"},
		{"zones of text", `{"zones":"S"}`, "zones: must be a list, not text"},
		{"syntax", "{\n\"name\": \"H\",\n\"zones\": nix}", "line 3: not JSON at character 11: invalid character 'i' in literal null (expecting 'u')"},
		{"cut off", `{"zones":[`, "line 1: not JSON at character 10: unexpected end of JSON input"},
		{"two documents", foyer(good) + "{}", "line 1: not JSON at character 155: invalid character '{' after top-level value"},
		{"NaN", foyer(`{"id":"A-1","number":"1","category":"K","x":NaN,"y":0}`), "line 1: not JSON at character 153: invalid character 'N' looking for beginning of value"},
		{"unknown field", foyer(`{"id":"A-1","number":"1","category":"K","seat":1}`), at + ".seat: is not a field of a plan"},
		{"unknown field on top", strings.Replace(foyer(good), "{", `{"extra":{"a":[1,{"b":"}"}]},`, 1), "extra: is not a field of a plan"},
		{"unknown strange field", strings.Replace(foyer(good), "{", `{"a\u0000\"":1,`, 1), `"a\x00\"": is not a field of a plan`},
		{"other case", foyer(`{"ID":"A-1","id":"A-1","number":"1","category":"K"}`), at + ".ID: is not a field of a plan"},
		{"field twice", foyer(`{"id":"A-1","id":"A-2","number":"1","category":"K"}`), at + ".id: is given twice"},
		{"field twice, once escaped", foyer(`{"id":"A-1","\u0069d":"A-2","number":"1","category":"K"}`), at + ".id: is given twice"},
		{"no id", foyer(`{"number":"1","category":"K"}`), at + ".id: is missing"},
		{"empty id", foyer(`{"id":" ","number":"1","category":"K"}`), at + ".id: is empty"},
		{"null id", foyer(`{"id":null,"number":"1","category":"K"}`), at + ".id: must be text, not null"},
		{"number as number", foyer(`{"id":"A-1","number":1,"category":"K"}`), at + ".number: must be text, not a number"},
		{"flag as text", foyer(`{"id":"A-1","number":"1","category":"K","accessible":"yes"}`), at + ".accessible: must be true or false, not text"},
		{"flag null", foyer(`{"id":"A-1","number":"1","category":"K","companion":null}`), at + ".companion: must be true or false, not null"},
		{"x as text", foyer(`{"id":"A-1","number":"1","category":"K","x":"1","y":1}`), at + ".x: must be a number, not text"},
		{"x too large to read", foyer(`{"id":"A-1","number":"1","category":"K","x":1e999,"y":0}`), at + `.x: "1e999" is too large a number`},
		{"x too far out", foyer(`{"id":"A-1","number":"1","category":"K","x":0,"y":-1000000.5}`), at + ": is farther out than 1000000"},
		{"x alone", foyer(`{"id":"A-1","number":"1","category":"K","x":1}`), at + ": has only one of x and y"},
		{"some coordinates", foyer(`{"id":"A-1","number":"1","category":"K","x":1,"y":1}`, `{"id":"A-2","number":"2","category":"K"}`),
			"zones[0].rows[0].seats[1]: has no x and y, like 1 of the 2 seats; give them to all seats or to none"},
		{"unlisted category", foyer(`{"id":"A-1","number":"1","category":"k"}`), at + `: category "k" is not in the plan's list`},
		{"category twice", strings.Replace(foyer(good), `[{"name":"K"`, `[{"name":"K "},{"name":"K"`, 1), `categories[1]: category "K" is listed twice`},
		{"category without a name", strings.Replace(foyer(good), `[{"name":"K"`, `[{"color":"#fff"},{"name":"K"`, 1), "categories[0].name: is missing"},
		{"colour by name", strings.Replace(foyer(good), "#102030", "red", 1), `categories[0].color: "red" is not a colour like #7a1f2b`},
		{"colour with more", strings.Replace(foyer(good), "#102030", "#102030;x", 1), `categories[0].color: "#102030;x" is not a colour like #7a1f2b`},
		{"id twice", foyer(good, good), `zones[0].rows[0].seats[1]: seat id "A-1" is taken by zones[0].rows[0].seats[0]`},
		{"long id", foyer(`{"id":"` + strings.Repeat("é", 65) + `","number":"1","category":"K"}`), at + `.id: "` + strings.Repeat("é", 40) + `"... is 65 characters long, at most 64 are allowed`},
		{"long name", strings.Replace(foyer(good), `"H"`, `"`+strings.Repeat("a", 101)+`"`, 1), `name: "` + strings.Repeat("a", 40) + `"... is 101 characters long, at most 100 are allowed`},
		{"lone surrogate", foyer(`{"id":"A\ud800","number":"1","category":"K"}`), at + `.id: "A�" contains U+FFFD, the trace of a broken encoding`},
		{"not UTF-8", strings.Replace(foyer(good), `"H"`, "\n\"S\xe4le\"", 1), "line 2: byte 0xE4 is not UTF-8; if this is Latin-1 or Windows-1252, save it as UTF-8"},
		{"pretix without guid", pretix(`{"seat_number":"1","category":"K","position":{"x":0,"y":0}}`), at + ".seat_guid: is missing"},
		{"pretix guid as number", pretix(`{"seat_guid":1,"seat_number":"1","category":"K","position":{"x":0,"y":0}}`), at + ".seat_guid: must be text, not a number"},
		{"pretix guid twice", pretix(`{"seat_guid":"a","seat_number":"1","category":"K"}`, `{"seat_guid":"a","seat_number":"2","category":"K"}`),
			`zones[0].rows[0].seats[1]: seat id "a" is taken by zones[0].rows[0].seats[0]`},
		{"pretix unlisted category", pretix(`{"seat_guid":"a","seat_number":"1","category":"Q"}`), at + `: category "Q" is not in the plan's list`},
		{"pretix half a position", pretix(`{"seat_guid":"a","seat_number":"1","category":"K","position":{"x":0}}`), at + ".position.y: is missing"},
		{"pretix sum too far out", pretix(`{"seat_guid":"a","seat_number":"1","category":"K","position":{"x":999891,"y":0}}`), at + ": is farther out than 1000000"},
		{"pretix huge sum", pretix(`{"seat_guid":"a","seat_number":"1","category":"K","position":{"x":1.7e308,"y":-1.7e308}}`), at + ": is farther out than 1000000"},
	} {
		if got := problems(t, c.doc); !slices.Contains(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		} else if len(got) > 1 {
			t.Errorf("%s: more than one problem: %q", c.name, got)
		}
	}
}

func TestControlCharactersAreRefusedEverywhere(t *testing.T) {
	base := foyer(good)
	for _, field := range []string{`"H"`, `"K"`, `"S"`, `"A"`, `"A-1"`, `"1"`} {
		for _, c := range []rune{0, 1, '\n', 0x1f, 0x7f, 0x80, 0x9f, 0x2028, 0x202a, 0x202e, 0x2066, 0x2069} {
			doc := strings.Replace(base, field, fmt.Sprintf(`"a\u%04xb"`, c), 1)
			want := fmt.Sprintf("contains the control character U+%04X", c)
			if got := problems(t, doc); !strings.Contains(got[0], want) {
				t.Errorf("%s with U+%04X: %q, want %q", field, c, got, want)
			}
		}
	}
}

func TestHarmlessTextIsKeptByteByByte(t *testing.T) {
	for _, s := range []string{"👩‍👩‍👧", "e\u0301", "\u00e9", "座席", "O'Neill & \"<b>\"", "a\u200bb", "A  B", strings.Repeat("座", 64)} {
		q, _ := json.Marshal(s)
		p := mustParse(t, foyer(`{"id":`+string(q)+`,"number":`+string(q)+`,"category":"K"}`))
		if got := p.Seat(0); got.ID != s || got.Number != s {
			t.Errorf("got %q, %q, want %q", got.ID, got.Number, s)
		}
		if _, ok := p.Index(s); !ok {
			t.Errorf("%q is not found", s)
		}
	}
}

func TestBlanksAroundValuesAreDropped(t *testing.T) {
	p := mustParse(t, `{"name":" H\n","categories":[{"name":" K"}],"zones":[{"name":"S ","rows":[{"name":"\tA","seats":[{"id":" A-1\u00a0","number":" 1 ","category":"K "}]}]}]}`)
	if s := p.Seat(0); p.Name != "H" || p.Label(0) != "S, row A, seat 1" || s.ID != "A-1" || s.Category != "K" {
		t.Errorf("got %q %q %+v", p.Name, p.Label(0), s)
	}
}

func TestEveryProblemIsReportedUpToAHundred(t *testing.T) {
	three := problems(t, foyer(`{"id":"","number":1,"category":"Q","x":1}`))
	if len(three) != 4 {
		t.Errorf("got %d problems, want 4: %q", len(three), three)
	}
	for _, c := range []struct {
		seats, want int
		last        string
	}{
		{100, 100, "zones[0].rows[0].seats[99].id: is missing"},
		{101, 100, "plan: 2 more problems are not listed"},
		{500, 100, "plan: 401 more problems are not listed"},
	} {
		got := problems(t, foyer(slices.Repeat([]string{`{"number":"1","category":"K"}`}, c.seats)...))
		if len(got) != c.want || got[len(got)-1] != c.last {
			t.Errorf("%d bad seats: %d problems, the last %q; want %d, %q", c.seats, len(got), got[len(got)-1], c.want, c.last)
		}
	}
}

func TestAllDuplicateIDsAreListed(t *testing.T) {
	got := problems(t, "zone,row,seat,category,id\nS,A,1,K,a\nS,A,2,K,b\nS,A,3,K,a\nS,A,4,K,b\nS,A,5,K,a\n")
	want := []string{`line 4: seat id "a" is taken by line 2`, `line 5: seat id "b" is taken by line 3`, `line 6: seat id "a" is taken by line 2`}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestErrorIsAShortSentence(t *testing.T) {
	_, err := Parse([]byte(`{}`))
	if want := "seats: bad plan: zones: is missing"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	_, err = Parse([]byte(`{"zones":null,"x":1}`))
	if want := "seats: bad plan, 2 problems, the first: zones: must be a list, not null"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}

func TestHugeAndDeepDocumentsAreRefused(t *testing.T) {
	deep := strings.Repeat("[", 1<<20)
	zones := strings.Repeat(`{"name":"S","rows":[{"name":"A","seats":[{"number":"1"}]}]},`, maxZones+5)
	for _, c := range []struct{ name, doc, want string }{
		{"deep", `{"zones":` + deep, "exceeded max depth"},
		{"deep and whole", `{"zones":` + deep[:9000] + strings.Repeat("]", 9000) + "}", "zones[0]: must be an object, not a list"},
		{"more than 32 MiB", strings.Repeat(" ", maxBytes+1), "the document is larger than 32 MiB"},
		{"3 MiB of empty objects", `{"zones":[` + strings.Repeat("{},", maxBytes/30) + `{}]}`, "zones[0].name: is missing"},
		{"3 MiB of seats", foyer(strings.Repeat("{},", maxBytes/30) + "{}"), "zones[0].rows[0].seats[0].id: is missing"},
		{"zones", `{"zones":[` + strings.TrimSuffix(zones, ",") + `]}`, "more problems are not listed"},
	} {
		if got := problems(t, c.doc); !strings.Contains(strings.Join(got, "\n"), c.want) {
			t.Errorf("%s: %.300q, want %q", c.name, got, c.want)
		}
	}
}

func TestLimitsAreInclusive(t *testing.T) {
	if p := mustParse(t, csvHall(10, 100, 100)); p.Len() != maxSeats {
		t.Errorf("%d seats, want %d", p.Len(), maxSeats)
	}
	if got := problems(t, csvHall(10, 100, 100)+"Z,1,1,Seat\n"); len(got) != 1 || !strings.HasPrefix(got[0], "line 100002: the plan has more than 100000 seats") {
		t.Errorf("one seat too many: %q", got)
	}
	if p := mustParse(t, csvHall(maxZones, 1, 1)); len(p.Zones) != maxZones {
		t.Errorf("%d zones, want %d", len(p.Zones), maxZones)
	}
	if got := problems(t, csvHall(maxZones+3, 1, 1)); len(got) != 1 || got[0] != "line 1002: the plan has more than 1000 zones" {
		t.Errorf("three zones too many: %q", got)
	}
	edge := `{"id":"A-1","number":"1","category":"K","x":1e6,"y":-1000000}`
	if s := mustParse(t, foyer(edge)).Seat(0); s.X != 1e6 || s.Y != -1e6 {
		t.Errorf("got %v, %v", s.X, s.Y)
	}
}

func TestPlanThatGrowsPastTheLimitIsRefused(t *testing.T) {
	var b strings.Builder
	b.WriteString("zone,row,seat,category,id\n")
	pad := strings.Repeat("座", 80)
	for i := range maxSeats {
		fmt.Fprintf(&b, "S,A,%s%d,K,%d\n", pad, i, i)
	}
	if got := problems(t, b.String()); got[0] != "plan: in Foyer's own form it is larger than 32 MiB" {
		t.Errorf("got %q", got)
	}
}

func TestCategoriesAreCollectedAndColoured(t *testing.T) {
	doc := `{"zones":[{"name":"S","rows":[{"name":"A","seats":[{"id":"1","number":"1","category":"K"},{"id":"2","number":"2","category":"L"},{"id":"3","number":"3","category":"K"}]}]}]}`
	p := mustParse(t, doc)
	if want := []Category{{"K", palette[0]}, {"L", palette[1]}}; !slices.Equal(p.Categories, want) {
		t.Errorf("got %v, want %v", p.Categories, want)
	}
	p = mustParse(t, strings.Replace(doc, "{", `{"categories":[{"name":"K"},{"name":"L","color":"#0072B2"},{"name":"M","color":"#abc"},{"name":"N","color":""}],`, 1))
	if want := []Category{{"K", palette[1]}, {"L", "#0072B2"}, {"M", "#aabbcc"}, {"N", palette[2]}}; !slices.Equal(p.Categories, want) {
		t.Errorf("got %v, want %v", p.Categories, want)
	}
}

func TestPretixPositionsAreSummedAndGapsFilled(t *testing.T) {
	p := mustParse(t, readTestdata(t, "hall.pretix.json"))
	want := map[string][2]float64{"A-1": {112.5, 80}, "A-2": {137.5, 80.1}, "B-4": {175, 110}, "R-1": {125, 200}}
	for id, w := range want {
		i, _ := p.Index(id)
		if s := p.Seat(i); s.X != w[0] || s.Y != w[1] {
			t.Errorf("%s at %v, %v; want %v", id, s.X, s.Y, w)
		}
	}
	if c := p.Categories[1]; c != (Category{"Balcony", palette[0]}) {
		t.Errorf("a colour by name became %v", c)
	}
	p = mustParse(t, `{"name":"H","categories":[{"name":"K"}],"zones":[
		{"rows":[{"seats":[{"seat_guid":"a","seat_number":"1","category":"K"}]}]},
		{"name":"","zone_id":"left","rows":[{"row_number":"","seats":[{"seat_guid":"b","seat_number":"1","category":"K"}]}]},
		{"name":"left","rows":[{"row_number":"1","seats":[{"seat_guid":"c","seat_number":"1","category":"K"}]}]}]}`)
	for i, want := range []string{"Zone 1, row 1, seat 1", "left, row 1, seat 1", "left, row 1, seat 1"} {
		if got := p.Label(i); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestJSONInUTF16OrWithBOMIsRead(t *testing.T) {
	doc := foyer(good)
	want := mustParse(t, doc).Version()
	for _, d := range []string{"\ufeff" + doc, "\ufeff\ufeff" + doc, utf16Text("\ufeff"+doc, false), utf16Text("\ufeff\ufeff"+doc, true)} {
		if got := mustParse(t, d).Version(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func utf16Text(s string, bigEndian bool) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		if bigEndian {
			b = append(b, byte(u>>8), byte(u))
		} else {
			b = append(b, byte(u), byte(u>>8))
		}
	}
	return string(b)
}
