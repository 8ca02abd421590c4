package mailsink

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/mail"
	"strings"
	"testing"
	"time"

	"foyer/outbox"
)

var _ outbox.Sink = (*Sink)(nil)

var at = time.Date(2027, 3, 1, 19, 0, 0, 123_000_000, time.UTC)

// paid is a paid order of a buyer.
func paid(name, email string) outbox.Message { return message("order.paid", name, email, "") }

// issued is one of its tickets.
func issued(name, email, code string) outbox.Message {
	return message("ticket.issued", name, email, code)
}

func message(topic, name, email, code string) outbox.Message {
	buyer, _ := json.Marshal(map[string]string{"name": name, "email": email}) // of strings: it cannot fail
	seat := `{"id":"A-1","label":"Stalls A 1","category":"Stalls","price":{"amount":4250,"currency":"EUR"}}`
	data := `{"orderId":"0198-7","eventId":"gala","seats":[` + seat + `,` + strings.Replace(seat, "A 1", "A 2", 1) + `],
		"total":{"amount":8500,"currency":"EUR"},"seat":` + seat + `,"code":"` + code + `","buyer":` + string(buyer) + `}`
	return outbox.Message{ID: "m1", Topic: topic, Key: "order:7", CreatedAt: at, Body: []byte(`{"id":"m1","data":` + data + `}`)}
}

// sink is one for a server; options stand behind from= in its address.
func (p *post) sink(user, options string, change ...func(*Config)) *Sink {
	cfg := Config{URL: "smtp://" + user + p.addr + "/?from=Box+Office+%3Ctickets@house.example%3E" + options, Roots: p.roots}
	for _, c := range change {
		c(&cfg)
	}
	return New(cfg)
}

// encrypted is a sink as for a server that is not on this machine.
func (p *post) encrypted(user string, change ...func(*Config)) *Sink {
	s := p.sink(user, "", change...)
	s.to.secure = startTLS
	return s
}

func failure(t *testing.T, err error) *outbox.Failure {
	t.Helper()
	var f *outbox.Failure
	if !errors.As(err, &f) {
		t.Fatalf("got %v, want a failure", err)
	}
	return f
}

func TestAPaidOrderIsConfirmed(t *testing.T) {
	p := serve(t, plainText)
	berlin := time.FixedZone("CET", 3600)
	s := p.sink("", "", func(c *Config) {
		c.Event = func(id string) (Event, bool) {
			return Event{Name: "Gala & <Ball>", Venue: "Großes Haus", Start: at.In(berlin)}, id == "gala"
		}
	})
	if err := s.Deliver(t.Context(), paid("Jörg \"J\" O'Brien, <x>", "joerg@buyer.example")); err != nil {
		t.Fatal(err)
	}
	got := p.mails(t, 1)[0]
	if got.from != "tickets@house.example" || got.to != "joerg@buyer.example" {
		t.Errorf("from %s to %s", got.from, got.to)
	}
	o := open(t, got.raw)
	to, err := o.head.AddressList("To")
	if err != nil || len(to) != 1 || *to[0] != (mail.Address{Name: "Jörg \"J\" O'Brien, <x>", Address: "joerg@buyer.example"}) {
		t.Errorf("To: %v, %v", to, err)
	}
	from, err := o.head.AddressList("From")
	if err != nil || *from[0] != (mail.Address{Name: "Box Office", Address: "tickets@house.example"}) {
		t.Errorf("From: %v, %v", from, err)
	}
	if date, err := o.head.Date(); err != nil || !date.Equal(at.Truncate(time.Second)) {
		t.Errorf("Date: %v, %v", date, err)
	}
	if o.subject != "Your order for Gala & <Ball> is paid" || o.head.Get("Message-Id") != "<m1@house.example>" || o.head.Get("Auto-Submitted") != "auto-generated" {
		t.Errorf("subject %q, head %v", o.subject, o.head)
	}
	want := "Hello Jörg \"J\" O'Brien, <x>,\n\nthank you. Your order is paid.\n\nGala & <Ball>\nMonday, 1 March 2027, 20:00 CET\nGroßes Haus\n\n" +
		"Stalls A 1 (Stalls), 42.50 EUR\nStalls A 2 (Stalls), 42.50 EUR\n\nTotal: 85.00 EUR\nOrder: 0198-7\n"
	if o.plain != want {
		t.Errorf("text %q, want %q", o.plain, want)
	}
	for _, part := range []string{"<h1>Gala &amp; &lt;Ball&gt;</h1>", "O&#39;Brien, &lt;x&gt;,", "<li>Stalls A 2 (Stalls), 42.50 EUR</li>", "<strong>85.00 EUR</strong>", "Order: 0198-7"} {
		if !strings.Contains(o.html, part) {
			t.Errorf("no %s in %s", part, o.html)
		}
	}
	if o.picture != nil || o.unknown != nil {
		t.Errorf("further parts: %d bytes of picture, %v", len(o.picture), o.unknown)
	}
}

