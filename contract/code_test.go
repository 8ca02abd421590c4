package contract

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// codes makes a batch and gives its codes.
func (e event) codes(t *testing.T, batch object) (codes []string) {
	t.Helper()
	a := e.staff(t, "POST", "/codes", batch).want(t, http.StatusCreated)
	for _, c := range a.list("codes") {
		codes = append(codes, c.(string))
	}
	return codes
}

// joinWith joins with a code.
func (p *person) joinWith(t *testing.T, code string) answer {
	t.Helper()
	return p.learn(p.call(t, "POST", p.e.path("/queue"), object{"code": code}))
}

func TestMembersHaveSevenOfTenTurns(t *testing.T) {
	t.Parallel()
	e, first := queue(t, object{"admitPerSecond": 50}, object{"line": "always"})
	codes := e.codes(t, object{"count": 7, "class": "member", "name": "Friends"})
	var public, members []*person
	for range 7 {
		public = append(public, e.joined(t))
	}
	for _, code := range codes {
		p := e.person(t)
		p.joinWith(t, code).want(t, http.StatusCreated)
		members = append(members, p)
	}
	ranks := map[*person]int{}
	for _, p := range append(append([]*person{}, public...), members...) {
		ranks[p] = p.place(t).number("rank")
	}
	first.leave(t)
	order := ""
	for len(order) < 10 {
		until(t, fmt.Sprintf("turn %d", len(order)+1), patience, func() bool {
			for class, of := range map[string]*[]*person{"P": &public, "M": &members} {
				if len(*of) == 0 || (*of)[0].place(t).text("status") != "READY" {
					continue
				}
				if got := ranks[(*of)[0]]; got != len(order) {
					t.Errorf("who had rank %d is called after %d", got, len(order))
				}
				(*of)[0].leave(t)
				order, *of = order+class, (*of)[1:]
				return true
			}
			return false
		})
	}
	if n := strings.Count(order, "M"); n != 7 {
		t.Errorf("of ten turns %d went to members: %s", n, order)
	}
}

func TestOneCodeOfOneUseLetsInOneOfFifty(t *testing.T) {
	t.Parallel()
	e, _ := queue(t, nil)
	e.staff(t, "PATCH", "", object{"access": "code"}).want(t, http.StatusOK)
	code := e.codes(t, object{"count": 1, "class": "public"})[0]
	e.person(t).join(t).refused(t, http.StatusForbidden, "code_required")
	e.person(t).joinWith(t, "0000-0000-0000-0000").refused(t, http.StatusForbidden, "bad_code")
	var in, used atomic.Int64
	together(50, func(int) {
		switch a := e.person(t).joinWith(t, code); a.status {
		case http.StatusCreated:
			in.Add(1)
		case http.StatusConflict:
			used.Add(1)
		default:
			t.Errorf("a join with a code got %d", a.status)
		}
	})
	if in.Load() != 1 || used.Load() != 49 {
		t.Errorf("%d got in and %d were told that the code was used, want 1 and 49", in.Load(), used.Load())
	}
}

func TestPresaleLetsMembersInAndKeepsThePublicInTheLobby(t *testing.T) {
	t.Parallel()
	now := time.Now()
	e := eventOf(t, shared, 10, object{"maxActive": 1}, object{"line": "always", "presaleAt": now.Add(-time.Minute), "opensAt": now.Add(time.Hour)})
	code := e.codes(t, object{"count": 1, "class": "member"})[0]
	public, member := e.joined(t), e.person(t)
	member.joinWith(t, code).want(t, http.StatusCreated)
	member.ready(t, patience)
	if got := public.place(t).text("status"); got != "LOBBY" {
		t.Errorf("the public is %s in the presale", got)
	}
	if s := e.get(t, "/status"); s.text("phase") != "LOBBY" || s.at("presale") != true {
		t.Errorf("the status is %s", s.body)
	}
	member.hold(t, "A-1").want(t, http.StatusCreated)
}
