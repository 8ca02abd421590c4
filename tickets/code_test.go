package tickets

import (
	"crypto/hmac"
	"crypto/sha256"
	"strings"
	"testing"

	"github.com/google/uuid"
)

func tagger(key string) func(dst, msg []byte) []byte {
	return func(dst, msg []byte) []byte {
		m := hmac.New(sha256.New, []byte(key))
		m.Write(msg)
		return m.Sum(dst)
	}
}

func TestCodeTellsItsTicketAndNothingElseDoes(t *testing.T) {
	c, other := New(tagger("one key of the house")), New(tagger("another"))
	id := uuid.New()
	code := c.Code(id)
	if got, ok := c.Ticket(" " + strings.ToLower(code) + "\n"); !ok || got != id {
		t.Errorf("Ticket(%q) = %v, %v; want %v", code, got, ok, id)
	}
	if _, ok := other.Ticket(code); ok {
		t.Error("a code is accepted under another key")
	}
	for i := range code {
		bad := []byte(code)
		bad[i] = 'A' + (bad[i]-'A'+1)%26
		if _, ok := c.Ticket(string(bad)); ok {
			t.Errorf("a code with letter %d changed is accepted", i)
		}
	}
	for _, bad := range []string{"", "A", code + "A", code[:51], "ß" + code[1:], strings.Repeat("A", 52)} {
		if _, ok := c.Ticket(bad); ok {
			t.Errorf("Ticket(%q) is accepted", bad)
		}
	}
}
