package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mccutchen/go-httpbin/v2/httpbin"
)

// protect runs foyer protect in front of a shop of somebody else.
func protect(t *testing.T, more ...string) (s *shopfront, shop *httptest.Server) {
	t.Helper()
	shop = httptest.NewServer(httpbin.New())
	t.Cleanup(shop.Close)
	s = &shopfront{t: t, w: newWorld(t), form: 200_000, shop: strings.TrimPrefix(shop.URL, "http://")}
	s.w.env["FOYER_ADMIN_KEY"] = "open sesame"
	port := freePort(t)
	s.url = "http://127.0.0.1:" + port
	args := []string{"protect", "--upstream", shop.URL, "--event", "gala-2027", "--addr", "127.0.0.1:0", "--listen", "127.0.0.1:" + port, "--data", filepath.Join(s.w.dir, "data")}
	s.foyer, s.stop = s.w.start(append(args, more...)...)
	s.wait()
	return s, shop
}

func TestProtectPutsFoyerInFrontOfAShop(t *testing.T) {
	s, _ := protect(t, "--exclude", hooks+"*")
	s.guest().get("/get").sees(503) // there is no event yet
	s.makeEvent()
	s.guest().do("POST", "/post", "a=b").sees(429, `href="/events/gala-2027"`, "To the waiting room")
	s.visit()
	for _, path := range []string{"/admin", "/api/v1/admin/keys", "/metrics", "/readyz", "/events", "/api/v1/events/other", "/static/base.css"} {
		if g := s.guest().stay().get(path, "Authorization", "Bearer open sesame"); g.status == 200 {
			t.Errorf("%s is served to the public: %.200s", path, g.body)
		}
	}
	if !strings.Contains(s.w.out.String(), "The public comes to "+s.url) {
		t.Errorf("it says %s", s.w.out.String())
	}
}

func TestProtectTellsTheShopWhoAsksAndHidesWhatIsForged(t *testing.T) {
	s, _ := protect(t)
	s.makeEvent()
	g := s.guest().joins()
	g.get("/headers", "Cookie", "foyer_staff=forged; cart=7"+g.cookies()).sees(200, "cart=7").silent("forged")
	g.get("/headers", "X_Foyer_Visitor", "forged", "X-Foyer-Other", "forged", "X-Forwarded-For", "192.0.2.66", "X-Forwarded-Proto", "https", "X-Real-IP", "192.0.2.66", "Connection", "X-Hop", "X-Hop", "hop").sees(200).silent("forged", "192.0.2.66", "X-Hop")
	for name, want := range map[string]string{
		"X-Forwarded-For": "127.0.0.1", "X-Forwarded-Proto": "http", "X-Forwarded-Host": strings.TrimPrefix(s.url, "http://"), "X-Real-Ip": "127.0.0.1", "Host": strings.TrimPrefix(s.url, "http://"),
	} {
		if got := g.shopHeader(name); got != want {
			t.Errorf("the shop gets %s: %q, want %q", name, got, want)
		}
	}
}

// Nothing that a shop might take for an address, a client's name or another
// protocol gets to it from somebody who has no turn (B160, B161).
func TestProtectsExcludedPathsLeadNowhereElse(t *testing.T) {
	s, _ := protect(t, "--exclude", hooks+"*")
	s.makeEvent()
	for _, path := range []string{"..;/get", "..;a=b/get", "%2e%2e;/get", "..%3b/get", ".;/get", "..%20/get", ";/get", "pay;v=1", "p%61y"} {
		s.guest().stay().get(hooks + path).sees(303)
	}
	g := s.guest().get(hooks+"pay", "X-Original-URL", "/forged", "X-Rewrite-URL", "/forged", "X_Forwarded_For", "forged", "X_Real-IP", "forged",
		"X-Forwarded-Prefix", "/forged", "X-Forwarded-Port", "forged").sees(200).silent("forged")
	if got := g.shopHeader("X-Forwarded-For"); got != "127.0.0.1" {
		t.Errorf("the shop gets X-Forwarded-For %q", got)
	}
	s.guest().get(hooks+"pay", "Connection", "Upgrade, HTTP2-Settings", "Upgrade", "h2c", "HTTP2-Settings", "AAMAAABkAARAAAAAAAIAAAAA").sees(200).silent("h2c", "Http2-Settings")
	s.guest().get(hooks+"pay", "Connection", "Upgrade", "Upgrade", "h2c", "HTTP2-Settings", "AAMAAABkAARAAAAAAAIAAAAA").sees(200).silent("h2c", "Http2-Settings")
}

