package mailsink

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
)

func TestTheConnectionIsEncryptedAndTheServerIsKnown(t *testing.T) {
	p := serve(t, withStartTLS, "PLAIN")
	if err := p.encrypted("ann:hunter2@").Deliver(t.Context(), paid("Ann", "ann@buyer.example")); err != nil {
		t.Fatal(err)
	}
	if got := p.mails(t, 1)[0]; !got.encrypted || got.user != "ann" {
		t.Errorf("encrypted %v, as %s", got.encrypted, got.user)
	}
	stranger := p.encrypted("ann:hunter2@", func(c *Config) { c.Roots = nil })
	if f := failure(t, stranger.Deliver(t.Context(), paid("Ann", "ann@buyer.example"))); !strings.Contains(f.Reason, "cannot be encrypted") || !strings.Contains(f.Reason, "certificate") {
		t.Errorf("reason %q", f.Reason)
	}
	bare := serve(t, plainText, "PLAIN")
	if f := failure(t, bare.encrypted("ann:hunter2@").Deliver(t.Context(), paid("Ann", "ann@buyer.example"))); !strings.Contains(f.Reason, "offers no encryption") {
		t.Errorf("reason %q", f.Reason)
	}
	bare.mails(t, 0)
	p = serve(t, withTLS, "LOGIN")
	s := New(Config{URL: "smtps://ann:hunter2@" + p.addr + "/?from=tickets@house.example", Roots: p.roots})
	if err := s.Deliver(t.Context(), paid("Ann", "ann@buyer.example")); err != nil {
		t.Fatal(err)
	}
	if got := p.mails(t, 1)[0]; !got.encrypted || got.user != "ann" {
		t.Errorf("encrypted %v, as %s", got.encrypted, got.user)
	}
	s = New(Config{URL: "smtps://ann:hunter2@" + p.addr + "/?from=tickets@house.example"})
	if f := failure(t, s.Deliver(t.Context(), paid("Ann", "ann@buyer.example"))); !strings.Contains(f.Reason, "certificate") {
		t.Errorf("reason %q", f.Reason)
	}
}

func TestAWrongPasswordIsSaidAndNotPrinted(t *testing.T) {
	for _, mech := range []string{"PLAIN", "LOGIN"} {
		p := serve(t, withStartTLS, mech)
		s := p.encrypted("ann:hunter2bad@")
		f := failure(t, s.Deliver(t.Context(), paid("Ann", "ann@buyer.example")))
		if !strings.HasPrefix(f.Reason, "the mail server refuses user or password for good: 535 5.7.8 not with (password)") || strings.Contains(f.Reason+s.String(), "hunter2") {
			t.Errorf("%s: reason %q of %s", mech, f.Reason, s)
		}
	}
	for mechs, want := range map[string]string{"": "takes no user and password", "CRAM-MD5": "neither by PLAIN nor by LOGIN"} {
		p := serve(t, withStartTLS, strings.Fields(mechs)...)
		if f := failure(t, p.encrypted("ann:hunter2@").Deliver(t.Context(), paid("Ann", "ann@buyer.example"))); !strings.Contains(f.Reason, want) {
			t.Errorf("%q: reason %q", mechs, f.Reason)
		}
		p.mails(t, 0)
	}
}

