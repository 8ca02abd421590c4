package web

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"foyer/outbox"
)

// strict walks a JSON text beside the Go type that will take it, and refuses
// what encoding/json would let pass. The text is valid JSON (json.Valid), so
// the walk looks at structure only where it must.
type strict struct {
	text []byte
	at   int
}

var (
	timeType = reflect.TypeFor[time.Time]()
	rawType  = reflect.TypeFor[json.RawMessage]()

	foreignType = reflect.TypeFor[foreign]()
)

// next skips blanks and gives the byte that follows.
func (w *strict) next() byte {
	for {
		switch c := w.text[w.at]; c {
		case ' ', '\t', '\n', '\r':
			w.at++
		default:
			return c
		}
	}
}

// value walks one value; t is nil where the type is not known.
func (w *strict) value(path string, t reflect.Type, depth int) error {
	if depth > maxDepth {
		return refuse("bad_json", "The JSON is nested too deeply.")
	}
	optional := t == nil || t == rawType
	for t != nil && t.Kind() == reflect.Pointer {
		t, optional = t.Elem(), true
	}
	if t == foreignType {
		return w.foreign(depth)
	}
	if t == timeType || t == rawType {
		t = nil
	}
	switch w.next() {
	case '{':
		return w.object(path, t, depth)
	case '[':
		return w.array(path, t, depth)
	case '"':
		return plain(path, w.literalText())
	case 'n':
		if !optional {
			return refuse("bad_field", "The field "+quoted(path)+" cannot be null.")
		}
	}
	for w.at < len(w.text) && strings.IndexByte(",]} \t\n\r", w.text[w.at]) < 0 {
		w.at++
	}
	return nil
}

// foreign steps over a value whose texts and names are not ours to judge.
func (w *strict) foreign(depth int) error {
	for depths := 0; ; w.at++ {
		switch c := w.next(); c {
		case '"':
			w.literalText()
			w.at--
		case '{', '[':
			if depths++; depth+depths > maxDepth {
				return refuse("bad_json", "The JSON is nested too deeply.")
			}
		case '}', ']':
			if depths == 0 { // of what is around it
				return nil
			}
			depths--
		case ',', ':':
			if depths == 0 {
				return nil
			}
		}
		if depths == 0 && (w.at+1 == len(w.text) || strings.IndexByte(",]} \t\n\r", w.text[w.at+1]) >= 0) {
			w.at++
			return nil
		}
	}
}

func (w *strict) array(path string, t reflect.Type, depth int) error {
	var elem reflect.Type
	if t != nil && t.Kind() == reflect.Slice {
		elem = t.Elem()
	}
	for w.at++; w.next() != ']'; {
		if w.text[w.at] == ',' {
			w.at++
		}
		if err := w.value(path, elem, depth+1); err != nil {
			return err
		}
	}
	w.at++
	return nil
}

func (w *strict) object(path string, t reflect.Type, depth int) error {
	var seen names
	for w.at++; w.next() != '}'; {
		if w.text[w.at] == ',' {
			w.at++
			w.next()
		}
		name := w.literalText()
		w.next()
		w.at++ // the colon
		at := name
		if path != "" {
			at = path + "." + name
		}
		if !seen.add(name) {
			return refuse("bad_json", "The field "+quoted(at)+" is there twice.")
		}
		if err := plain(at, name); err != nil {
			return err
		}
		elem, err := fieldType(t, name, at)
		if err != nil {
			return err
		}
		if err := w.value(at, elem, depth+1); err != nil {
			return err
		}
	}
	w.at++
	return nil
}

// names are the names of one object so far: a list while they are few, as they
// are in all but hostile bodies.
type names struct {
	few  []string
	many map[string]struct{}
}

// add tells whether the name is new.
func (n *names) add(name string) bool {
	if n.many == nil && len(n.few) < 16 {
		if slices.Contains(n.few, name) {
			return false
		}
		n.few = append(n.few, name)
		return true
	}
	if n.many == nil {
		n.many = map[string]struct{}{}
		for _, f := range n.few {
			n.many[f] = struct{}{}
		}
	}
	before := len(n.many)
	n.many[name] = struct{}{}
	return len(n.many) > before
}

// literalText reads the string that starts here and steps behind it.
func (w *strict) literalText() string {
	start := w.at
	escaped := false
	for w.at++; w.text[w.at] != '"'; w.at++ {
		if w.text[w.at] == '\\' {
			escaped = true
			w.at++
		}
	}
	w.at++
	if !escaped {
		return string(w.text[start+1 : w.at-1])
	}
	var s string
	_ = json.Unmarshal(w.text[start:w.at], &s) // it is valid
	return s
}

