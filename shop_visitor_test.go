package main

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
)

// said reads a member of a JSON answer; the answer must be Foyer's own.
func (g *guest) said(member string) string {
	g.s.t.Helper()
	var all map[string]any
	if err := json.Unmarshal([]byte(g.body), &all); err != nil {
		g.s.t.Fatalf("at %s: %v: %.500s", g.at, err, g.body)
	}
	text, _ := all[member].(string)
	if text == "" {
		g.s.t.Fatalf("at %s: there is no %s in %.500s", g.at, member, g.body)
	}
	return text
}

// shopHeader is a header that the shop was sent, as it tells.
func (g *guest) shopHeader(name string) string {
	_, after, _ := strings.Cut(g.body, `"`+name+`": [`)
	_, after, _ = strings.Cut(after, `"`)
	value, _, _ := strings.Cut(after, `"`)
	return value
}

// call sends JSON, as a program does that waits in line.
func (g *guest) call(method, path, body, credential string) *guest {
	g.s.t.Helper()
	return g.do(method, path, body, "Accept", "application/json", "Content-Type", "application/json", "X-Visitor", credential)
}

// waitsByAPI plays a visitor with a program of his own: all that the waiting room
// does over the API gets to Foyer, and not to the shop.
func (s *shopfront) waitsByAPI() {
	s.t.Helper()
	const event = "/api/v1/events/gala-2027"
	g := s.guest()
	credential := g.call("POST", "/api/v1/visitors", `{"event":"gala-2027"}`, "").sees(201).said("credential")
	visitor := g.said("visitorId")
	for _, path := range []string{event, event + "/status"} {
		g.call("GET", path, "", "").sees(200, `"phase"`)
	}
	for path, code := range map[string]string{"/plan": "no_plan", "/seats": "no_plan", "/draw": "not_drawn", "/draw/entries": "not_drawn"} {
		if got := g.call("GET", event+path, "", "").said("code"); got != code {
			s.t.Errorf("%s: got %s, want %s", path, got, code)
		}
	}
	place := event + "/queue/" + g.call("POST", event+"/queue", `{}`, credential).sees(201).said("queueId")
	for _, path := range []string{event + "/queue", place} {
		if got := event + "/queue/" + g.call("GET", path, "", credential).sees(200).said("queueId"); got != place {
			s.t.Errorf("%s tells of %s, want %s", path, got, place)
		}
	}
	s.streams(place, credential)
	code := g.call("POST", place+"/link", `{}`, credential).sees(201).said("code")
	other := s.guest()
	other.call("POST", "/api/v1/visitors/return", `{"code":"`+code+`"}`, "").sees(200)
	if got := other.said("visitorId"); got != visitor {
		s.t.Errorf("the code makes him %s, want %s", got, visitor)
	}
	other.call("GET", place, "", other.said("credential")).sees(200)
	g.call("DELETE", place+"/link", "", credential).sees(204)
	g.call("DELETE", place, "", credential).sees(204)
	s.guest().stay().call("POST", "/api/v1/visitors/other", `{}`, "").sees(429) // that one is the shop's
}

// streams wants the first message of a place's stream.
func (s *shopfront) streams(place, credential string) {
	s.t.Helper()
	req, _ := http.NewRequest("GET", s.url+place+"/stream", nil)
	req.Header.Set("X-Visitor", credential)
	resp, err := s.guest().client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	for in := bufio.NewScanner(resp.Body); in.Scan(); {
		if in.Text() == "event: place" {
			return
		}
	}
	s.t.Errorf("no stream of a place: %s", resp.Status)
}
