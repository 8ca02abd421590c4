//go:build linux

package bench

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"strconv"

	"github.com/google/uuid"
)

// host ends the request line.
const host = " HTTP/1.1\r\nHost: 127.0.0.1\r\n"

func appendVisitor(b []byte, g *guest) []byte {
	return append(g.credential(append(b, "X-Visitor: "...)), "\r\n"...)
}

func appendUUID(b []byte, id uuid.UUID) []byte {
	text, _ := id.MarshalText() // never fails
	return append(b, text...)
}

// appendBody ends the header and adds a JSON body.
func appendBody(b, body []byte) []byte {
	b = append(b, "Content-Type: application/json\r\nContent-Length: "...)
	b = strconv.AppendInt(b, int64(len(body)), 10)
	return append(append(b, "\r\n\r\n"...), body...)
}

// poll asks for the place of anybody in the line.
func poll(p *prepared) traffic {
	return traffic{want: http.StatusOK, next: func(b []byte) ([]byte, int, bool) {
		i := rand.IntN(len(p.guests))
		b = append(b, "GET /api/v1/events/"+lineEvent+"/queue/"...)
		b = append(appendUUID(b, p.guests[i].place), host...)
		return append(appendVisitor(b, &p.guests[i]), "\r\n"...), i, true
	}}
}

func appendJoin(b []byte, g *guest) []byte {
	b = append(b, "POST /api/v1/events/"+lineEvent+"/queue"+host...)
	return append(appendVisitor(b, g), "Content-Length: 0\r\n\r\n"...)
}

// rejoin joins again as anybody who waits already.
func rejoin(p *prepared) traffic {
	return traffic{want: http.StatusOK, next: func(b []byte) ([]byte, int, bool) {
		i := rand.IntN(len(p.guests))
		return appendJoin(b, &p.guests[i]), i, true
	}}
}

// join joins as somebody new each time.
func join(p *prepared) traffic {
	var g guest
	return traffic{want: http.StatusCreated, next: func(b []byte) ([]byte, int, bool) {
		g.visitor = newVisitor()
		g.tag = p.tagger.tag(g.visitor)
		return appendJoin(b, &g), 0, true
	}}
}

// status asks for the public state of the event with the long line.
func status(*prepared) traffic {
	request := []byte("GET /api/v1/events/" + lineEvent + "/status" + host + "\r\n")
	return traffic{want: http.StatusOK, next: func(b []byte) ([]byte, int, bool) { return append(b, request...), 0, true }}
}

// appendHold wants the seats of one turn with the token of another, or its own.
func appendHold(b, body []byte, by, seats *turn) (request, scratch []byte) {
	b = append(append(append(b, "POST /api/v1/events/"...), by.house...), "/holds"+host...)
	b = append(append(append(b, "X-Entry-Token: "...), by.token...), "\r\n"...)
	body = append(body[:0], `{"seats":[`...)
	for i, s := range seats.seats {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(append(append(body, '"'), s...), '"')
	}
	body = append(body, "]}"...)
	return appendBody(appendVisitor(b, &by.guest), body), body
}

// checkTurn asks, as the proxy of a shop, whether anybody who has a turn may come
// in; he is known by his cookie.
func checkTurn(p *prepared) traffic { return checkAt("/api/v1/check", p) }

// bareCheck is the floor of checkTurn: the same request to a handler that knows
// nothing and answers as little.
func bareCheck(p *prepared) traffic { return checkAt("/bare", p) }

func checkAt(path string, p *prepared) traffic {
	return traffic{want: http.StatusNoContent, next: func(b []byte) ([]byte, int, bool) {
		i := rand.IntN(len(p.turns))
		b = append(append(append(append(b, "GET "...), path...), "?event="...), p.turns[i].house+host...)
		b = append(p.turns[i].credential(append(b, "Cookie: foyer_visitor="...)), "\r\n"...)
		return append(b, "X-Original-URI: /cart\r\nX-Original-Method: GET\r\nAccept: text/html\r\n\r\n"...), i, true
	}}
}

// spared is the part of the last house's turns that never hold.
const spared = 0.1

// sparedFrom is the first of them.
func (p *prepared) sparedFrom() int {
	n := len(p.turns)
	house := n - 1
	for house > 0 && p.turns[house-1].house == p.turns[n-1].house {
		house--
	}
	return n - max(1, int(spared*float64(n-house)))
}

// hold takes four seats with every turn, one after the other, and keeps the
// names of the orders.
func hold(p *prepared) traffic {
	next, end := 0, p.sparedFrom()
	var body []byte
	key := []byte(`"orderId":"`)
	return traffic{
		want: http.StatusCreated,
		next: func(b []byte) ([]byte, int, bool) {
			if next == end {
				return b, 0, false
			}
			i := next
			next++
			b, body = appendHold(b, body, &p.turns[i], &p.turns[i])
			return b, i, true
		},
		took: func(n int, answer []byte) {
			if at := bytes.Index(answer, key); at >= 0 && len(answer) >= at+len(key)+36 {
				p.turns[n].order, _ = uuid.ParseBytes(answer[at+len(key) : at+len(key)+36])
			}
		},
	}
}

// refusedHold wants, with turns that hold nothing, the seats that takeOne took.
func refusedHold(p *prepared) traffic {
	from := p.sparedFrom()
	var body []byte
	return traffic{want: http.StatusConflict, next: func(b []byte) ([]byte, int, bool) {
		i := from + 1 + rand.IntN(len(p.turns)-from-1)
		b, body = appendHold(b, body, &p.turns[i], &p.turns[from])
		return b, i, true
	}}
}

// takeOne holds, with the first of the spared turns, the seats that all others
// then want in vain.
func takeOne(p *prepared) traffic {
	from, done := p.sparedFrom(), false
	return traffic{want: http.StatusCreated, next: func(b []byte) ([]byte, int, bool) {
		if done {
			return b, 0, false
		}
		done = true
		b, _ = appendHold(b, nil, &p.turns[from], &p.turns[from])
		return b, from, true
	}}
}

// confirm confirms every order that hold made, one after the other.
func confirm(p *prepared) traffic {
	next := 0
	body := []byte(`{"amount":` + strconv.Itoa(groupSeats*seatPrice) + `,"currency":"EUR","reference":"bench"}`)
	return traffic{want: http.StatusOK, next: func(b []byte) ([]byte, int, bool) {
		for next < len(p.turns) && p.turns[next].order == uuid.Nil {
			next++
		}
		if next == len(p.turns) {
			return b, 0, false
		}
		i := next
		next++
		b = append(appendUUID(append(b, "POST /api/v1/orders/"...), p.turns[i].order), "/confirm"+host+"Authorization: Bearer "...)
		b = append(append(append(b, p.shop...), "\r\nIdempotency-Key: "...), 'k')
		b = append(appendUUID(b, p.turns[i].visitor), "\r\n"...)
		return appendBody(b, body), i, true
	}}
}