func TestCheckTakesAllTheCookiesOfAShop(t *testing.T) {
	s, _ := protect(t)
	s.makeEvent()
	s.url = s.foyer
	for _, size := range []int{8 << 10, 60 << 10} {
		s.guest().stay().get("/api/v1/check?event=gala-2027", "Cookie", "big="+strings.Repeat("x", size)).sees(303)
	}
}

// begins sends the head of a request, and perhaps more, and reads the answer.
func (s *shopfront) begins(request string) (status int) {
	s.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	_, _ = io.WriteString(conn, strings.ReplaceAll(request, "\n", "\r\n"))
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		s.t.Fatalf("%q: %v", request, err)
	}
	return resp.StatusCode
}

func TestBadBodyIsNotBlamedOnTheShop(t *testing.T) {
	s, _ := protect(t, "--exclude", hooks+"*")
	s.makeEvent()
	if got := s.begins("POST " + hooks + "pay HTTP/1.1\nHost: shop\nTransfer-Encoding: chunked\n\nno chunk\n"); got != 400 {
		t.Errorf("got %d, want 400", got)
	}
	if strings.Contains(s.w.err.String(), "shop_unavailable") {
		t.Errorf("the log says %s", s.w.err.String())
	}
}

func TestLargeUploadIsKeptOutBeforeItIsSent(t *testing.T) {
	s, _ := protect(t)
	s.makeEvent()
	for _, head := range []string{"Content-Length: 100000000\n\n", "Content-Length: 1000\nExpect: 100-continue\n\n"} {
		if got := s.begins("POST /post HTTP/1.1\nHost: shop\n" + head); got != 429 {
			t.Errorf("%q: got %d, want 429", head, got)
		}
	}
}

func TestProtectKeepsWhatATrustedProxyTells(t *testing.T) {
	s, _ := protect(t, "--exclude", hooks+"*", "--trusted-proxies", "127.0.0.1")
	g := s.guest().get(hooks+"pay", "X-Forwarded-For", "192.0.2.66", "X-Forwarded-Proto", "https", "X-Forwarded-Port", "443", "X_Forwarded_Port", "forged").sees(200).silent("forged")
	for name, want := range map[string]string{"X-Forwarded-For": "192.0.2.66, 127.0.0.1", "X-Forwarded-Proto": "https", "X-Forwarded-Port": "443", "X-Real-Ip": "192.0.2.66"} {
		if got := g.shopHeader(name); got != want {
			t.Errorf("the shop gets %s: %q, want %q", name, got, want)
		}
	}
}

func TestProtectKeepsAndOpensItsDoorsAsItIsTold(t *testing.T) {
	for _, open := range []bool{false, true} {
		var more []string
		if open {
			more = []string{"--fail-open"}
		}
		s, shop := protect(t, more...)
		if g := s.guest().stay().get("/get"); open && g.status != 200 || !open && g.status != 503 {
			t.Errorf("without the event, fail-open %v: %d", open, g.status)
		}
		if said := s.w.out.String(); open != strings.Contains(said, "--fail-open lets everybody in") || open == strings.Contains(said, "nobody gets in") {
			t.Errorf("without the event, fail-open %v: it says %s", open, said)
		}
		s.makeEvent()
		s.guest().stay().get("/get").sees(303) // fail-open is for what cannot be decided
		g := s.guest().joins()
		shop.Close()
		g.get("/get").sees(502, "The shop does not answer", "Try again")
		g.get("/get?a=b", "Accept", "application/json").sees(502, "shop_unavailable")
		g.get("/get?a=b&c=d").sees(502, `href="/get?a=b&amp;c=d"`)
		g.client.Transport = rawPath("//evil.example/x")
		g.get("/").sees(502, "Try again").silent("evil.example")
	}
}

