package mailsink

import (
	"bytes"
	"encoding/json"
	"errors"
	"html/template"
	"net/mail"
	"strconv"
	"strings"
	texttemplate "text/template"
	"time"

	gomail "github.com/wneessen/go-mail"

	"foyer/outbox"
)

// The topics that become mails.
const (
	topicPaid   = "order.paid"
	topicTicket = "ticket.issued"
)

// document is what is read of a message's data: an order or a ticket.
type document struct {
	OrderID string `json:"orderId"`
	EventID string `json:"eventId"`
	Seats   []seat `json:"seats"`
	Total   money  `json:"total"`
	Seat    seat   `json:"seat"`
	Code    string `json:"code"`
	Buyer   struct {
		Name  string `json:"name"`
		Email string `json:"email"`
	} `json:"buyer"`
}

type seat struct {
	Label    string `json:"label"`
	Category string `json:"category"`
	Price    money  `json:"price"`
}

type money struct {
	Amount   int64  `json:"amount"` // minor units
	Currency string `json:"currency"`
}

// letter is a mail before it is put into its envelope; its texts are one line each and go into the templates below.
type letter struct {
	to      *mail.Address // nil: the buyer left no address
	kind    string        // the name of its templates
	Subject string
	Name    string
	Event   string
	Details []string // when and where, if it is known
	Seats   []line
	Total   string
	Order   string
	Code    string
	Picture []byte // PNG of the code
}

// line is one seat.
type line struct{ Label, Category, Price string }

// CID is the name by which the markup shows the picture (RFC 2392).
func (l *letter) CID() template.URL { return "cid:" + pictureID }

const pictureID = "ticket"

// compose makes the letter of a message; nil when its topic has none.
func (s *Sink) compose(m outbox.Message) (*letter, error) {
	if m.Topic != topicPaid && m.Topic != topicTicket {
		return nil, nil
	}
	var body struct {
		Data document `json:"data"`
	}
	if err := json.Unmarshal(m.Body, &body); err != nil || body.Data.OrderID == "" {
		return nil, errors.New("the message's document cannot be read as an order or a ticket")
	}
	d := body.Data
	l := &letter{Event: outbox.Clip(d.EventID), Name: short(d.Buyer.Name), Order: outbox.Clip(d.OrderID), kind: m.Topic}
	if e, known := s.cfg.Event(d.EventID); known {
		l.Event = outbox.Clip(e.Name)
		l.Details = details(e)
	}
	if d.Buyer.Email != "" {
		to, err := mail.ParseAddress(d.Buyer.Email)
		if err != nil || to.Address != d.Buyer.Email {
			return nil, errors.New("the buyer's mail address is none; see the order")
		}
		l.to = &mail.Address{Name: l.Name, Address: to.Address}
	}
	if m.Topic == topicTicket {
		l.Subject = "Your ticket for " + l.Event + ": " + outbox.Clip(d.Seat.Label)
		l.Seats = []line{s.line(d.Seat)}
		l.Code = outbox.Clip(d.Code)
		l.Picture, _ = s.cfg.Picture(l.Code) // without it the code is still there
		return l, nil
	}
	l.Subject = "Your order for " + l.Event + " is paid"
	for _, one := range d.Seats {
		l.Seats = append(l.Seats, s.line(one))
	}
	l.Total = s.money(d.Total)
	return l, nil
}

// short clips a name so that a header of it stays far below 998 bytes (RFC 5322, 2.1.1), escaped as it may be.
func short(name string) string {
	const most = 300
	name = outbox.Clip(name)
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "")
	}
	return name
}

func (s *Sink) line(x seat) line {
	return line{outbox.Clip(x.Label), outbox.Clip(x.Category), s.money(x.Price)}
}

func details(e Event) (all []string) {
	if !e.Start.IsZero() {
		all = append(all, e.Start.Format("Monday, 2 January 2006, 15:04 MST"))
	}
	if venue := outbox.Clip(e.Venue); venue != "" {
		all = append(all, venue)
	}
	return all
}

