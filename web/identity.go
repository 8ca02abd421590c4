package web

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"foyer/sale"
)

const (
	visitorCookie  = "foyer_visitor"
	staffCookie    = "foyer_staff"
	hostPrefix     = "__Host-" // RFC 6265bis: only this host, only TLS
	staffSession   = 12 * time.Hour
	visitorSession = 400 * 24 * time.Hour // what browsers keep at most
	tagSize        = 16                   // bytes of a credential's HMAC
)

// Header names in the canonical form that http.Header has as keys, and values
// shared by all answers; the slices are full, so an append copies.
const (
	headerVisitor      = "X-Visitor"
	headerContentType  = "Content-Type"
	headerCacheControl = "Cache-Control"
)

var (
	typeJSON = []string{"application/json"}
	noStore  = []string{"no-store"}
	noCache  = []string{"no-cache"}
)

// credential is base64url of the visitor's 16 bytes and the first 16 bytes of
// their tag: 43 characters.
func (s *Server) credential(visitor uuid.UUID) string {
	b := make([]byte, 0, 16+sha256.Size)
	b = append(b, visitor[:]...)
	b = s.visitorKey.Tag(b, visitor[:])
	return base64.RawURLEncoding.EncodeToString(b[:16+tagSize])
}

var strictBase64 = base64.RawURLEncoding.Strict()

// visitorOf checks a credential. Whatever is malformed is nobody.
func (s *Server) visitorOf(credential string) (v uuid.UUID, ok bool) {
	var text [43]byte
	var buf [16 + tagSize + 1]byte
	if len(credential) != len(text) {
		return v, false
	}
	copy(text[:], credential)
	n, err := strictBase64.Decode(buf[:], text[:])
	if err != nil || n != 16+tagSize {
		return v, false
	}
	var tag [sha256.Size]byte
	s.visitorKey.Tag(tag[:0], buf[:16])
	if subtle.ConstantTimeCompare(tag[:tagSize], buf[16:16+tagSize]) != 1 {
		return v, false
	}
	return uuid.UUID(buf[:16]), true
}

// visitor tells who asks, from the header or else the cookie.
func (s *Server) visitor(c echo.Context) (uuid.UUID, bool) { return s.visitorIn(c.Request()) }

func (s *Server) visitorIn(r *http.Request) (uuid.UUID, bool) {
	if h := r.Header[headerVisitor]; len(h) > 0 {
		return s.visitorOf(h[0])
	}
	return s.visitorOf(cookie(r.Header, s.cookieName(r, visitorCookie)))
}

// need is visitor, or the refusal.
func (s *Server) need(c echo.Context) (uuid.UUID, error) {
	v, ok := s.visitor(c)
	if !ok {
		return v, sale.ErrNoVisitor
	}
	return v, nil
}

// buyer tells whose order is meant: the credential's visitor, or without one
// the visitor of an authentic entry token. uuid.Nil owns nothing.
func (s *Server) buyer(c echo.Context) uuid.UUID {
	r := c.Request()
	if v, ok := s.visitor(c); ok {
		return v
	}
	if token := entryToken(r.Header); token != "" {
		if v, ok := s.office.TokenVisitor(token); ok {
			return v
		}
	}
	return uuid.Nil
}

func entryToken(h http.Header) string {
	for _, name := range [...]string{"X-Entry-Token", "X-Queue-Token"} { // in the canonical form
		if t := h[name]; len(t) > 0 && t[0] != "" {
			return t[0]
		}
	}
	return ""
}

// newVisitor makes a visitor and sets his cookie, within the rate limit. The
// answer must not be cached then, and says so.
func (s *Server) newVisitor(c echo.Context) (v uuid.UUID, credential string, err error) {
	if err := s.limited(c); err != nil {
		return v, "", err
	}
	if v, err = uuid.NewRandom(); err != nil {
		return v, "", err
	}
	return v, s.become(c, v), nil
}

// become makes the browser this visitor's, and gives his credential.
func (s *Server) become(c echo.Context, v uuid.UUID) (credential string) {
	credential = s.credential(v)
	s.setCookie(c, visitorCookie, credential, visitorSession, http.SameSiteLaxMode)
	return credential
}

// cookieName is the name under the request's scheme: under TLS the prefixed
// cookie alone counts, since a plain one may come from a neighbouring host.
func (s *Server) cookieName(r *http.Request, name string) string {
	if s.scheme(r) != "https" {
		return name
	}
	if name == visitorCookie { // the usual case, without an allocation
		return hostPrefix + visitorCookie
	}
	return hostPrefix + name
}

func (s *Server) setCookie(c echo.Context, name, value string, age time.Duration, site http.SameSite) {
	r := c.Request()
	c.SetCookie(&http.Cookie{
		Name: s.cookieName(r, name), Value: value, Path: "/", MaxAge: int(age / time.Second),
		HttpOnly: true, Secure: s.scheme(r) == "https", SameSite: site,
	})
	c.Response().Header()[headerCacheControl] = noStore
}

