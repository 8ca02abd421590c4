package seats

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// walker steps through a JSON document and knows where it is, which encoding/json does not tell: it reports
// a wrong type, an unknown, repeated or missing field with the path, goes on, and so finds every problem in
// one pass. The document must have passed json.Valid; the walker itself checks no syntax.
type walker struct {
	data   []byte
	at     int
	path   []step
	strict bool // unknown fields are problems
	report *report
}

// step is a field, or an element when name is empty.
type step struct {
	name  string
	index int
}

// shape is the fields of an object, at most 32; the first required ones must be there.
type shape struct {
	required int
	fields   []string
}

// String is the path of the value that the walker stands at.
func (w *walker) String() string {
	var b strings.Builder
	for _, s := range w.path {
		switch {
		case s.name == "":
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		case b.Len() > 0:
			b.WriteString("." + s.name)
		default:
			b.WriteString(s.name)
		}
	}
	if b.Len() == 0 {
		return "plan"
	}
	return b.String()
}

// into does something one step down.
func (w *walker) into(s step, do func()) {
	w.path = append(w.path, s)
	do()
	w.path = w.path[:len(w.path)-1]
}

// peek passes white space and returns the next byte, 0 at the end.
func (w *walker) peek() byte {
	for ; w.at < len(w.data); w.at++ {
		switch c := w.data[w.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// object calls field for every field of s that is there, once, with the walker at its value; field must read
// it. It says whether it found an object.
func (w *walker) object(s shape, field func(name string)) bool {
	if w.peek() != '{' {
		w.wrong("an object")
		return false
	}
	w.at++
	var seen uint32
	for w.peek() != '}' {
		if w.peek() == ',' {
			w.at++
			w.peek()
		}
		key := w.unquote()
		w.peek()
		w.at++ // the colon
		i := slices.Index(s.fields, key)
		if i < 0 {
			w.unknown(key)
			continue
		}
		w.into(step{name: key}, func() {
			if seen&(1<<i) != 0 {
				w.report.add(w, "is given twice")
				w.skip()
				return
			}
			seen |= 1 << i
			field(key)
		})
	}
	w.at++
	for i, name := range s.fields[:s.required] {
		if seen&(1<<i) == 0 {
			w.into(step{name: name}, func() { w.report.add(w, "is missing") })
		}
	}
	return true
}

func (w *walker) unknown(key string) {
	if w.strict {
		name := quote(key)
		if len(name) == len(key)+2 && key != "" { // short and nothing to escape
			name = key
		}
		w.into(step{name: name}, func() { w.report.add(w, "is not a field of a plan") })
	}
	w.skip()
}

// array calls item for every element with the walker at it; item must read it.
func (w *walker) array(item func(i int)) {
	if w.peek() != '[' {
		w.wrong("a list")
		return
	}
	w.at++
	for i := 0; w.peek() != ']'; i++ {
		if w.peek() == ',' {
			w.at++
		}
		w.into(step{index: i}, func() { item(i) })
	}
	w.at++
}

// text reads a string of 1 to most characters, trimmed.
func (w *walker) text(most int) string {
	faults := w.report.total
	s := w.optional(most)
	if s == "" && faults == w.report.total {
		w.report.add(w, "is empty")
	}
	return s
}

// optional reads a string of at most most characters, trimmed.
func (w *walker) optional(most int) string {
	if w.peek() != '"' {
		w.wrong("text")
		return ""
	}
	s := strings.TrimSpace(w.unquote())
	if fault := textFault(s, most); fault != "" {
		w.report.add(w, "%s %s", quote(s), fault)
	}
	return s
}

// number reads a number; too large ones are reported, and 0.
func (w *walker) number() float64 {
	if c := w.peek(); c != '-' && (c < '0' || c > '9') {
		w.wrong("a number")
		return 0
	}
	literal := w.literal()
	v, err := strconv.ParseFloat(literal, 64)
	if err != nil {
		w.report.add(w, "%s is too large a number", quote(literal))
		return 0
	}
	return v
}

func (w *walker) boolean() bool {
	if c := w.peek(); c != 't' && c != 'f' {
		w.wrong("true or false")
		return false
	}
	return w.literal() == "true"
}

// wrong reports a value of another type and passes it.
func (w *walker) wrong(want string) {
	found := "a number"
	switch w.peek() {
	case '{':
		found = "an object"
	case '[':
		found = "a list"
	case '"':
		found = "text"
	case 't', 'f':
		found = "true or false"
	case 'n':
		found = "null"
	}
	w.report.add(w, "must be %s, not %s", want, found)
	w.skip()
}

// skip passes one value of any depth, without recursion.
func (w *walker) skip() {
	for depth := 0; ; {
		switch w.peek() {
		case 0:
			return
		case '{', '[':
			depth++
			w.at++
		case '}', ']':
			depth--
			w.at++
		case ',', ':':
			w.at++
		case '"':
			w.quoted()
		default:
			w.literal()
		}
		if depth == 0 {
			return
		}
	}
}

// literal reads a number, true, false or null.
func (w *walker) literal() string {
	from := w.at
	for w.at < len(w.data) && !strings.ContainsRune(",:]} \t\r\n", rune(w.data[w.at])) {
		w.at++
	}
	return string(w.data[from:w.at])
}

// quoted passes a string and returns it with its quotes; plain says that it has no escapes.
func (w *walker) quoted() (raw []byte, plain bool) {
	from := w.at
	plain = true
	for w.at++; w.at < len(w.data) && w.data[w.at] != '"'; w.at++ {
		if w.data[w.at] == '\\' {
			plain = false
			w.at++
		}
	}
	w.at++
	return w.data[from:w.at], plain
}

func (w *walker) unquote() string {
	raw, plain := w.quoted()
	if plain {
		return string(raw[1 : len(raw)-1])
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return "\ufffd" // cannot be: json.Valid has passed it. It would be refused as text.
	}
	return s
}