func TestProtectLetsWebSocketsAndStreamsPass(t *testing.T) {
	s, _ := protect(t)
	s.makeEvent()
	g := s.guest().joins()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	_, _ = io.WriteString(conn, "GET /websocket/echo HTTP/1.1\r\nHost: shop\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nCookie: x=1"+g.cookies()+"\r\n\r\n")
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, nil)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("got %v, %v", resp, err)
	}
	_, _ = conn.Write([]byte{0x81, 0x82, 0, 0, 0, 0, 'h', 'i'}) // RFC 6455: a text of two bytes, masked with zeros
	frame := make([]byte, 4)
	if _, err := io.ReadFull(in, frame); err != nil || string(frame) != "\x81\x02hi" {
		t.Errorf("the echo is %q, %v", frame, err)
	}

	req, _ := http.NewRequest("GET", s.url+"/sse?count=2&duration=8s&delay=0s", nil)
	stream, err := g.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	events := bufio.NewReader(stream.Body)
	line, err := events.ReadString('\n')
	if rest, _ := events.Peek(events.Buffered()); err != nil || !strings.HasPrefix(line, "event:") || strings.Contains(string(rest), "event:") {
		t.Errorf("a stream begins with %q, %v, and %q came with it", line, err, rest)
	}
}

func TestProtectsManualTellsEveryFlag(t *testing.T) {
	manual, err := os.ReadFile("docs/protect.md")
	if err != nil {
		t.Fatal(err)
	}
	f := flag.NewFlagSet("protect", flag.ContinueOnError)
	(&protection{}).bind(f)
	f.VisitAll(func(fl *flag.Flag) {
		said := ""
		if fl.DefValue != "" {
			said = "`" + fl.DefValue + "` "
		}
		if row := fmt.Sprintf("| `--%s` | `%s` | %s| ", fl.Name, envName(fl.Name), said); !strings.Contains(string(manual), row) {
			t.Errorf("the manual has no row %q", row)
		}
	})
}

func TestProtectRefusesWrongUse(t *testing.T) {
	w := newWorld(t)
	good := []string{"protect", "--upstream", "http://127.0.0.1:1", "--event", "e", "--data", w.dir}
	for say, args := range map[string][]string{
		"--upstream must be":     {"protect", "--event", "e"},
		"--event must name":      {"protect", "--upstream", "http://127.0.0.1:1"},
		"--listen":               append(good[:len(good):len(good)], "--listen", "80"),
		"a pattern is a path":    append(good[:len(good):len(good)], "--exclude", "hooks"),
		"--upstream must be the": {"protect", "--event", "e", "--upstream", "ftp://shop"},
		"no such port":           {"protect", "--event", "e", "--upstream", "http://shop:99999"},
	} {
		if code := w.run(args...); code != exitUsage || !strings.Contains(w.err.String(), say) {
			t.Errorf("%v: %d, %s", args, code, w.err.String())
		}
	}
}

// A start that fails because of an address leaves nothing behind: no file, and no
// admin key that is shown once.
func TestProtectRefusesAddressesThatCannotBe(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	free := "127.0.0.1:" + freePort(t)
	_, port, _ := net.SplitHostPort(free)
	for _, c := range []struct{ say, addr, listen, upstream string }{
		{"the port of --listen", "127.0.0.1:0", busy.Addr().String(), "http://127.0.0.1:1"},
		{"Foyer itself, by --addr", free, "127.0.0.1:0", "http://" + free},
		{"Foyer itself, by --listen", "127.0.0.1:0", free, "http://localhost:" + port + "/shop"},
		{"Foyer itself, by --listen", "127.0.0.1:0", "0.0.0.0:" + port, "http://" + free},
	} {
		w := newWorld(t)
		data := filepath.Join(w.dir, "data")
		code := w.run("protect", "--event", "e", "--data", data, "--addr", c.addr, "--listen", c.listen, "--upstream", c.upstream)
		if code != exitUsage || !strings.Contains(w.err.String(), c.say) || strings.Contains(w.out.String(), "Admin key") {
			t.Errorf("%+v: %d, %s%s", c, code, w.err.String(), w.out.String())
		}
		if _, err := os.Stat(data); err == nil {
			t.Errorf("%+v leaves a folder behind", c)
		}
	}
}