func TestATicketHasItsCodeAndItsPicture(t *testing.T) {
	p := serve(t, plainText)
	s := p.sink("", "", func(c *Config) {
		c.Picture = func(code string) ([]byte, error) { return []byte("\x89PNG of " + code), nil }
	})
	if err := s.Deliver(t.Context(), issued("Ann", "ann@buyer.example", "ABCDEFGH234567")); err != nil {
		t.Fatal(err)
	}
	o := open(t, p.mails(t, 1)[0].raw)
	if o.subject != "Your ticket for gala: Stalls A 1" {
		t.Errorf("subject %q", o.subject)
	}
	for _, part := range []string{"Hello Ann,", "\ngala\n", "Stalls A 1 (Stalls), 42.50 EUR", "\nABCDEFGH234567\n", "Order: 0198-7"} {
		if !strings.Contains(o.plain, part) {
			t.Errorf("no %q in %q", part, o.plain)
		}
	}
	if strings.Contains(o.plain, "A 2") || strings.Contains(o.plain, "85.00") {
		t.Errorf("another seat in %q", o.plain)
	}
	if string(o.picture) != "\x89PNG of ABCDEFGH234567" || o.pictureID != "<ticket>" || !strings.Contains(o.html, `<img src="cid:ticket"`) {
		t.Errorf("picture %q as %s, in %s", o.picture, o.pictureID, o.html)
	}
	s = p.sink("", "", func(c *Config) { c.Picture = func(string) ([]byte, error) { return nil, errors.New("too long") } })
	if err := s.Deliver(t.Context(), issued("Ann", "ann@buyer.example", "ABC")); err != nil {
		t.Fatal(err)
	}
	if o := open(t, p.mails(t, 2)[1].raw); o.picture != nil || strings.Contains(o.html, "cid:") || !strings.Contains(o.html, "<code>ABC</code>") {
		t.Errorf("without a picture: %s", o.html)
	}
}

func TestARepeatIsTheSameMail(t *testing.T) {
	p := serve(t, plainText)
	for range 2 {
		if err := p.sink("", "").Deliver(t.Context(), paid("Ann", "ann@buyer.example")); err != nil {
			t.Fatal(err)
		}
	}
	all := p.mails(t, 2)
	one, two := open(t, all[0].raw), open(t, all[1].raw)
	for _, h := range []string{"Message-Id", "Date", "Subject", "To", "From"} {
		if one.head.Get(h) == "" || one.head.Get(h) != two.head.Get(h) {
			t.Errorf("%s is %q, then %q", h, one.head.Get(h), two.head.Get(h))
		}
	}
	if one.plain != two.plain || one.html != two.html {
		t.Error("the texts differ")
	}
	if got := messageID("a.b> <c\r\nBcc: x", "y@z.example"); got != "a-b---c--Bcc--x@z.example" {
		t.Errorf("a strange id becomes %q", got)
	}
}

