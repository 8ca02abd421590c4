package web

import "testing"

func TestPatternsTakeWhatTheySay(t *testing.T) {
	all := Patterns{"/hooks/pay", "/ipn/*", "/shops/*/done", "/files/*.txt"}
	for path, want := range map[string]bool{
		"/hooks/pay": true, "/hooks/pay/": false, "/hooks/payx": false, "/hooks": false, "/ipn/a": true, "/ipn/a/b/": true, "/ipn/": false, "/ipn": false, "/ipnx/a": false,
		"/shops/7/done": true, "/shops/7/8/done": false, "/shops/7/done/x": false, "/files/a.txt": true, "/files/a/b.txt": false, "/": false, "": false,
	} {
		if got := all.match(path); got != want {
			t.Errorf("%q: got %v, want %v", path, got, want)
		}
	}
	for pattern, good := range map[string]bool{"/*": true, "/a/*/b": true, "/a": true, "a": false, "": false, "//a": false, "/../a": false, "/[": false, `/\a`: false, "/a?b": false, "/%2e": false} {
		if err := CheckPattern(pattern); (err == nil) != good {
			t.Errorf("%q: %v", pattern, err)
		}
	}
}
