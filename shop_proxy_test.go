package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mccutchen/go-httpbin/v2/httpbin"
)

// shopfront is a shop of somebody else behind Foyer and a proxy.
type shopfront struct {
	t     *testing.T
	w     *world
	foyer string // its address
	stop  func() int
	shop  string
	url   string // of the proxy, where the public comes
	form  int    // size of the largest form that is sent, in bytes
}

// hooks is what gets through without a turn: an address where this shop tells
// what it was sent, in place of the recipes' /hooks/.
const hooks = "/anything/hooks/"

// openShop starts a web application that is not ours, Foyer with an event without
// a plan in front of it, and a proxy that start sets up on the port it is given.
func openShop(t *testing.T, start func(s *shopfront, port string)) *shopfront {
	t.Helper()
	shop := httptest.NewServer(httpbin.New())
	t.Cleanup(shop.Close)
	s := &shopfront{t: t, w: newWorld(t), form: 20_000, shop: strings.TrimPrefix(shop.URL, "http://")}
	s.w.env["FOYER_ADMIN_KEY"] = "open sesame"
	s.foyer, s.stop = s.w.start("serve", "--addr", "127.0.0.1:0", "--data", filepath.Join(s.w.dir, "data"), "--trusted-proxies", "127.0.0.1")
	s.makeEvent()
	port := freePort(t)
	s.url = "http://127.0.0.1:" + port
	start(s, port)
	s.wait()
	return s
}

func (s *shopfront) makeEvent() {
	s.t.Helper()
	s.staff("POST", "/api/v1/admin/events", `{"id":"gala-2027","name":"Gala","line":"always","rules":{"turnSeconds":600}}`, 201)
}

