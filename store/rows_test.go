package store

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"

	"foyer/outbox"
	"foyer/sale"
)

func randomTime(r *rand.Rand) time.Time {
	if r.IntN(4) == 0 {
		return time.Time{}
	}
	return time.UnixMilli(1 + r.Int64N(1<<42)).UTC()
}

func TestPlacesComeBackFromTheirRows(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	sizes := map[int]bool{}
	for i := range 2000 {
		p := sale.Place{Event: "gala", Number: r.Uint64(), Visitor: uuid.New()}
		if s := turnCodes[i%len(turnCodes)]; s != sale.TurnNone {
			p.Turn = sale.Turn{
				State: s, CalledAt: randomTime(r), ExpiresAt: randomTime(r), PickedUp: r.IntN(2) == 0,
				AsideAt: randomTime(r), EndedAt: randomTime(r), Order: uuid.New(),
			}
		}
		if i%3 == 0 {
			p.Class, p.Links = sale.Class(i/3%2), uint8(i)
		}
		b := encodePlace(p)
		sizes[len(b)] = true
		got, err := decodePlace("gala", p.Number, b)
		if err != nil || got != p {
			t.Fatalf("got %+v, %v, want %+v", got, err, p)
		}
	}
	if !reflect.DeepEqual(sizes, map[int]bool{placeWaiting: true, placeCalled: true, placeWaiting + 2: true, placeCalled + 2: true}) {
		t.Errorf("rows of %v bytes", sizes)
	}
}

func TestWhatAShopDidWithATurnComesBackFromItsRow(t *testing.T) {
	p := sale.Place{Event: "gala", Number: 7, Visitor: uuid.New(), Turn: sale.Turn{
		State: sale.TurnClaimed, CalledAt: time.UnixMilli(1).UTC(), ExpiresAt: time.UnixMilli(2).UTC(), PickedUp: true, Holds: 3,
		Shop: &sale.ShopClaim{By: "staff:7", Customer: "c-9", Until: time.UnixMilli(3).UTC(), Acts: []sale.ShopAct{
			{By: "staff:7", Key: []byte{1}, Body: []byte{2}, State: sale.TurnClaimed, Customer: "c-9", Until: time.UnixMilli(3).UTC()}}},
	}}
	b := encodePlace(p)
	got, err := decodePlace("gala", 7, b)
	if err != nil || !reflect.DeepEqual(got, p) {
		t.Errorf("got %+v, %v, want %+v", got, err, p)
	}
	for cut := placeCalled + 1; cut < len(b); cut++ {
		if _, err := decodePlace("gala", 7, b[:cut]); err == nil {
			t.Fatalf("a row cut to %d of %d bytes is taken", cut, len(b))
		}
	}
}

func randomText(r *rand.Rand) string {
	b := make([]byte, r.IntN(300))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return string(b)
}

func TestMessagesComeBackFromTheirRows(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range 400 {
		m := outbox.Message{
			Seq: r.Uint64(), ID: randomText(r), Topic: randomText(r), Key: randomText(r), Sink: randomText(r), CreatedAt: randomTime(r),
			Body: []byte(randomText(r)), State: outbox.State(randomText(r)), Attempts: r.IntN(1 << 30), NextAt: randomTime(r), LastError: randomText(r),
		}
		if r.IntN(2) == 0 {
			m.Since = randomTime(r)
		}
		b := encodeMessage(m)
		got, err := decodeMessage(m.Seq, b, true)
		if err != nil || !bytes.Equal(got.Body, m.Body) {
			t.Fatalf("got %+v, %v", got, err)
		}
		got.Body, m.Body = nil, nil
		if !reflect.DeepEqual(got, m) {
			t.Fatalf("got %+v, want %+v", got, m)
		}
		if light, err := decodeMessage(m.Seq, b, false); err != nil || light.Body != nil {
			t.Fatalf("without its body: %+v, %v", light, err)
		}
		for cut := range min(len(b), 120) { // every shorter row is damaged, or has a shorter body
			if short, err := decodeMessage(m.Seq, b[:cut], true); err == nil && short.ID != m.ID {
				t.Fatalf("cut to %d of %d bytes it is %+v", cut, len(b), short)
			}
		}
	}
}

func FuzzDecodePlace(f *testing.F) {
	f.Add([]byte{})
	f.Add(encodePlace(sale.Place{Visitor: uuid.New()}))
	f.Add(encodePlace(sale.Place{Turn: sale.Turn{State: sale.TurnReady, CalledAt: time.Unix(1, 0)}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := decodePlace("gala", 7, b)
		if err != nil {
			return
		}
		again, err := decodePlace("gala", 7, encodePlace(p))
		if err != nil || !bytes.Equal(encodePlace(again), encodePlace(p)) {
			t.Errorf("%x is %+v, and comes back as %+v, %v", b, p, again, err)
		}
	})
}

func FuzzDecodeMessage(f *testing.F) {
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{0xff}, 40))
	f.Add(encodeMessage(outbox.Message{ID: "1", Topic: "t", Body: []byte("{}")}))
	f.Add(encodeMessage(outbox.Message{ID: "1", Since: time.Unix(1, 0)}))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := decodeMessage(7, b, true)
		if err != nil {
			return
		}
		again, err := decodeMessage(7, encodeMessage(m), true)
		if err != nil || !reflect.DeepEqual(again, m) {
			t.Errorf("%x is %+v, and comes back as %+v, %v", b, m, again, err)
		}
	})
}