// money writes an amount: 4250 EUR is "42.50 EUR", 4250 JPY is "4250 JPY".
func (s *Sink) money(m money) string {
	digits, ok := s.cfg.Digits(m.Currency)
	if !ok {
		digits = 2
	}
	text, minus := strings.CutPrefix(strconv.FormatInt(m.Amount, 10), "-")
	if digits > 0 {
		text = strings.Repeat("0", max(0, digits+1-len(text))) + text
		text = text[:len(text)-digits] + "." + text[len(text)-digits:]
	}
	if minus {
		text = "-" + text
	}
	return text + " " + outbox.Clip(m.Currency)
}

// write puts the letter into an envelope. The texts of the document are one line each by now, and go through the encoders of
// net/mail and go-mail, so that they cannot become headers or recipients.
func (s *Sink) write(l *letter, to *mail.Address, m outbox.Message) (*gomail.Msg, error) {
	var plain, markup bytes.Buffer
	if err := errors.Join(plainTexts.ExecuteTemplate(&plain, l.kind, l), markups.ExecuteTemplate(&markup, l.kind, l)); err != nil {
		return nil, err
	}
	g := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	g.FromMailAddress(s.to.from)
	g.ToMailAddress(to)
	g.Subject(l.Subject)
	g.SetDateWithValue(m.CreatedAt.UTC().Truncate(time.Second))
	g.SetMessageIDWithValue(messageID(m.ID, s.to.from.Address))
	g.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: no answers from robots, please
	g.SetBodyString(gomail.TypeTextPlain, plain.String())
	g.AddAlternativeString(gomail.TypeTextHTML, markup.String())
	if len(l.Picture) > 0 {
		err := g.EmbedReader("ticket.png", bytes.NewReader(l.Picture), gomail.WithFileContentID("<"+pictureID+">"), gomail.WithFileContentType("image/png"))
		if err != nil {
			return nil, err
		}
	}
	return g, nil
}

// messageID is the same for every copy of a message: its id, as far as RFC 5322 lets it stand, at the sender's domain.
func messageID(id, from string) string {
	safe := strings.Map(func(c rune) rune {
		if c == '-' || c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' {
			return c
		}
		return '-'
	}, id)
	return safe + from[strings.LastIndex(from, "@"):]
}

var plainTexts = texttemplate.Must(texttemplate.New("").Parse(`
{{- define "greeting"}}Hello{{with .Name}} {{.}}{{end}},{{end}}
{{- define "event"}}{{.Event}}
{{range .Details}}{{.}}
{{end}}{{end}}
{{- define "seat"}}{{.Label}}{{with .Category}} ({{.}}){{end}}, {{.Price}}{{end}}
{{- define "order.paid"}}{{template "greeting" .}}

thank you. Your order is paid.

{{template "event" .}}
{{range .Seats}}{{template "seat" .}}
{{end}}
Total: {{.Total}}
Order: {{.Order}}
{{end}}
{{- define "ticket.issued"}}{{template "greeting" .}}

this is your ticket.

{{template "event" .}}
{{range .Seats}}{{template "seat" .}}
{{end}}
At the door, show the picture in this mail or this code:

{{.Code}}

Keep it to yourself: a ticket lets in one person, once.

Order: {{.Order}}
{{end}}`))

var markups = template.Must(template.New("").Parse(`
{{- define "head"}}<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{{.Subject}}</title></head><body>
<p>Hello{{with .Name}} {{.}}{{end}},</p>
{{end}}
{{- define "event"}}<h1>{{.Event}}</h1>
{{range .Details}}<p>{{.}}</p>
{{end}}<ul>
{{range .Seats}}<li>{{.Label}}{{with .Category}} ({{.}}){{end}}, {{.Price}}</li>
{{end}}</ul>
{{end}}
{{- define "order.paid"}}{{template "head" .}}<p>thank you. Your order is paid.</p>
{{template "event" .}}<p>Total: <strong>{{.Total}}</strong></p>
<p>Order: {{.Order}}</p>
</body></html>
{{end}}
{{- define "ticket.issued"}}{{template "head" .}}<p>this is your ticket.</p>
{{template "event" .}}<p>At the door, show {{if .Picture}}this picture or {{end}}this code:</p>
{{if .Picture}}<p><img src="{{.CID}}" alt="QR code of the ticket"></p>
{{end}}<p><code>{{.Code}}</code></p>
<p>Keep it to yourself: a ticket lets in one person, once.</p>
<p>Order: {{.Order}}</p>
</body></html>
{{end}}`))