func (s *shopfront) staff(method, path, body string, want int) string {
	s.t.Helper()
	req, err := http.NewRequest(method, s.foyer+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer open sesame")
	req.Header.Set("Content-Type", "application/json")
	if method == "POST" {
		req.Header.Set("Idempotency-Key", path)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != want {
		s.t.Fatalf("%s %s: got %d, want %d: %s", method, path, resp.StatusCode, want, b)
	}
	return string(b)
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// wait waits until somebody listens at the proxy's address.
func (s *shopfront) wait() {
	s.t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err == nil {
			_ = c.Close()
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("the proxy does not listen: %v", err)
		}
	}
}

// guest is somebody with a browser without scripts, and what he was answered.
type guest struct {
	s      *shopfront
	client *http.Client
	status int
	header http.Header
	body   string
	at     string // the path and query of the page he sees
}

func (s *shopfront) guest() *guest {
	jar, _ := cookiejar.New(nil)
	return &guest{s: s, client: &http.Client{Jar: jar, Timeout: 20 * time.Second}}
}

// stay does not follow redirects.
func (g *guest) stay() *guest {
	g.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return g
}

// do sends one request; headers come in pairs.
func (g *guest) do(method, path, body string, headers ...string) *guest {
	g.s.t.Helper()
	req, err := http.NewRequest(method, g.s.url+path, strings.NewReader(body))
	if err != nil {
		g.s.t.Fatal(err)
	}
	req.Header.Set("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
	if body != "" {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := g.client.Do(req)
	if err != nil {
		g.s.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	g.status, g.header, g.body, g.at = resp.StatusCode, resp.Header, string(b), resp.Request.URL.RequestURI()
	return g
}

func (g *guest) get(path string, headers ...string) *guest {
	g.s.t.Helper()
	return g.do("GET", path, "", headers...)
}

// sees wants this status and these words.
func (g *guest) sees(status int, words ...string) *guest {
	g.s.t.Helper()
	if g.status != status {
		g.s.t.Fatalf("at %s: got %d, want %d: %.2000s", g.at, g.status, status, g.body)
	}
	for _, w := range words {
		if !strings.Contains(g.body, w) {
			g.s.t.Errorf("at %s: %q is not in %.3000s", g.at, w, g.body)
		}
	}
	return g
}

func (g *guest) silent(words ...string) *guest {
	g.s.t.Helper()
	for _, w := range words {
		if strings.Contains(g.body, w) {
			g.s.t.Errorf("at %s: %q is in %.3000s", g.at, w, g.body)
		}
	}
	return g
}

// joins joins the line by the form and waits for the turn.
func (g *guest) joins() *guest {
	g.s.t.Helper()
	g.do("POST", "/events/gala-2027/line?return=%2Fget%3Fcart%3D7", "x=1").sees(200)
	for end := time.Now().Add(20 * time.Second); !strings.Contains(g.body, "It is your turn"); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			g.s.t.Fatalf("no turn: %s", g.body)
		}
		g.get("/events/gala-2027/line?return=%2Fget%3Fcart%3D7").sees(200)
	}
	return g
}

// visit plays what every way of putting Foyer in front of a shop must do.
func (s *shopfront) visit() {
	s.t.Helper()
	s.waitsByAPI()
	// without a turn
	g := s.guest()
	g.get("/get?cart=7").sees(200, "Join the line", "return=%2fget%3fcart%3d7")
	if g.at != "/events/gala-2027?return=%2Fget%3Fcart%3D7" {
		s.t.Errorf("sent to %s", g.at)
	}
	s.guest().do("POST", "/post", "a=b").sees(429, "your turn is over", "/events/gala-2027")
	if g := s.guest().get("/get", "Accept", "application/json").sees(429); g.header.Get("Retry-After") == "" {
		s.t.Error("a program is not told when to come again")
	}
	for _, cookie := range []string{"foyer_visitor=forged", `foyer_visitor="; ;;=`, "foyer_visitor=" + strings.Repeat("A", 43), "big=" + strings.Repeat("x", 7000)} {
		if g := s.guest().stay().get("/get", "Cookie", cookie).sees(303); !strings.HasPrefix(g.header.Get("Location"), "/events/gala-2027") {
			s.t.Errorf("with the cookie %.20s he is sent to %q", cookie, g.header.Get("Location"))
		}
	}
	s.guest().stay().get("/get", "X-Foyer-Visitor", "6ba7b810-9dad-41d1-80b4-00c04fd430c8").sees(303)
	for _, path := range []string{hooks + "../../get", hooks + "..%2f..%2fget", hooks + "%2e%2e/%2e%2e/get", hooks + "..%2f", "/static/../get", "/events/gala-2027/../../get",
		hooks + "..;/get", hooks + "..%5cget", hooks + "..%20/get", "/anything/x/..%2fhooks/get"} {
		if g := s.guest().stay().get(path); g.status == 200 {
			s.t.Errorf("%s gets through: %s", path, g.body)
		}
	}
	for _, path := range []string{"/admin/events/..%2f..%2fevents%2fgala-2027%2f", "/api/v1/admin/keys/..%2f..%2f..%2f..%2fevents%2fgala-2027", "/admin/events/%2e%2e%2f..%2fstatic%2fbase.0.css"} {
		for _, method := range []string{"GET", "DELETE"} {
			if g := s.guest().stay().do(method, path, ""); g.status != 303 && g.status != 404 && g.status != 429 {
				s.t.Errorf("%s %s reaches the staff's side: %d %s", method, path, g.status, g.body)
			}
		}
	}
	for _, path := range []string{`//evil.example/`, `/%5Cevil.example`, `/\evil.example`, "/%09/evil.example"} {
		g := s.guest().stay()
		g.client.Transport = rawPath(path)
		if to := g.get("/").header.Get("Location"); to != "" && !strings.HasPrefix(to, "/events/gala-2027") || strings.Contains(to, "evil") {
			s.t.Errorf("%s leads to %q", path, to)
		}
	}
	// what is excluded
	s.guest().do("POST", hooks+"pay", "paid=1", "X-Foyer-Visitor", "forged-visitor", "X-Foyer-Token", "forged-token",
		"X_Foyer_Visitor", "forged-visitor", "X-Foyer_Token", "forged-token", "X-Original-URL", "/forged-path", "X-Rewrite-URL", "/forged-path").sees(200, "paid=1").silent("forged-")

	// with a turn
	g.joins().sees(200, `href="/get?cart=7"`)
	g.get("/get?cart=7").sees(200, `"cart"`, "X-Foyer-Visitor", "X-Foyer-Token")
	form := strings.Repeat("A", s.form)
	g.do("POST", "/post", "seats="+form).sees(200, form)
	g.get("/headers", "X-Foyer-Visitor", "forged-visitor", "X-Foyer-Token", "forged-token").sees(200).silent("forged-visitor", "forged-token")
	g.get("/headers", "Connection", "x-foyer-visitor, X-Foyer-Token").sees(200, "X-Foyer-Visitor", "X-Foyer-Token")
	g.get("/get", "Cookie", "big="+strings.Repeat("x", 7000)+g.cookies()).sees(200, strings.Repeat("x", 7000))
	if g := g.stay().get("/cookies/set?shop=1").sees(302); len(g.header.Values("Set-Cookie")) != 1 || g.header.Get("Location") != "/cookies" {
		s.t.Errorf("the shop's answer arrives as %v", g.header)
	}
	s.guest().stay().get("/get").sees(303) // his turn is his alone

	// and when the shop has used it
	s.staff("PATCH", "/api/v1/admin/events/gala-2027/pace", `{"maxActive":1}`, 200)
	g.get("/headers").sees(200)
	token := g.shopHeader("X-Foyer-Token")
	for _, act := range []string{"claim", "consume"} {
		s.staff("POST", "/api/v1/events/gala-2027/tokens/"+act, `{"token":"`+token+`"}`, 200)
	}
	g.get("/get").sees(303)
}

// cookies are those that he sends anyway; a Cookie header of ours replaces them.
func (g *guest) cookies() (all string) {
	u, _ := url.Parse(g.s.url)
	for _, c := range g.client.Jar.Cookies(u) {
		all += "; " + c.Name + "=" + c.Value
	}
	return all
}

// rawPath sends a request with a path as it is.
type rawPath string

func (p rawPath) RoundTrip(r *http.Request) (*http.Response, error) {
	r.URL.Opaque = string(p)
	if strings.HasPrefix(string(p), "//") {
		r.URL.Opaque = "//" + r.URL.Host + string(p)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// recipe is a file of examples/proxy with the test's addresses; with open its
// lines for failing open count.
func (s *shopfront) recipe(name string, open bool, more ...string) string {
	s.t.Helper()
	b, err := os.ReadFile("examples/proxy/" + name)
	if err != nil {
		s.t.Fatal(err)
	}
	pairs := append([]string{"127.0.0.1:3000", s.shop, "127.0.0.1:8080", strings.TrimPrefix(s.foyer, "http://"), "/hooks/", hooks}, more...)
	if open {
		pairs = append(pairs, "#open ", "", "\theader @down", "\t# header @down", "\trespond @down", "\t# respond @down")
	}
	return strings.NewReplacer(pairs...).Replace(string(b))
}

// installed finds a program of somebody else, or skips the test.
func installed(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if path = "/usr/sbin/" + name; exec.Command(path, "-v").Run() == nil {
			return path
		}
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is not installed", name)
		}
		t.Skipf("%s is not installed (Debian: apt-get install %s)", name, name)
	}
	return path
}

// runProxy runs a proxy in the foreground until the test ends.
func (s *shopfront) runProxy(program string, args ...string) {
	s.t.Helper()
	log := &lockedBuffer{}
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), "HOME="+s.w.dir, "XDG_DATA_HOME="+s.w.dir, "XDG_CONFIG_HOME="+s.w.dir)
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		if s.t.Failed() {
			s.t.Logf("%s says:\n%.4000s", program, log.String())
		}
	})
}

func nginx(t *testing.T, open bool) func(*shopfront, string) {
	bin := installed(t, "nginx")
	return func(s *shopfront, port string) {
		temp := ""
		for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
			temp += fmt.Sprintf("%s_temp_path %s/%s;\n", kind, s.w.dir, kind)
		}
		user := ""
		if os.Getuid() == 0 {
			user = "user root;\n"
		}
		conf := s.w.file("nginx.conf", user+"pid "+s.w.dir+"/nginx.pid;\ndaemon off;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n"+temp+
			"server {\nlisten 127.0.0.1:"+port+";\nlarge_client_header_buffers 4 16k;\n"+s.recipe("nginx.conf", open)+"\n}\n}\n")
		s.runProxy(bin, "-p", s.w.dir, "-e", "stderr", "-c", conf)
	}
}

func caddy(t *testing.T, open bool) func(*shopfront, string) {
	bin := installed(t, "caddy")
	return func(s *shopfront, port string) {
		s.form = 1000 // of 100 larger ones Debian's Caddy 2.6.2 cuts the answers to 2 short, also where it asks nobody
		conf := s.w.file("Caddyfile", "{\nadmin off\nauto_https off\n}\n"+s.recipe("Caddyfile", open, "\nshop.example.org {", "\nhttp://127.0.0.1:"+port+" {"))
		s.runProxy(bin, "run", "--config", conf, "--adapter", "caddyfile")
	}
}

func TestNginxPutsFoyerInFrontOfAShop(t *testing.T) { openShop(t, nginx(t, false)).visit() }

func TestCaddyPutsFoyerInFrontOfAShop(t *testing.T) { openShop(t, caddy(t, false)).visit() }

// dead wants what a dead Foyer means: nobody gets in, what is excluded does.
func (s *shopfront) dead(open bool) {
	s.t.Helper()
	g := s.guest().joins().stay()
	g.get("/get").sees(200)
	s.stop()
	if open {
		s.guest().stay().get("/headers", "X-Foyer-Visitor", "forged-visitor").sees(200).silent("forged-visitor")
		s.guest().stay().do("POST", "/post", "a=b").sees(200, `"a=b"`)
		return
	}
	if g.get("/get").sees(503); g.header.Get("Retry-After") == "" || strings.Contains(g.body, `"headers"`) {
		s.t.Errorf("a dead Foyer: %v %s", g.header, g.body)
	}
	s.guest().stay().do("POST", "/post", "a=b").sees(503)
	s.guest().do("POST", hooks+"pay", "paid=1").sees(200, "paid=1")
}

func TestNginxFailsClosed(t *testing.T)             { openShop(t, nginx(t, false)).dead(false) }
func TestNginxFailsOpenWhenItIsToldTo(t *testing.T) { openShop(t, nginx(t, true)).dead(true) }
func TestCaddyFailsClosed(t *testing.T)             { openShop(t, caddy(t, false)).dead(false) }
func TestCaddyFailsOpenWhenItIsToldTo(t *testing.T) { openShop(t, caddy(t, true)).dead(true) }

// An event that was removed, or that the recipe misspells, lets nobody in and
// leads nowhere.
func TestUnknownEventIsNoRedirectLoop(t *testing.T) {
	for name, start := range map[string]func(*testing.T, bool) func(*shopfront, string){"nginx": nginx, "caddy": caddy} {
		t.Run(name, func(t *testing.T) {
			s := openShop(t, start(t, false))
			s.staff("DELETE", "/api/v1/admin/events/gala-2027", "", 204)
			if g := s.guest().stay().get("/get"); g.status < 400 || g.header.Get("Location") != "" {
				t.Errorf("got %d, to %q", g.status, g.header.Get("Location"))
			}
		})
	}
}