func TestNobodyToWriteToIsDelivered(t *testing.T) {
	var said strings.Builder
	p := serve(t, plainText)
	s := p.sink("", "", func(c *Config) {
		c.Log = slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	other := paid("Ann", "ann@buyer.example")
	other.Topic = "order.expired"
	for _, m := range []outbox.Message{paid("Ann", ""), issued("", "", "C"), other} {
		if err := s.Deliver(t.Context(), m); err != nil {
			t.Error(err)
		}
	}
	p.mails(t, 0)
	if strings.Count(said.String(), "id=m1") != 3 || strings.Contains(said.String(), "Ann") || strings.Contains(said.String(), "buyer.example") {
		t.Errorf("said %q", said.String())
	}
	s = p.sink("", "&to=House+%3Chouse@house.example%3E")
	for _, m := range []outbox.Message{paid("Ann", ""), paid("Ann", "ann@buyer.example")} {
		if err := s.Deliver(t.Context(), m); err != nil {
			t.Error(err)
		}
	}
	if all := p.mails(t, 2); all[0].to != "house@house.example" || all[1].to != "ann@buyer.example" {
		t.Errorf("to %s and %s", all[0].to, all[1].to)
	}
}

func TestNothingInADocumentBecomesAHeaderOrARecipient(t *testing.T) {
	p := serve(t, plainText)
	evil := "Eve\r\nBcc: all@victim.example\r\n\r\n<script>x</script>\x00"
	s := p.sink("", "", func(c *Config) {
		c.Event = func(string) (Event, bool) { return Event{Name: evil, Venue: evil}, true }
	})
	m := paid(evil+`", <all@victim.example>, "`, "eve@buyer.example")
	for topic, label := range map[string]string{"order.paid": "A 1", "ticket.issued": `A\r\n.\r\nRCPT TO:<all@victim.example>`} {
		m.Topic = topic
		m.Body = []byte(strings.ReplaceAll(string(m.Body), "A 1", label))
		if err := s.Deliver(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	for _, got := range p.mails(t, 2) {
		o := open(t, got.raw)
		to, err := o.head.AddressList("To")
		if err != nil || len(to) != 1 || to[0].Address != "eve@buyer.example" || got.to != "eve@buyer.example" {
			t.Errorf("to %v, %v, %s", to, err, got.to)
		}
		for name := range o.head {
			if !strings.Contains(" Auto-Submitted Content-Type Date From Message-Id Mime-Version Subject To ", " "+name+" ") {
				t.Errorf("a header %s: %v", name, o.head[name])
			}
		}
		for _, text := range []string{o.subject, o.plain} {
			if !strings.Contains(text, "Eve Bcc: all@victim.example <script>x</script>") {
				t.Errorf("the event is more than one line in %q", text)
			}
		}
		if strings.Contains(o.html, "<script") {
			t.Errorf("markup of the document in %s", o.html)
		}
	}
	for _, bad := range []string{"eve@buyer.example\r\nBcc: all@victim.example", "Eve <eve@buyer.example>", "eve", "a@x,b@x", "eve@buyer.example>\r\nRCPT TO:<all@victim.example"} {
		if f := failure(t, s.Deliver(t.Context(), paid("Eve", bad))); strings.Contains(f.Reason, "eve") || !strings.Contains(f.Reason, "mail address is none") {
			t.Errorf("%q: reason %q", bad, f.Reason)
		}
	}
	p.mails(t, 2)
}

func TestLongTextsMakeNoLongLines(t *testing.T) {
	p := serve(t, plainText)
	long := strings.Repeat("Ä", 180)
	s := p.sink("", "", func(c *Config) {
		c.Event = func(string) (Event, bool) { return Event{Name: long + " " + long}, true }
		c.Picture = func(string) ([]byte, error) { return make([]byte, 3000), nil }
	})
	if err := s.Deliver(t.Context(), issued(strings.Repeat(`"`, 2000), "ann@buyer.example", strings.Repeat("C", 400))); err != nil {
		t.Fatal(err)
	}
	o := open(t, p.mails(t, 1)[0].raw)
	if o.longest > 998 { // RFC 5322, 2.1.1; it asks for 78, but a word is not broken
		t.Errorf("a line of %d bytes", o.longest)
	}
	if !strings.Contains(o.plain, long) || !strings.Contains(o.subject, long) || len(o.picture) != 3000 {
		t.Errorf("subject %q, text %q", o.subject, o.plain)
	}
}

func TestMoneyIsWrittenWithTheDigitsOfItsCurrency(t *testing.T) {
	s := New(Config{Digits: func(c string) (int, bool) {
		d, ok := map[string]int{"EUR": 2, "JPY": 0, "KWD": 3}[c]
		return d, ok
	}})
	for want, m := range map[string]money{
		"42.50 EUR": {4250, "EUR"}, "0.05 EUR": {5, "EUR"}, "1050 JPY": {1050, "JPY"}, "1.005 KWD": {1005, "KWD"}, "0 JPY": {0, "JPY"},
		"-0.05 EUR": {-5, "EUR"}, "0.00 XXX": {0, "XXX"}, "-92233720368547758.08 EUR": {-9223372036854775808, "EUR"},
	} {
		if got := s.money(m); got != want {
			t.Errorf("%+v is written %q, want %q", m, got, want)
		}
	}
}

func TestWhatIsNoDocumentIsAFailure(t *testing.T) {
	s := (&post{addr: "127.0.0.1:1"}).sink("", "")
	for _, body := range []string{"", "{}", `{"data":{"name":"secret"`, `{"data":{"orderId":7}}`} {
		m := paid("", "")
		m.Body = []byte(body)
		if f := failure(t, s.Deliver(t.Context(), m)); !strings.Contains(f.Reason, "cannot be read") || strings.Contains(f.Reason, "secret") {
			t.Errorf("%s: %q", body, f.Reason)
		}
	}
}
