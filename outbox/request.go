package outbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// TaskSink is the name of the sink that makes requests of others; a task is a message to it whose body is a [Request].
const TaskSink = "task:"

// TasksAtOnce is how many tasks are called at a time, by all lanes. Their receivers are many, and those that hang must leave
// room for the others; each call holds a connection and some ten kilobytes.
const TasksAtOnce = 512

// Request is an HTTP request to be made later, as it lies in the body of a task.
type Request struct {
	URL     string            `json:"url"`
	Method  string            `json:"method"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    json.RawMessage   `json:"body,omitempty"` // a JSON string is sent as its text, any other value as JSON
}

// Bounds of a request.
const (
	maxURL     = 2048
	maxHeaders = 50
	maxHeader  = 4096 // bytes of one value
)

var taskMethods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
}

// ours are headers that the client must set itself (RFC 9110, RFC 9112).
var ours = []string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Upgrade", "Te", "Trailer", "Expect", "Proxy-Authorization", "Proxy-Connection"}

// Check tells in a sentence what is wrong with a request; nil when it can be made. It repeats no value of the request.
func (r Request) Check() error {
	u, err := url.Parse(r.URL)
	switch {
	case err != nil || len(r.URL) > maxURL:
		return fmt.Errorf("url must be an address of at most %d characters", maxURL)
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return errors.New("url must begin with http:// or https:// and have a host")
	case !isPort(u.Port()):
		return errors.New("url has a port that is none")
	case !slices.Contains(taskMethods, r.Method):
		return fmt.Errorf("method must be one of %s", strings.Join(taskMethods, ", "))
	case len(r.Headers) > maxHeaders:
		return fmt.Errorf("at most %d headers", maxHeaders)
	}
	seen := map[string]bool{}
	for name, value := range r.Headers {
		switch canonical := http.CanonicalHeaderKey(name); {
		case seen[canonical]:
			return fmt.Errorf("headers has %s twice, in different letters", canonical)
		case !isToken(name):
			return errors.New("headers has a name that is none in HTTP")
		case slices.Contains(ours, http.CanonicalHeaderKey(name)):
			return fmt.Errorf("headers must not set %s, which the call sets itself", http.CanonicalHeaderKey(name))
		case strings.ContainsFunc(value, isControl) || len(value) > maxHeader:
			return fmt.Errorf("the header %s has a value with control characters, or of more than %d bytes", http.CanonicalHeaderKey(name), maxHeader)
		}
		seen[http.CanonicalHeaderKey(name)] = true
	}
	return nil
}

// Masked is the request for eyes: the address without what may be secret, values of headers only where they never are.
func (r Request) Masked() Request {
	r.URL = Mask(r.URL)
	shown := map[string]string{}
	for name, value := range r.Headers {
		if SecretHeader(name) {
			value = "..."
		}
		shown[name] = value
	}
	r.Headers = shown
	return r
}

// SecretHeader tells whether the value of a header of a request may be secret.
func SecretHeader(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "Accept", "Accept-Language", "Content-Type", "User-Agent":
		return false
	}
	return true
}

// isPort tells whether a text can be the port of an address; none is the usual one.
func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return text == "" || err == nil && n > 0
}

// isToken tells whether a text can be the name of a header (RFC 9110, 5.6.2).
func isToken(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && !strings.ContainsRune("!#$%&'*+-.^_`|~", c)
	})
}

func isControl(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }
