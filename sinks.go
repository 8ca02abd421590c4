package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"foyer/outbox"
	"foyer/outbox/filesink"
	"foyer/outbox/kafkasink"
	"foyer/outbox/logsink"
	"foyer/outbox/mailsink"
	"foyer/outbox/natssink"
	"foyer/outbox/webhook"
	"foyer/sale"
	"foyer/tickets"
)

// sink says where messages of a topic go. The name stands in the messages on
// disk.
type sink struct{ topic, url, name string }

type sinks []sink

func (s *sinks) String() string {
	var all []string
	for _, x := range *s {
		all = append(all, x.topic+"="+outbox.Mask(x.url))
	}
	return strings.Join(all, " ")
}

// Set adds TOPIC=URL; several in one environment variable are separated by
// blanks. Its errors do not repeat what they are about: it may hold a password.
func (s *sinks) Set(v string) error {
	for i, one := range strings.Fields(v) {
		topic, to, ok := strings.Cut(one, "=")
		if !ok || topic == "" {
			return fmt.Errorf("entry %d must be TOPIC=URL such as order.paid=https://example.org/hook", i+1)
		}
		if topic != "*" && !slices.Contains(sale.Topics, topic) {
			return fmt.Errorf("entry %d names a topic that there is not; the topics are %s and * for all", i+1, strings.Join(sale.Topics, ", "))
		}
		if err := checkSink(to); err != nil {
			return err
		}
		x := sink{topic, to, sinkName(to)}
		if slices.ContainsFunc(*s, func(y sink) bool { return y.name == x.name && y.url != x.url }) {
			return fmt.Errorf("entry %d leads to the same place as one before it with another user or password", i+1)
		}
		*s = append(*s, x)
	}
	return nil
}

// checkSink tells whether a URL leads to a sink, without repeating it.
func checkSink(to string) error {
	if to == "log:" {
		return nil
	}
	scheme, _, _ := strings.Cut(to, ":")
	switch scheme {
	case "http", "https":
		return webhook.Check(to)
	case "smtp", "smtps":
		return mailsink.Check(to)
	case "nats", "tls":
		return natssink.Check(to)
	case "kafka":
		return kafkasink.Check(to)
	case "file":
		_, err := filesink.Path(to)
		return err
	}
	return errors.New("the address must begin with http or https, smtp, smtps, nats, tls, kafka or file, or be the word log with a colon")
}

// sinkName is the name of a sink in messages: its URL, without user and
// password, so that they do not lie on disk and messages that wait do not lose
// their sink when the password is changed. Webhooks have always had their whole
// URL as their name.
func sinkName(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.Scheme == "http" || u.Scheme == "https" || u.User == nil {
		return to
	}
	u.User = nil
	return u.String()
}

// names gives the sinks of a topic, each once.
func (s sinks) names(topic string) []string {
	var out []string
	for _, x := range s {
		if (x.topic == "*" || x.topic == topic) && !slices.Contains(out, x.name) {
			out = append(out, x.name)
		}
	}
	return out
}

// sinks makes what delivers, by name. None of them connects before its first
// message.
func (h *house) sinks() map[string]outbox.Sink {
	all := map[string]outbox.Sink{}
	for _, x := range h.settings.Sinks {
		if all[x.name] == nil {
			all[x.name] = h.sink(x.url)
		}
	}
	return all
}

func (h *house) sink(to string) outbox.Sink {
	s := h.settings
	scheme, _, _ := strings.Cut(to, ":")
	switch scheme {
	case "log":
		return logsink.New(h.log)
	case "smtp", "smtps":
		return mailsink.New(mailsink.Config{URL: to, Event: h.mailEvent, Digits: sale.Exponent, Picture: tickets.PNG, Log: h.log})
	case "nats", "tls":
		return natssink.New(natssink.Config{URL: to, Source: s.BaseURL})
	case "kafka":
		return kafkasink.New(kafkasink.Config{URL: to, Source: s.BaseURL})
	case "file":
		return filesink.New(to)
	}
	if len(s.WebhookSecrets) == 0 {
		h.log.Warn("messages go out unsigned, so that the receiver cannot know they are from here: FOYER_WEBHOOK_SECRET is not set", "sink", outbox.Mask(to))
	}
	return webhook.New(webhook.Config{URL: to, Secrets: s.WebhookSecrets, Allow: s.AllowTargets, Version: versionText()})
}

// refunds is the sink of messages that ask providers to return money.
type refunds struct{ *house }

// Deliver asks for one refund.
func (r refunds) Deliver(ctx context.Context, m outbox.Message) error {
	return r.office.SendRefund(ctx, m.Body)
}

// mailEvent is what mails tell of an event.
func (h *house) mailEvent(id string) (mailsink.Event, bool) {
	e, _, err := h.office.Event(id)
	if err != nil {
		return mailsink.Event{}, false
	}
	m := mailsink.Event{Name: e.Name, Venue: e.Venue}
	if e.StartsAt != nil {
		m.Start = e.StartsAt.UTC()
		if zone, err := time.LoadLocation(e.TimeZone); err == nil {
			m.Start = e.StartsAt.In(zone)
		}
	}
	return m, true
}

// sinkEnd is how long sinks may take to end their connections.
const sinkEnd = 2 * time.Second

// closeSinks ends the sinks' connections. The relay has ended before.
func (h *house) closeSinks() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, s := range h.targets {
			c, ok := s.(io.Closer)
			if !ok {
				continue
			}
			if err := c.Close(); err != nil {
				h.log.Warn("a sink does not end well", "error", err.Error())
			}
		}
	}()
	select {
	case <-done:
	case <-time.After(sinkEnd): // a network disk that hangs; what it has not taken is delivered again
	}
}
