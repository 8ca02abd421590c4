package httptask

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"foyer/outbox"
	"foyer/outbox/client/clienttest"
)

// uncalled is the port of a server on this machine, which must not be called.
func uncalled(t *testing.T) (port string) {
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s was called", r.Host) })
	_, port, _ = net.SplitHostPort(strings.TrimPrefix(url, "http://"))
	return port
}

func get(t *testing.T, s *Sink, url string) (reason string) {
	t.Helper()
	var f *outbox.Failure
	if _, err := s.Call(t.Context(), task(t, outbox.Request{URL: url, Method: "GET"})); !errors.As(err, &f) {
		t.Fatalf("%s: %v", url, err)
	}
	if f.Final || f.Gone || f.Down {
		t.Errorf("%s is given up, or held against others: %+v", url, f)
	}
	return f.Reason
}

func TestB162NameOfATaskThatLeadsToAClosedAddressIsRefusedWhenItIsDialled(t *testing.T) {
	port := uncalled(t)
	for _, a := range []string{"127.0.0.1", "169.254.169.254", "10.0.0.1", "100.100.100.200", "::1", "::ffff:10.0.0.1", "::ffff:127.0.0.1", "fd00:ec2::254", "64:ff9b::7f00:1"} {
		clienttest.Answer(t, netip.MustParseAddr(a))
		if why := get(t, New(Config{}), "http://rebound.example:"+port); !strings.Contains(why, "is in a closed range") {
			t.Errorf("%s: %s", a, why)
		}
	}
	clienttest.Answer(t, netip.MustParseAddr("127.0.0.1"))
	for _, host := range []string{"localhost", "localhost.", "rebound.example.", "a.localhost", "0x7f000001", "[fe80::1%25lo]", "[::ffff:7f00:1]"} {
		if why := get(t, New(Config{}), "http://"+host+":"+port); !strings.Contains(why, "is in a closed range") {
			t.Errorf("%s: %s", host, why)
		}
	}
}

// Go takes none of these for an address, nor for a name.
func TestB162NumbersAreNoAddressesOfTasks(t *testing.T) {
	port := uncalled(t)
	clienttest.Answer(t, netip.MustParseAddr("127.0.0.1"))
	for _, host := range []string{"2130706433", "0177.0.0.1", "127.1", "127.0.0.1.", "0x7f.1"} {
		if why := get(t, New(Config{}), "http://"+host+":"+port); !strings.Contains(why, "no such host") && !strings.Contains(why, "is in a closed range") {
			t.Errorf("%s: %s", host, why)
		}
	}
}

// The name leads to an address that may be dialled first, and when it is dialled again to this machine.
func TestB162NameOfATaskThatChangesItsAnswerGainsNothing(t *testing.T) {
	outside, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Skip("the machine has no second address to stand for the outside: ", err)
	}
	_, port, _ := net.SplitHostPort(outside.Addr().String())
	inside, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		t.Skip("the port is taken: ", err)
	}
	go func() {
		_ = http.Serve(inside, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was called") }))
	}()
	go func() {
		_ = http.Serve(outside, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") }))
	}()
	t.Cleanup(func() { _, _ = inside.Close(), outside.Close() })
	for _, then := range []string{"127.0.0.1", "169.254.169.254", "::ffff:10.0.0.1"} {
		clienttest.Answer(t, netip.MustParseAddr("127.0.0.2"), netip.MustParseAddr(then))
		s := New(Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}})
		url := "http://rebound.example:" + port
		if answer, err := s.Call(t.Context(), task(t, outbox.Request{URL: url, Method: "GET"})); err != nil || answer != "200 OK" {
			t.Fatalf("the outside answers %q, %v", answer, err)
		}
		if why := get(t, s, url); !strings.Contains(why, "is in a closed range") {
			t.Errorf("then %s: %s", then, why)
		}
	}
}

func TestB162RedirectOfATaskToMetadataIsNotFollowed(t *testing.T) {
	port := uncalled(t)
	for _, status := range []int{301, 302, 303, 307, 308} {
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			to := "http://169.254.169.254/latest/meta-data/"
			if r.URL.Path == "/here" {
				to = "http://127.0.0.1:" + port
			}
			w.Header().Set("Location", to)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "moved")
		})
		for _, path := range []string{"/", "/here"} {
			if why := get(t, New(Config{Allow: loopback}), url+path); !strings.Contains(why, "(redirects are not followed): moved") {
				t.Errorf("%d: %s", status, why)
			}
		}
	}
}
