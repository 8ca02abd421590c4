package mailsink

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/http/httptest"
	"net/mail"
	"strings"
	"sync"
	"testing"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// post is a mail server that keeps what it takes.
type post struct {
	addr  string
	roots *x509.CertPool // who signs its certificate

	mu       sync.Mutex
	taken    []letterbox
	refuse   map[string]error // by command: AUTH, MAIL, RCPT, DATA
	mechs    []string         // ways to sign on; none: it does not ask
	wantUTF8 bool
}

// letterbox is a mail as the server got it.
type letterbox struct {
	user, from, to string
	encrypted      bool
	raw            string
}

const (
	plainText = iota // it offers no encryption
	withStartTLS
	withTLS
)

// serve starts a mail server on 127.0.0.1.
func serve(t *testing.T, encryption int, mechs ...string) *post {
	t.Helper()
	https := httptest.NewTLSServer(nil) // for its certificate
	https.Close()
	p := &post{roots: x509.NewCertPool(), refuse: map[string]error{}, mechs: mechs}
	p.roots.AddCert(https.Certificate())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.addr = l.Addr().String()
	srv := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) { return &session{p: p, conn: c}, nil }))
	srv.Domain = "mail.example"
	srv.AllowInsecureAuth = true
	srv.EnableSMTPUTF8 = true
	srv.ErrorLog = quiet{}
	config := &tls.Config{Certificates: https.TLS.Certificates}
	switch encryption {
	case withStartTLS:
		srv.TLSConfig = config
	case withTLS:
		l = tls.NewListener(l, config)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	t.Cleanup(func() {
		_ = srv.Close()
		<-served
	})
	return p
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}
func (quiet) Println(...any)        {}

func (p *post) refuses(command string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse[command] = err
}

func (p *post) answer(command string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refuse[command]
}

// mails returns what the server took, n mails.
func (p *post) mails(t *testing.T, n int) []letterbox {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.taken) != n {
		t.Fatalf("the server has %d mails, want %d", len(p.taken), n)
	}
	return p.taken
}

// session is one connection.
type session struct {
	p    *post
	conn *smtp.Conn
	mail letterbox
}

func (s *session) AuthMechanisms() []string { return s.p.mechs }

func (s *session) Auth(mech string) (sasl.Server, error) {
	check := func(user, password string) error {
		if user != "ann" || password != "hunter2" {
			return &smtp.SMTPError{Code: 535, EnhancedCode: smtp.EnhancedCode{5, 7, 8}, Message: "not with " + password}
		}
		s.mail.user = user
		return s.p.answer("AUTH")
	}
	if mech == sasl.Plain {
		return sasl.NewPlainServer(func(_, user, password string) error { return check(user, password) }), nil
	}
	return &login{check: check}, nil
}

// login is the old LOGIN mechanism: two questions.
type login struct {
	said  []string
	check func(user, password string) error
}

func (l *login) Next(response []byte) ([]byte, bool, error) {
	if response != nil {
		l.said = append(l.said, string(response))
	}
	switch len(l.said) {
	case 0:
		return []byte("Username:"), false, nil
	case 1:
		return []byte("Password:"), false, nil
	}
	return nil, true, l.check(l.said[0], l.said[1])
}

func (s *session) Mail(from string, o *smtp.MailOptions) error {
	if o != nil && o.UTF8 != s.p.wantUTF8 {
		return errors.New("SMTPUTF8 is asked for without need, or not asked for")
	}
	s.mail.from = from
	return s.p.answer("MAIL")
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.mail.to += to
	return s.p.answer("RCPT")
}

func (s *session) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	_, s.mail.encrypted = s.conn.TLSConnectionState()
	s.mail.raw = string(raw)
	if err := s.p.answer("DATA"); err != nil {
		return err
	}
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	s.p.taken = append(s.p.taken, s.mail)
	return nil
}

func (s *session) Reset()        {}
func (s *session) Logout() error { return nil }

// opened is a mail as a reader sees it.
type opened struct {
	head        mail.Header
	subject     string
	plain, html string
	picture     []byte
	pictureID   string
	unknown     []string // media types of other parts
	longest     int      // line, in bytes
}

func open(t *testing.T, raw string) *opened {
	t.Helper()
	m, err := mail.ReadMessage(strings.NewReader(raw))
	if err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	o := &opened{head: m.Header}
	for line := range strings.Lines(raw) {
		o.longest = max(o.longest, len(line))
	}
	if o.subject, err = new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject")); err != nil {
		t.Fatal(err)
	}
	o.part(t, m.Header.Get("Content-Type"), m.Header.Get("Content-Transfer-Encoding"), "", m.Body)
	return o
}

func (o *opened) part(t *testing.T, kind, encoding, id string, r io.Reader) {
	t.Helper()
	media, params, err := mime.ParseMediaType(kind)
	if err != nil {
		t.Fatalf("%v: %q", err, kind)
	}
	if strings.HasPrefix(media, "multipart/") {
		for parts := multipart.NewReader(r, params["boundary"]); ; {
			p, err := parts.NextRawPart()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			o.part(t, p.Header.Get("Content-Type"), p.Header.Get("Content-Transfer-Encoding"), p.Header.Get("Content-Id"), p)
		}
	}
	switch encoding {
	case "quoted-printable":
		r = quotedprintable.NewReader(r)
	case "base64":
		r = base64.NewDecoder(base64.StdEncoding, r)
	}
	body, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	body = bytes.ReplaceAll(body, []byte("\r\n"), []byte("\n"))
	switch media {
	case "text/plain":
		o.plain += string(body)
	case "text/html":
		o.html += string(body)
	case "image/png":
		o.picture, o.pictureID = body, id
	default:
		o.unknown = append(o.unknown, media)
	}
}
