package challenge

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/altcha-org/altcha-lib-go"
	"github.com/google/uuid"
)

// solve does the work as ALTCHA's own client does it.
func solve(t *testing.T, p Puzzle) (number int) {
	t.Helper()
	s, err := altcha.SolveChallenge(p.Challenge, p.Salt, altcha.SHA256, int(p.MaxNumber), 0, nil)
	if err != nil || s == nil {
		t.Fatalf("no solution: %v", err)
	}
	return s.Number
}

func payload(t *testing.T, p Puzzle, number int, edit ...func(map[string]any)) string {
	t.Helper()
	v := map[string]any{"algorithm": p.Algorithm, "challenge": p.Challenge, "number": number, "salt": p.Salt, "signature": p.Signature}
	for _, e := range edit {
		e(v)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b)
}

func TestWorkIsGoodForItsSubjectAlone(t *testing.T) {
	w := NewWork(make([]byte, 32))
	ann := Subject{Event: "gala", Visitor: uuid.New(), After: 7}
	p, err := w.Make(ann, 1000)
	if err != nil {
		t.Fatal(err)
	}
	proof := payload(t, p, solve(t, p))
	if err := w.Check(proof, ann); err != nil {
		t.Fatalf("a right proof: %v", err)
	}
	if err := NewWork(make([]byte, 32)).Check(proof, ann); err != nil {
		t.Errorf("after a restart: %v", err)
	}
	for name, s := range map[string]Subject{
		"another event": {"opera", ann.Visitor, 7}, "another visitor": {"gala", uuid.New(), 7}, "a second number": {"gala", ann.Visitor, 8},
	} {
		if err := w.Check(proof, s); !errors.Is(err, ErrProof) {
			t.Errorf("%s: %v", name, err)
		}
	}
	other := NewWork([]byte(strings.Repeat("k", 32)))
	if err := other.Check(proof, ann); !errors.Is(err, ErrProof) {
		t.Errorf("with another house's key: %v", err)
	}
}

func TestWhatIsNoProofIsRefused(t *testing.T) {
	w := NewWork(make([]byte, 32))
	ann := Subject{Event: "gala", Visitor: uuid.New()}
	p, err := w.Make(ann, 1000)
	if err != nil {
		t.Fatal(err)
	}
	n := solve(t, p)
	put := func(name string, v any) func(map[string]any) { return func(m map[string]any) { m[name] = v } }
	digits := p.Salt + "1" // the number's first digit moved into the salt
	for name, proof := range map[string]string{
		"nothing": "", "no base64": "%%%", "no JSON": "bm9uZQ==", "null": "bnVsbA==", "a list": "W10=",
		"a wrong number":       payload(t, p, n+1),
		"a negative number":    payload(t, p, -1),
		"another algorithm":    payload(t, p, n, put("algorithm", "SHA-1")),
		"an unknown algorithm": payload(t, p, n, put("algorithm", "MD5")),
		"another salt":         payload(t, p, n, put("salt", strings.Replace(p.Salt, "gala", "opera", 1))),
		"a spliced salt":       payload(t, p, n, put("salt", digits)),
		"no signature":         payload(t, p, n, put("signature", "")),
		"a number in quotes":   payload(t, p, n, put("number", "12")),
		"too long":             payload(t, p, n, put("more", strings.Repeat("x", maxProof))),
	} {
		if err := w.Check(proof, ann); !errors.Is(err, ErrProof) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWorkGetsTooOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWork(make([]byte, 32))
		ann := Subject{Event: "gala", Visitor: uuid.New()}
		p, err := w.Make(ann, 100)
		if err != nil {
			t.Fatal(err)
		}
		proof := payload(t, p, solve(t, p))
		time.Sleep(Lifetime - time.Second)
		if err := w.Check(proof, ann); err != nil {
			t.Errorf("within its time: %v", err)
		}
		time.Sleep(3 * time.Second)
		if err := w.Check(proof, ann); !errors.Is(err, ErrProof) {
			t.Errorf("after its time: %v", err)
		}
	})
}

func TestAPuzzleSpeaksAltcha(t *testing.T) {
	p, err := NewWork(make([]byte, 32)).Make(Subject{Event: "gala"}, 5000)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := json.Marshal(p) // a struct of texts and a number
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil || len(m) != 5 || m["algorithm"] != "SHA-256" || m["maxnumber"] != 5000.0 || len(p.Challenge) != 64 || len(p.Signature) != 64 {
		t.Errorf("got %s", b)
	}
}
