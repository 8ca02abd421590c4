package mailsink

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/textproto"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"

	"foyer/outbox"
)

// refusal is what went wrong, in words of the venue, and where the server said it.
type refusal struct {
	what string // "the mail server refuses the recipient"
	hint string // what staff can do, when it is for good; may be empty
	err  error
	ours bool // it speaks of this mail or its recipient, not of the sender, the password or the server
}

func (r *refusal) Error() string { return r.what + ": " + r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

// send hands the mail to the server.
func (s *Sink) send(ctx context.Context, m *gomail.Msg, to *mail.Address) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	err := s.talk(ctx, m, to)
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	case ctx.Err() != nil:
		return &outbox.Failure{Reason: "the mail server gave no answer in time"}
	}
	var r *refusal
	var said *textproto.Error
	reason, final := err.Error(), false
	if errors.As(err, &r) && errors.As(err, &said) {
		final = r.ours && forGood(said)
		switch {
		case said.Code/100 != 5:
			reason = fmt.Sprintf("%s for now: %d %s", r.what, said.Code, said.Msg)
		case r.hint != "":
			reason = fmt.Sprintf("%s for good: %d %s; %s", r.what, said.Code, said.Msg, r.hint)
		default:
			reason = fmt.Sprintf("%s for good: %d %s", r.what, said.Code, said.Msg)
		}
	}
	return &outbox.Failure{Reason: s.redact(reason, to), Final: final}
}

// lasting are enhanced status codes (RFC 3463) of permanent refusals that staff
// or time can mend, so that the same mail may pass later: a full mailbox, and
// policy, such as a sender that may not relay or is taken for a source of spam.
var lasting = regexp.MustCompile(`^5\.(2\.2|7\.\d+)\b`)

// forGood tells whether a server will never take this mail.
func forGood(said *textproto.Error) bool {
	return said.Code/100 == 5 && !lasting.MatchString(said.Msg)
}

// redact leaves the recipient and the password out of what a server said; it likes to repeat the address.
func (s *Sink) redact(text string, to *mail.Address) string {
	local := to.Address[:strings.LastIndex(to.Address, "@")]
	for _, hide := range []string{to.Address, local} {
		text = regexp.MustCompile(`(?i)(^|[^\pL\pN])`+regexp.QuoteMeta(hide)+`($|[^\pL\pN])`).ReplaceAllString(text, "${1}(recipient)${2}")
	}
	if s.to.password != "" {
		text = strings.ReplaceAll(text, s.to.password, "(password)")
	}
	return outbox.Clip(text)
}

// talk is the whole conversation with the server (RFC 5321); it ends with ctx.
func (s *Sink) talk(ctx context.Context, m *gomail.Msg, to *mail.Address) error {
	conn, done, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer done()
	c, err := s.greet(ctx, conn)
	if err != nil {
		return err
	}
	ascii := isASCII(s.to.from.Address + to.Address)
	if utf8, _ := c.Extension("SMTPUTF8"); !utf8 && !ascii {
		return errors.New("the mail server takes no addresses with letters beyond ASCII (SMTPUTF8)")
	}
	c.SkipSMTPUTF8(ascii) // servers further on may not know it
	if err := c.Mail("<" + s.to.from.Address + ">"); err != nil {
		return &refusal{"the mail server refuses the sender", "see from= and the user of the sink", err, false}
	}
	if err := c.Rcpt("<" + to.Address + ">"); err != nil {
		return &refusal{"the mail server refuses the recipient", "see the mail address in the order", err, true}
	}
	w, err := c.Data()
	if err != nil {
		return &refusal{"the mail server refuses the mail", "", err, true}
	}
	if _, err := m.WriteTo(w); err != nil {
		return &refusal{"the mail cannot be sent", "", err, false}
	}
	if err := w.Close(); err != nil {
		return &refusal{"the mail server refuses the mail", "", err, true}
	}
	_ = conn.SetDeadline(time.Now().Add(time.Second)) // it has the mail; what it says now, or whether, does not matter
	_ = c.Quit()
	return nil
}

// dial connects; done closes the connection, which ends with ctx too.
func (s *Sink) dial(ctx context.Context) (conn net.Conn, done func(), err error) {
	conn, err = new(net.Dialer).DialContext(ctx, "tcp", s.to.hostport())
	if err != nil {
		return nil, nil, &refusal{"the mail server cannot be reached", "", err, false}
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	return conn, func() {
		stop()
		_ = conn.Close()
	}, nil
}

// greet encrypts the connection and signs on.
func (s *Sink) greet(ctx context.Context, conn net.Conn) (*smtp.Client, error) {
	config := &tls.Config{ServerName: s.to.host, RootCAs: s.cfg.Roots, MinVersion: tls.VersionTLS12}
	if s.to.secure == implicitTLS {
		secured := tls.Client(conn, config)
		if err := secured.HandshakeContext(ctx); err != nil {
			return nil, &refusal{"the connection to the mail server cannot be encrypted", "", err, false}
		}
		conn = secured
	}
	c, err := smtp.NewClient(conn, s.to.host)
	if err != nil {
		return nil, &refusal{"the mail server refuses the connection", "", err, false}
	}
	if err := c.Hello(ownName()); err != nil {
		return nil, &refusal{"the mail server refuses the connection", "", err, false}
	}
	if s.to.secure == startTLS {
		if offered, _ := c.Extension("STARTTLS"); !offered {
			return nil, errors.New("the mail server offers no encryption (STARTTLS), so nothing is sent; tls=none in the address allows it")
		}
		if err := c.StartTLS(config); err != nil {
			return nil, &refusal{"the connection to the mail server cannot be encrypted", "", err, false}
		}
	}
	return c, s.signOn(c)
}

// signOn gives user and password, if the address has them. The connection is encrypted or ends on this machine.
func (s *Sink) signOn(c *smtp.Client) error {
	if s.to.user == "" {
		return nil
	}
	offered, list := c.Extension("AUTH")
	if !offered {
		return errors.New("the mail server takes no user and password here, but the address has them")
	}
	kinds := strings.Fields(list)
	var auth smtp.Auth
	switch {
	case slices.Contains(kinds, "PLAIN"):
		auth = smtp.PlainAuth("", s.to.user, s.to.password, s.to.host, true)
	case slices.Contains(kinds, "LOGIN"):
		auth = smtp.LoginAuth(s.to.user, s.to.password, s.to.host, true)
	default:
		return errors.New("the mail server takes passwords neither by PLAIN nor by LOGIN")
	}
	if err := c.Auth(auth); err != nil {
		return &refusal{"the mail server refuses user or password", "see the address of the sink", err, false}
	}
	return nil
}

// ownName is how this machine presents itself.
func ownName() string {
	if name, err := os.Hostname(); err == nil && name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-") == "" {
		return name
	}
	return "localhost"
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return c > 0x7e })
}
