package outbox

import (
	"strings"
	"testing"
)

func TestRequestsThatCannotBeMadeAreRefusedWithoutRepeatingThem(t *testing.T) {
	good := Request{URL: "https://x.example/a?key=geheim", Method: "POST", Headers: map[string]string{"Authorization": "Bearer geheim"}}
	if err := good.Check(); err != nil {
		t.Errorf("a sound request: %v", err)
	}
	for what, change := range map[string]func(*Request){
		"url":      func(r *Request) { r.URL = "geheim" },
		"https://": func(r *Request) { r.URL = "file:///geheim" },
		"host":     func(r *Request) { r.URL = "http://:80/geheim" },
		"2048":     func(r *Request) { r.URL += strings.Repeat("x", 3000) },
		"method":   func(r *Request) { r.Method = "post" },
		"50":       func(r *Request) { r.Headers = many(51) },
		"none in":  func(r *Request) { r.Headers = map[string]string{"a b": "geheim"} },
		"itself":   func(r *Request) { r.Headers = map[string]string{"content-length": "5"} },
		"control":  func(r *Request) { r.Headers = map[string]string{"X": "geheim\r\nY: z"} },
		"of more":  func(r *Request) { r.Headers = map[string]string{"X": strings.Repeat("x", 5000)} },
	} {
		r := good
		change(&r)
		if err := r.Check(); err == nil || !strings.Contains(err.Error(), what) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: got %v", what, err)
		}
	}
}

func many(n int) map[string]string {
	h := map[string]string{}
	for i := range n {
		h["X-"+strings.Repeat("a", i+1)] = "v"
	}
	return h
}

func TestAMaskedRequestHoldsNoSecret(t *testing.T) {
	r := Request{
		URL: "https://ann:geheim@x.example/a?key=geheim", Method: "GET",
		Headers: map[string]string{"authorization": "Bearer geheim", "X-Api-Key": "geheim", "Accept": "text/plain"},
	}
	m := r.Masked()
	if strings.Contains(m.URL, "geheim") || m.Headers["authorization"] != "..." || m.Headers["X-Api-Key"] != "..." || m.Headers["Accept"] != "text/plain" {
		t.Errorf("got %+v", m)
	}
	if r.Headers["authorization"] != "Bearer geheim" {
		t.Error("the request itself was masked")
	}
}
