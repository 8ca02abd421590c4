package web

import (
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"foyer/static"
)

// created makes an event by the form whose sale opens at a local time; false when it was refused.
func (b *browser) created(id, zone, opens string) bool {
	b.h.t.Helper()
	a := b.post("/admin/events", "id", id, "name", "Gala", "timeZone", zone, "opensAt", opens, "currency", "EUR", "buyer", "none",
		"admitPerSecond", "5", "maxActive", "9", "maxSeats", "3", "prices", "Stalls = 42.50")
	if a.Status == 422 {
		a.says("does not exist in " + zone)
		return false
	}
	a.want(303)
	return true
}

// B92, B94, B96: for every half hour of the days on which clocks change, what staff write, what the API says and what the
// pages show are one moment; a time that does not exist is refused, and of one that comes twice the first is meant.
func TestB92B94B96FormPageAndAPIAgreeWhenClocksChange(t *testing.T) {
	h := newHouse(t)
	b := h.browser()
	b.follow(b.post("/admin/login", "key", adminKey)).says("Time zone of the house", "of an hour that comes twice in autumn the first is meant")
	for n, c := range []struct {
		zone, day       string
		refused, doubly string // local times that do not exist, that come twice
	}{
		{"Europe/Berlin", "2027-03-28", "02:00 02:30", ""},
		{"Europe/Berlin", "2027-10-31", "", "02:00 02:30"},
		{"America/Sao_Paulo", "2027-03-28", "", ""},
		{"Australia/Lord_Howe", "2027-10-03", "02:00", ""},
		{"Australia/Lord_Howe", "2027-04-04", "", "01:30"},
	} {
		loc, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		var last time.Time
		for half := range 12 {
			clock := fmt.Sprintf("%02d:%02d", half/2, half%2*30)
			id := fmt.Sprintf("e%d-%d", n, half)
			made := b.created(id, c.zone, c.day+"T"+clock)
			if no := strings.Contains(c.refused, clock); made == no {
				t.Errorf("%s %s %s: made %v", c.zone, c.day, clock, made)
			}
			if !made {
				continue
			}
			at, err := time.Parse(time.RFC3339, h.do("GET", "/api/v1/events/"+id, "").want(200).text("opensAt"))
			if err != nil || at.In(loc).Format("2006-01-02 15:04") != c.day+" "+clock || !at.After(last) {
				t.Errorf("%s %s %s: the API says %s (%v), the half hour before %s", c.zone, c.day, clock, at, err, last)
			}
			last = at
			zone := strings.ReplaceAll(c.zone, "_", " ") + " time"
			if twice := strings.Contains(c.doubly, clock); twice {
				zone += ", UTC" + strings.Replace(at.In(loc).Format("-07:00"), "+", "&#43;", 1)
				for _, d := range []time.Duration{time.Hour, 30 * time.Minute} {
					if at.Add(-d).In(loc).Format("15:04") == clock {
						t.Errorf("%s %s: the second of the two was taken", c.day, clock)
					}
				}
			}
			h.browser().get("/events/" + id).says("Sale opens " + at.In(loc).Format("Mon 2 January 2006, ") + clock + " (" + zone + ")")
		}
	}
}

// B92: a buyer elsewhere reads the time of the house with its zone, and his own.
func TestB92BrowserElsewhereShowsBothTimes(t *testing.T) {
	ctx := chrome(t, chromedp.Env("TZ=Asia/Seoul"))
	g := newLane(t)
	g.event("gala", `"timeZone":"Europe/Berlin"`, `"opensAt":"2026-12-01T20:00:00Z"`)
	run(ctx, t, chromedp.Navigate(g.url+"/events/gala"), reads("join", `Sale opens Tue 1 December 2026, 21:00 \(Europe\/Berlin time\)`),
		reads("own", `^That is Wed 2 December 2026, 05:00 where you are \(Asia\/Seoul\)$`))
}

// B100: no page asks the visitor's computer what time it is.
func TestB100NoScriptAsksTheClockOfTheComputer(t *testing.T) {
	asks := regexp.MustCompile(`Date\.now|new Date\(\)|[^.\w]Date\(\)`)
	for _, said := range []string{"Date.now()", "x = new Date()", " Date()"} {
		if !asks.MatchString(said) {
			t.Errorf("%q would not be noticed", said)
		}
	}
	files, err := fs.Glob(static.Files, "*.js")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		text, err := static.Files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if found := asks.Find(text); found != nil {
			t.Errorf("%s asks the clock: %s", name, found)
		}
	}
}

// B100, B101: a computer's clock that is hours off, and set while the page is open, changes no countdown; the end is 0:00
// and never less.
func TestB100B101BrowserCountsDownByTheServersTime(t *testing.T) {
	ctx := chrome(t)
	g := newLane(t)
	g.event("gala", `"line":"always"`, `"rules":{"turnSeconds":3600}`)
	run(ctx, t, chromedp.Navigate(g.url+"/events/gala"), shown("join"),
		js("{ const real = Date; Date = class extends real { constructor(...a) { a.length ? super(...a) : super(real.now() + 26 * 36e5) } static now() { return real.now() + 26 * 36e5 } } }"),
		chromedp.Click("#join button"), shown("wait"))
	g.tick()
	run(ctx, t, shown("turn"), reads("left", `^(1:00:00|59:[0-5]\d)$`),
		js("Date.now = () => 0"))
	g.clock.pass(10 * time.Second)
	run(ctx, t, reads("left", `^59:[0-5]\d$`))
	g.clock.pass(2 * time.Hour)
	run(ctx, t, js("document.getElementById('left').less = 0; new MutationObserver(() => { if (/-|NaN/.test(left.textContent)) left.less = 1 }).observe(left, { childList: true, subtree: true, characterData: true })"),
		shown("join"), see("!document.getElementById('left').less"))
}