// fieldType finds what an object's field is decoded into; nil when that is not known.
func fieldType(t reflect.Type, name, at string) (reflect.Type, error) {
	switch {
	case t == nil:
	case t.Kind() == reflect.Map:
		return t.Elem(), nil
	case t.Kind() == reflect.Struct:
		elem, known := fieldsOf(t)[name]
		if !known {
			return nil, refuse("unknown_field", "The field "+quoted(at)+" is not known here.")
		}
		return elem, nil
	}
	return nil, nil
}

// fieldTables keeps fieldsOf for each struct that a body is decoded into.
var fieldTables sync.Map // reflect.Type -> map[string]reflect.Type

// fieldsOf finds a struct's JSON fields by their exact names, the struct's own
// before those it embeds.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	if known, ok := fieldTables.Load(t); ok {
		return known.(map[string]reflect.Type)
	}
	fields := map[string]reflect.Type{}
	for i := range t.NumField() {
		f := t.Field(i)
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag != "-" && tag != "" {
			fields[tag] = f.Type
		}
	}
	for i := range t.NumField() {
		e := t.Field(i)
		if !e.Anonymous {
			continue
		}
		if e.Type.Kind() == reflect.Pointer {
			e.Type = e.Type.Elem()
		}
		for name, inner := range fieldsOf(e.Type) {
			if _, own := fields[name]; !own {
				fields[name] = inner
			}
		}
	}
	fieldTables.Store(t, fields)
	return fields
}

// plain refuses control characters in a text.
func plain(path, text string) error {
	for i := range len(text) {
		if c := text[i]; c < 0x20 || c >= 0x7f { // the common case ends here without a rune decoded
			if strings.ContainsFunc(text, unicode.IsControl) {
				return refuse("bad_text", "The field "+quoted(path)+" contains a control character.")
			}
			return nil
		}
	}
	return nil
}

// quoted shows a field's name in a sentence, cut to a decent length.
func quoted(name string) string {
	name = strings.ToValidUTF8(strings.Map(func(r rune) rune {
		if outbox.Unseen(r) {
			return -1
		}
		return r
	}, name), "")
	if n := []rune(name); len(n) > 64 {
		name = string(n[:64]) + "..."
	}
	return `"` + name + `"`
}

// loneSurrogate finds an escaped surrogate without its other half; encoding/json
// would turn it into U+FFFD without a word. text is valid JSON.
func loneSurrogate(text []byte) bool {
	if !bytes.Contains(text, []byte(`\u`)) {
		return false
	}
	unit := func(i int) (rune, bool) { // of the escape \uXXXX at i
		if i+6 > len(text) || text[i] != '\\' || text[i+1] != 'u' {
			return 0, false
		}
		var v rune
		for _, c := range text[i+2 : i+6] {
			v = v<<4 | rune(hexDigit(c))
		}
		return v, true
	}
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		v, ok := unit(i)
		switch {
		case !ok:
			i++ // skip what is escaped
		case v >= 0xd800 && v < 0xdc00:
			low, ok := unit(i + 6)
			if !ok || low < 0xdc00 || low > 0xdfff {
				return true
			}
			i += 11
		case v >= 0xdc00 && v <= 0xdfff:
			return true
		default:
			i += 5
		}
	}
	return false
}

func hexDigit(c byte) byte {
	switch {
	case c >= 'a':
		return c - 'a' + 10
	case c >= 'A':
		return c - 'A' + 10
	}
	return c - '0'
}

// decode reads a JSON text at hand into v, a pointer to a struct; see read.
func decode(body []byte, v any) error {
	if !utf8.Valid(body) {
		return refuse("bad_json", "The body is not valid UTF-8.")
	}
	if !json.Valid(body) {
		return notOneValue(body)
	}
	if loneSurrogate(body) {
		return refuse("bad_text", `A text contains half of a surrogate pair (\ud800 to \udfff), which is no character.`)
	}
	w := strict{text: body}
	if w.next() != '{' {
		return refuse("bad_field", `The body must be a JSON object, such as {"name": "value"}.`)
	}
	if err := w.value("", reflect.TypeOf(v).Elem(), 0); err != nil {
		return err
	}
	return unmarshal(body, v)
}

// notOneValue tells a broken text from a sound one with something behind it.
func notOneValue(body []byte) error {
	d := json.NewDecoder(bytes.NewReader(body))
	var first json.RawMessage
	if d.Decode(&first) == nil {
		return refuse("bad_json", "Something follows the JSON value in the body.")
	}
	return refuse("bad_json", "The body is not valid JSON.")
}