func TestWhatTheServerRefusesIsSaidWithoutTheRecipient(t *testing.T) {
	p := serve(t, plainText)
	s := p.sink("", "")
	saidAs := func(code, class, detail int, text string) error {
		return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCode{code / 100, class, detail}, Message: text}
	}
	said := func(code int, text string) error { return saidAs(code, 1, 1, text) }
	for _, c := range []struct {
		command string
		answer  error
		final   bool // another try would not help
		want    string
	}{
		{"RCPT", said(550, "<Eve.X@Buyer.example>: no mailbox eve.x here"), true, "the mail server refuses the recipient for good: 550 5.1.1 <(recipient)>: no mailbox (recipient) here; see the mail address in the order"},
		{"RCPT", said(451, "eve.x@buyer.example is greylisted"), false, "the mail server refuses the recipient for now: 451 4.1.1 (recipient) is greylisted"},
		{"MAIL", said(553, "not yours"), false, "the mail server refuses the sender for good: 553 5.1.1 not yours; see from= and the user of the sink"},
		{"DATA", said(554, "no"), true, "the mail server refuses the mail for good: 554 5.1.1 no"},
		{"DATA", saidAs(554, 7, 1, "spam"), false, "the mail server refuses the mail for good: 554 5.7.1 spam"},
		{"RCPT", saidAs(550, 7, 1, "no relaying"), false, "the mail server refuses the recipient for good: 550 5.7.1 no relaying; see the mail address in the order"},
		{"RCPT", saidAs(552, 2, 2, "over quota"), false, "the mail server refuses the recipient for good: 552 5.2.2 over quota; see the mail address in the order"},
		{"RCPT", saidAs(550, 2, 21, "no"), true, "the mail server refuses the recipient for good: 550 5.2.21 no; see the mail address in the order"},
		{"DATA", said(452, "full"), false, "the mail server refuses the mail for now: 452 4.1.1 full"},
	} {
		p.refuses(c.command, c.answer)
		if f := failure(t, s.Deliver(t.Context(), paid("Eve", "eve.x@buyer.example"))); f.Reason != c.want || f.Gone || f.Final != c.final {
			t.Errorf("got %+v, want %q", f, c.want)
		}
		p.mails(t, 0)
		p.refuses(c.command, nil)
	}
	if err := s.Deliver(t.Context(), paid("Eve", "eve.x@buyer.example")); err != nil {
		t.Errorf("once it is well: %v", err)
	}
	p.mails(t, 1)
}

func TestAServerThatIsAwayOrSilentIsAFailureInTime(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &post{addr: l.Addr().String()}
	s := p.sink("", "", func(c *Config) { c.Timeout = 200 * time.Millisecond })
	if f := failure(t, s.Deliver(t.Context(), paid("Ann", "ann@buyer.example"))); f.Reason != "the mail server gave no answer in time" {
		t.Errorf("silent: %q", f.Reason)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if err := p.sink("", "").Deliver(ctx, paid("Ann", "ann@buyer.example")); !errors.Is(err, context.Canceled) {
		t.Errorf("cut off: %v", err)
	}
	_ = l.Close()
	if f := failure(t, s.Deliver(t.Context(), paid("Ann", "ann@buyer.example"))); !strings.Contains(f.Reason, "cannot be reached") || !strings.Contains(f.Reason, "connection refused") {
		t.Errorf("away: %q", f.Reason)
	}
}

func TestAMailTheServerHasIsDeliveredWhateverComesAfter(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close() // after the mail, without a word to QUIT
		for _, say := range []string{"220 hello", "250 mail.example", "250 ok", "250 ok", "354 go on"} {
			if _, err := io.WriteString(conn, say+"\r\n"); err != nil {
				return
			}
			if strings.HasPrefix(say, "354") {
				break
			}
			if _, err := conn.Read(make([]byte, 4096)); err != nil {
				return
			}
		}
		for got := ""; !strings.HasSuffix(got, "\r\n.\r\n"); {
			b := make([]byte, 4096)
			n, err := conn.Read(b)
			if err != nil {
				return
			}
			got += string(b[:n])
		}
		_, _ = io.WriteString(conn, "250 taken\r\n")
	}()
	if err := (&post{addr: l.Addr().String()}).sink("", "").Deliver(t.Context(), paid("Ann", "ann@buyer.example")); err != nil {
		t.Errorf("it would be sent again: %v", err)
	}
}

func TestAddressesBeyondASCIINeedAServerThatTakesThem(t *testing.T) {
	p := serve(t, plainText)
	p.wantUTF8 = true
	if err := p.sink("", "").Deliver(t.Context(), paid("Jörg", "jörg@buyer.example")); err != nil {
		t.Fatal(err)
	}
	if got := p.mails(t, 1)[0]; got.to != "jörg@buyer.example" {
		t.Errorf("to %s", got.to)
	}
}
