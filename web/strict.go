package web

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"
	"unicode"
)

// strict walks a JSON value beside the Go type that will take it, and refuses
// what encoding/json would let pass.
type strict struct{ *json.Decoder }

var (
	timeType = reflect.TypeFor[time.Time]()
	rawType  = reflect.TypeFor[json.RawMessage]()
)

// value walks one value; t is nil where the type is not known.
func (w *strict) value(path string, t reflect.Type, depth int) error {
	if depth > maxDepth {
		return refuse("bad_json", "The JSON is nested too deeply.")
	}
	tok, err := w.Token()
	if err != nil {
		return refuse("bad_json", "The body is not valid JSON.")
	}
	optional := t == nil || t == rawType
	for t != nil && t.Kind() == reflect.Pointer {
		t, optional = t.Elem(), true
	}
	if t == timeType || t == rawType {
		t = nil
	}
	switch tok := tok.(type) {
	case nil:
		if !optional {
			return refuse("bad_field", "The field "+quoted(path)+" cannot be null.")
		}
	case string:
		return plain(path, tok)
	case json.Delim:
		if tok == '[' {
			return w.array(path, t, depth)
		}
		return w.object(path, t, depth)
	}
	return nil
}

func (w *strict) array(path string, t reflect.Type, depth int) error {
	var elem reflect.Type
	if t != nil && t.Kind() == reflect.Slice {
		elem = t.Elem()
	}
	for w.More() {
		if err := w.value(path, elem, depth+1); err != nil {
			return err
		}
	}
	_, err := w.Token()
	return err
}

func (w *strict) object(path string, t reflect.Type, depth int) error {
	seen := map[string]bool{}
	for w.More() {
		tok, err := w.Token()
		if err != nil {
			return refuse("bad_json", "The body is not valid JSON.")
		}
		name, _ := tok.(string)
		at := strings.TrimPrefix(path+"."+name, ".")
		if seen[name] {
			return refuse("bad_json", "The field "+quoted(at)+" is there twice.")
		}
		seen[name] = true
		if err := plain(at, name); err != nil {
			return err
		}
		var elem reflect.Type
		switch {
		case t == nil:
		case t.Kind() == reflect.Map:
			elem = t.Elem()
		case t.Kind() == reflect.Struct:
			var known bool
			if elem, known = field(t, name); !known {
				return refuse("unknown_field", "The field "+quoted(at)+" is not known here.")
			}
		}
		if err := w.value(at, elem, depth+1); err != nil {
			return err
		}
	}
	_, err := w.Token()
	return err
}

// field finds the type of a struct's JSON field by its exact name, the struct's
// own fields before those it embeds.
func field(t reflect.Type, name string) (reflect.Type, bool) {
	for i := range t.NumField() {
		tag, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if tag == name && tag != "-" && tag != "" {
			return t.Field(i).Type, true
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
		if f, ok := field(e.Type, name); ok {
			return f, true
		}
	}
	return nil, false
}

// plain refuses control characters in a text.
func plain(path, text string) error {
	if strings.ContainsFunc(text, unicode.IsControl) {
		return refuse("bad_text", "The field "+quoted(path)+" contains a control character.")
	}
	return nil
}

// quoted shows a field's name in a sentence, cut to a decent length.
func quoted(name string) string {
	name = strings.ToValidUTF8(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
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
