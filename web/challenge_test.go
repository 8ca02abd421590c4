package web

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/altcha-org/altcha-lib-go"
	"github.com/chromedp/chromedp"

	"foyer/challenge"
)

// solve does the work of a challenge in an answer and gives the body of a join.
func solve(t *testing.T, a *answer) string {
	t.Helper()
	var got struct{ Challenge challenge.Puzzle }
	if err := json.Unmarshal(a.Body, &got); err != nil || got.Challenge.Salt == "" {
		t.Fatalf("no challenge: %s", a.Body)
	}
	p := got.Challenge
	s, err := altcha.SolveChallenge(p.Challenge, p.Salt, altcha.SHA256, int(p.MaxNumber), 0, nil)
	if err != nil || s == nil {
		t.Fatalf("no solution: %v", err)
	}
	b, err := json.Marshal(map[string]any{"algorithm": p.Algorithm, "challenge": p.Challenge, "number": s.Number, "salt": p.Salt, "signature": p.Signature})
	if err != nil {
		t.Fatal(err)
	}
	return `{"proof":"` + base64.StdEncoding.EncodeToString(b) + `"}`
}

const hardQueue = "/api/v1/events/hard/queue"

func hard(h *house) {
	h.event("hard", `"challenge":"altcha"`, `"challengeCost":2000`, `"line":"always"`)
}

func TestAnEventMayAskForWorkBeforeItGivesANumber(t *testing.T) {
	h := newHouse(t)
	hard(h)
	ann := h.visitor()
	a := h.do("POST", hardQueue, "", "X-Visitor", ann).refused(403, "challenge_required")
	if a.text("challenge.algorithm") != "SHA-256" || a.field("challenge.maxnumber") != 2000.0 {
		t.Errorf("got %s", a.Body)
	}
	if s, err := h.office.Status("hard"); err != nil || s.Waiting != 0 {
		t.Fatalf("%d wait without a proof, %v", s.Waiting, err)
	}
	proof := solve(t, a)
	ben := h.visitor()
	h.do("POST", hardQueue, proof, "X-Visitor", ben).refused(403, "challenge_required") // it is Ann's
	h.do("POST", hardQueue, `{"proof":"nonsense"}`, "X-Visitor", ann).refused(403, "challenge_required")
	h.do("POST", hardQueue, `{"prove":"x"}`, "X-Visitor", ann).refused(400, "unknown_field")
	number := h.do("POST", hardQueue, proof, "X-Visitor", ann).want(201).field("number")
	// Who has a place proves nothing again.
	if again := h.do("POST", hardQueue, "", "X-Visitor", ann).want(200).field("number"); again != number {
		t.Errorf("number %v, then %v", number, again)
	}
	h.do("POST", hardQueue, `{"proof":"nonsense"}`, "X-Visitor", ann).want(200)
	h.event("other", `"challenge":"altcha"`)
	h.do("POST", "/api/v1/events/other/queue", proof, "X-Visitor", ann).refused(403, "challenge_required")
	h.event("free")
	h.do("POST", "/api/v1/events/free/queue", proof, "X-Visitor", ann).want(201)
}

func TestAProofIsGoodOnceAcrossARestartToo(t *testing.T) {
	h := newHouse(t)
	hard(h)
	ann := h.visitor()
	proof := solve(t, h.do("POST", hardQueue, "", "X-Visitor", ann).refused(403, "challenge_required"))
	restart := func() {
		if err := h.store.Close(); err != nil {
			t.Fatal(err)
		}
		h.open()
	}
	restart() // nothing is kept, and nothing needs to be
	place := h.do("POST", hardQueue, proof, "X-Visitor", ann).want(201).text("queueId")
	h.do("DELETE", hardQueue+"/"+place, "", "X-Visitor", ann).want(204)
	h.do("POST", hardQueue, proof, "X-Visitor", ann).refused(403, "challenge_required")
	restart()
	again := h.do("POST", hardQueue, proof, "X-Visitor", ann).refused(403, "challenge_required")
	h.do("POST", hardQueue, solve(t, again), "X-Visitor", ann).want(201)
}

func TestAProofIsGoodOnceAcrossADrawToo(t *testing.T) {
	h := newHouse(t)
	opens := h.clock.now().Add(time.Hour).UTC().Format(time.RFC3339)
	h.event("hard", `"challenge":"altcha"`, `"challengeCost":1000`, `"order":"draw"`, `"opensAt":"`+opens+`"`)
	ask := func(visitor string) string {
		return solve(t, h.do("POST", hardQueue, "", "X-Visitor", visitor).refused(403, "challenge_required"))
	}
	joinAndLeave := func(visitor, proof string) {
		place := h.do("POST", hardQueue, proof, "X-Visitor", visitor).want(201).text("queueId")
		h.do("DELETE", hardQueue+"/"+place, "", "X-Visitor", visitor).want(204)
	}
	ann, ben := h.visitor(), h.visitor()
	anns := []string{ask(ann)}
	joinAndLeave(ann, anns[0])
	anns = append(anns, ask(ann)) // for her second join, to which the draw gives the number of the first
	place := h.do("POST", hardQueue, anns[1], "X-Visitor", ann).want(201).text("queueId")
	bens := ask(ben)
	joinAndLeave(ben, bens) // the draw forgets him
	h.staff("POST", "/api/v1/admin/events/hard/open", "").want(200)
	if _, err := h.office.Tick("hard", time.Second); err != nil {
		t.Fatal(err)
	}
	if n := h.do("GET", hardQueue, "", "X-Visitor", ann).want(200).field("number"); n != 1.0 {
		t.Fatalf("Ann has number %v", n)
	}
	h.do("DELETE", hardQueue+"/"+place, "", "X-Visitor", ann).want(204)
	for i, proof := range append(anns, bens) {
		h.do("POST", hardQueue, proof, "X-Visitor", []string{ann, ann, ben}[i]).refused(403, "challenge_required")
	}
	h.do("POST", hardQueue, ask(ann), "X-Visitor", ann).want(201)
	h.do("POST", hardQueue, ask(ben), "X-Visitor", ben).want(201)
}

func TestANewVisitorGetsTheChallengeAtOnce(t *testing.T) {
	h := newHouse(t)
	hard(h)
	h.event("free")
	a := h.do("POST", "/api/v1/visitors", `{"event":"hard"}`).want(201)
	h.do("POST", hardQueue, solve(t, a), "X-Visitor", a.text("credential")).want(201)
	for _, body := range []string{"", "{}", `{"event":"free"}`} {
		if a := h.do("POST", "/api/v1/visitors", body).want(201); a.field("challenge") != nil || a.text("credential") == "" {
			t.Errorf("%s: got %s", body, a.Body)
		}
	}
	h.do("POST", "/api/v1/visitors", `{"event":"nothing"}`).refused(404, "no_such_event")
	h.do("POST", "/api/v1/visitors", `{"name":"x"}`).refused(400, "unknown_field")
}

func TestNobodyWorksForAJoinThatIsRefusedAnyway(t *testing.T) {
	h := newHouse(t)
	hard(h)
	h.staff("POST", "/api/v1/admin/events/hard/close", "").want(200)
	h.do("POST", hardQueue, "", "X-Visitor", h.visitor()).refused(403, "event_closed")
}

func TestPagesSayThatAnEventWithAChallengeTakesScripts(t *testing.T) {
	h := newHouse(t)
	hard(h)
	b := h.browser()
	b.get("/events/hard").want(200).says("<noscript>", "takes scripts")
	b.get("/events/hard/line").want(200).says("where scripts are off it cannot be joined").silent("<button>Join")
	b.post("/events/hard/line").want(403).says("Allow scripts for this site")
	h.event("free")
	b.get("/events/free").want(200).silent("<noscript>")
}

func TestStaffMayChangeWhatAnEventAsks(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	patch := func(body string) *answer { return h.staff("PATCH", "/api/v1/admin/events/gala", body) }
	a := patch(`{"challenge":"altcha","challengeCost":5000}`).want(200)
	if a.text("challenge") != "altcha" || a.field("challengeCost") != 5000.0 {
		t.Errorf("got %s", a.Body)
	}
	patch(`{"challenge":"riddle"}`).refused(422, "bad_event")
	patch(`{"challengeCost":10}`).refused(422, "bad_event")
	patch(`{"challenge":""}`).want(200)
	h.do("POST", "/api/v1/events/gala/queue", "", "X-Visitor", h.visitor()).want(201)
}

// provider is a siteverify that takes the token "good" once, or is ill.
func provider(t *testing.T, status *int) *httptest.Server {
	t.Helper()
	used := false
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		good := r.FormValue("response") == "good" && r.FormValue("secret") == "s3cret" && !used
		used = used || good
		w.WriteHeader(*status)
		_ = json.NewEncoder(w).Encode(map[string]any{"success": good})
	}))
	t.Cleanup(srv.Close)
	return srv
}

func TestAWidgetsTokenIsAskedAbout(t *testing.T) {
	status := http.StatusOK
	srv := provider(t, &status)
	h := newHouse(t, func(c *Config) {
		c.Widgets = map[string]*challenge.Widget{"turnstile": challenge.Turnstile("site-key", "s3cret", srv.URL)}
	})
	h.event("gala", `"challenge":"turnstile"`)
	h.event("free")
	ann, ben := h.visitor(), h.visitor()
	const queue = "/api/v1/events/gala/queue"
	a := h.do("POST", queue, "", "X-Visitor", ann).refused(403, "challenge_required")
	if a.text("challenge.provider") != "turnstile" || a.text("challenge.siteKey") != "site-key" {
		t.Errorf("got %s", a.Body)
	}
	h.do("POST", queue, `{"proof":"bad"}`, "X-Visitor", ann).refused(403, "challenge_required")
	h.do("POST", queue, `{"proof":"good"}`, "X-Visitor", ann).want(201)
	h.do("POST", queue, `{"proof":"good"}`, "X-Visitor", ben).refused(403, "challenge_required") // used
	h.do("POST", queue, "", "X-Visitor", ann).want(200)

	status = http.StatusInternalServerError
	down := h.do("POST", queue, `{"proof":"good"}`, "X-Visitor", ben).refused(503, "challenge_unavailable")
	if down.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	srv.Close()
	h.do("POST", queue, `{"proof":"good"}`, "X-Visitor", ben).refused(503, "challenge_unavailable")
	if log := h.log.String(); strings.Contains(log, "s3cret") || strings.Contains(log, `"good"`) {
		t.Error("the log tells a secret")
	}

	const origin = "https://challenges.cloudflare.com"
	if p := h.do("GET", "/events/gala", "").want(200).Header.Get("Content-Security-Policy"); !strings.Contains(p, "script-src 'self' "+origin) || !strings.Contains(p, "frame-src "+origin) {
		t.Errorf("got policy %q", p)
	}
	for _, path := range []string{"/events/free", "/events/gala/line", "/"} {
		if p := h.do("GET", path, "").want(200).Header.Get("Content-Security-Policy"); strings.Contains(p, "cloudflare") || p == "" {
			t.Errorf("%s: got policy %q", path, p)
		}
	}
}

func TestBrowserDoesTheWorkAndJoins(t *testing.T) {
	ctx := chrome(t)
	g := newStage(t)
	hard(g.house)
	run(ctx, t, chromedp.Navigate(g.url+"/events/hard"), shown("join"), chromedp.Click("#join button"), shown("wait"),
		see(`document.getElementById('no').textContent == 'You are number 1' && document.getElementById('why').hidden`))
	g.tick("hard", 2*time.Second)
	run(ctx, t, shown("turn"))
}

func TestStaffSetWhatIsAskedByForm(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	b := h.browser()
	b.post("/admin/login", "key", adminKey)
	b.get("/admin/events/gala").says("There is no limit per buyer", "ALTCHA").silent("Turnstile")
	b.follow(b.post("/admin/events/gala/challenge", "challenge", "altcha", "cost", "3000")).says("What is asked of visitors was set.", `<option value="altcha" selected>`, `value="3000"`)
	b.post("/admin/events/gala/challenge", "challenge", "altcha", "cost", "3").want(422).says("Size of the task must be 1000")
	b.post("/admin/events/gala/challenge", "challenge", "altcha", "cost", "many").want(422)
	h.do("POST", "/api/v1/events/gala/queue", "", "X-Visitor", h.visitor()).refused(403, "challenge_required")
}

// A provider's script is played by one that gives the token at once.
func TestBrowserShowsAWidgetAndJoinsWithItsToken(t *testing.T) {
	ctx := chrome(t)
	status := http.StatusOK
	verify := provider(t, &status)
	script := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = w.Write([]byte(`window.turnstile = { render: (box, o) => {
			const b = document.createElement('button')
			b.id = 'human'; b.textContent = o.sitekey; b.onclick = () => o.callback('good')
			box.append(b)
		} }`))
	}))
	t.Cleanup(script.Close)
	w := challenge.Turnstile("site-key", "s3cret", verify.URL)
	w.Script, w.Origins = script.URL+"/api.js", []string{script.URL}
	g := newStage(t)
	g.server.conf.Widgets = map[string]*challenge.Widget{"turnstile": w}
	g.event("gala", `"challenge":"turnstile"`, `"line":"always"`)
	run(ctx, t, chromedp.Navigate(g.url+"/events/gala"), shown("join"), chromedp.Click("#join button"),
		see(`document.getElementById('human')?.textContent == 'site-key' && /not a program/.test(document.getElementById('why').textContent)`),
		chromedp.Click("#human"), shown("wait"),
		see(`document.getElementById('no').textContent == 'You are number 1' && !document.getElementById('human')`))

	// Without the policy's leave the same script is not loaded, and the page says so.
	w.Origins = []string{"https://elsewhere.example"}
	g.event("other", `"challenge":"turnstile"`)
	run(ctx, t, chromedp.Navigate(g.url+"/events/other"), shown("join"), chromedp.Click("#join button"),
		see(`/The check could not be made/.test(document.getElementById('why').textContent)`))
}