// cookie finds a cookie's value without parsing the others.
func cookie(h http.Header, name string) string {
	for _, line := range h["Cookie"] {
		for line != "" {
			var part string
			part, line, _ = strings.Cut(line, ";")
			part = strings.TrimLeft(part, " \t")
			if len(part) > len(name) && part[len(name)] == '=' && part[:len(name)] == name {
				return strings.Trim(strings.TrimRight(part[len(name)+1:], " \t"), `"`)
			}
		}
	}
	return ""
}

// bearer is the key of an Authorization: Bearer header.
func bearer(h http.Header) (key string, sent bool) {
	v := h.Get(echo.HeaderAuthorization)
	if len(v) < 7 || !strings.EqualFold(v[:7], "Bearer ") {
		return "", v != ""
	}
	return strings.TrimSpace(v[7:]), true
}

// staffSession tells which key asks: the one in the Authorization header, or
// else the one that logged in. A key that was removed is out at once.
func (s *Server) staffSession(c echo.Context) (*sale.Key, error) {
	r := c.Request()
	if key, sent := bearer(r.Header); sent {
		return s.authenticate(c, key)
	}
	k, ok := s.openSession(cookie(r.Header, s.cookieName(r, staffCookie)), time.Now())
	if !ok {
		return nil, errNoKey
	}
	return k, nil
}

// login starts a session of 12 hours for a key's owner.
func (s *Server) login(c echo.Context, k *sale.Key) {
	s.setCookie(c, staffCookie, s.sealSession(k, time.Now()), staffSession, http.SameSiteStrictMode)
}

// logout ends the session in this browser.
func (s *Server) logout(c echo.Context) {
	s.setCookie(c, staffCookie, "", -time.Second, http.SameSiteStrictMode)
}

// keyMark is how much of a key's hash a session carries, so that it ends when
// another secret takes over the key's id.
const keyMark = 8 // bytes

// sealSession is base64url of: seconds since 1970 (8 bytes), keyMark bytes of the
// key's hash, its id, and a 32-byte tag over all of them.
func (s *Server) sealSession(k *sale.Key, at time.Time) string {
	b := binary.BigEndian.AppendUint64(nil, uint64(at.Unix()))
	b = append(b, k.Hash[:keyMark]...)
	b = append(b, k.ID...)
	return base64.RawURLEncoding.EncodeToString(s.staffKey.Tag(b, b))
}

// openSession finds the key of an authentic session that is not too old.
func (s *Server) openSession(sealed string, now time.Time) (*sale.Key, bool) {
	_, k, ok := s.readSession(sealed, now)
	return k, ok
}

// readSession is openSession, and tells when the session began, to the second.
func (s *Server) readSession(sealed string, now time.Time) (began time.Time, k *sale.Key, ok bool) {
	b, err := strictBase64.DecodeString(sealed)
	if err != nil || len(b) <= 8+keyMark+sha256.Size || len(b) > 256 {
		return began, nil, false
	}
	body, tag := b[:len(b)-sha256.Size], b[len(b)-sha256.Size:]
	if !hmac.Equal(tag, s.staffKey.Tag(nil, body)) {
		return began, nil, false
	}
	began = time.Unix(int64(binary.BigEndian.Uint64(body)), 0)
	age := now.Sub(began)
	if age < -time.Minute || age >= staffSession {
		return began, nil, false
	}
	k, ok = s.office.KeyByID(string(body[8+keyMark:]))
	return began, k, ok && bytes.Equal(body[8:8+keyMark], k.Hash[:keyMark])
}

// staffHandler answers a request that a key's owner makes.
type staffHandler func(c echo.Context, by *sale.Key) error

// as lets in keys of a role, by header or session.
func (s *Server) as(role sale.Role, h staffHandler) echo.HandlerFunc {
	return func(c echo.Context) error {
		k, err := s.staffSession(c)
		if err != nil {
			return err
		}
		if !k.Role.Includes(role) {
			return errWrongRole
		}
		return h(c, k)
	}
}

// staffActor begins what names a key in the audit and in the history of orders.
const staffActor = "staff:"

// actor names a key in the audit.
func actor(k *sale.Key) string { return staffActor + k.ID }

// param is a path parameter, unescaped. Its bytes may be anything.
func param(c echo.Context, name string) string {
	v := c.Param(name)
	if c.Request().URL.RawPath == "" || !strings.Contains(v, "%") {
		return v
	}
	plain, err := url.PathUnescape(v)
	if err != nil {
		return v
	}
	return plain
}

// id is a path parameter that must be the canonical form of one of our ids.
func id(c echo.Context, name string) (uuid.UUID, bool) {
	v := param(c, name)
	u, err := uuid.Parse(v)
	return u, err == nil && len(v) == 36
}
