// Package httptask makes HTTP requests that others asked for, later and in their order.
//
// Its job: one attempt at one task. Its invariants are those of [client]; a task that answers 410 ends alone, for its
// neighbours in the lane may have other addresses. What it does not do: it keeps no order and no pace (the relay does).
package httptask

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"foyer/outbox"
	"foyer/outbox/client"
)

// The headers that tell a receiver which task calls. With the id it can drop repeats.
const (
	HeaderTask    = "Foyer-Task"
	HeaderAttempt = "Foyer-Attempt"
)

// Config of a sink; the zero value is right.
type Config struct {
	Allow   []netip.Prefix // closed ranges that tasks may reach
	Version string         // for the user-agent foyer/<version>
	Timeout time.Duration  // of an attempt; default 15 s
}

// Sink makes the requests. It is an [outbox.Caller].
type Sink struct {
	cfg    Config
	client *client.Client
}

// New returns a sink.
func New(cfg Config) *Sink {
	return &Sink{cfg, client.New(client.Config{Allow: cfg.Allow, Timeout: cfg.Timeout}, time.Now)}
}

// String returns the name of the sink.
func (s *Sink) String() string { return outbox.TaskSink }

// Deliver is [Sink.Call] without the answer.
func (s *Sink) Deliver(ctx context.Context, m outbox.Message) error {
	_, err := s.Call(ctx, m)
	return err
}

// Call makes the request once and returns what was answered, clipped and escaped.
func (s *Sink) Call(ctx context.Context, m outbox.Message) (string, error) {
	req, err := s.request(ctx, m)
	if err != nil {
		return "", &outbox.Failure{Reason: "the request cannot be made", Final: true}
	}
	answer, err := s.client.Do(req)
	answer = outbox.Escape(withoutSecrets(answer, req))
	var f *outbox.Failure
	if errors.As(err, &f) {
		f.Reason = withoutSecrets(f.Reason, req)
		f.Final, f.Gone = f.Gone, false
		f.Down = false // one address that is down says nothing of others
	}
	return answer, err
}

func (s *Sink) request(ctx context.Context, m outbox.Message) (*http.Request, error) {
	var r outbox.Request
	if err := json.Unmarshal(m.Body, &r); err != nil {
		return nil, err
	}
	if err := r.Check(); err != nil {
		return nil, err
	}
	body, isText := text(r.Body)
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "foyer/"+s.cfg.Version)
	if len(body) > 0 && !isText {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Idempotency-Key", m.ID)
	for name, value := range r.Headers {
		req.Header.Set(name, value)
	}
	req.Header.Set(HeaderTask, m.ID)
	req.Header.Set(HeaderAttempt, strconv.Itoa(m.Attempts+1))
	return req, nil
}

// text gives the bytes that a body is sent as.
func text(raw json.RawMessage) (body []byte, isText bool) {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return []byte(s), true
	}
	return raw, false
}

const shortSecret = 6 // bytes; what is shorter is no secret, and stands in many texts by chance

// withoutSecrets masks in an answer what was sent in confidence, for receivers that say what they were told: values of
// headers, and of the parts of the address that [outbox.Request.Masked] does not show.
func withoutSecrets(answer string, sent *http.Request) string {
	var secrets []string
	add := func(v string) {
		if len(v) >= shortSecret {
			secrets = append(secrets, v)
		}
	}
	for name, values := range sent.Header {
		if outbox.SecretHeader(name) && name != HeaderAttempt {
			for _, v := range values {
				if v == sent.Header.Get(HeaderTask) {
					continue
				}
				add(v)
				_, token, _ := strings.Cut(v, " ") // of "Bearer token"
				add(token)
			}
		}
	}
	add(sent.URL.RawQuery)
	for _, values := range sent.URL.Query() {
		for _, v := range values {
			add(v)
			add(url.QueryEscape(v))
		}
	}
	if u := sent.URL.User; u != nil {
		password, _ := u.Password()
		add(password)
		add(base64.StdEncoding.EncodeToString([]byte(u.Username() + ":" + password)))
	}
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	for _, v := range secrets {
		answer = strings.ReplaceAll(answer, v, "...")
		for n := len(v) - 1; n >= shortSecret; n-- { // the answer may be cut in the middle of it
			if rest, cut := strings.CutSuffix(answer, v[:n]); cut {
				answer = rest + "..."
				break
			}
		}
	}
	return answer
}
