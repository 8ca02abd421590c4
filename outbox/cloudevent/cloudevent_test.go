package cloudevent

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"foyer/outbox"
)

var at = time.Date(2027, 3, 1, 20, 0, 0, 7_000_000, time.FixedZone("CET", 3600))

func TestAnEventTellsWhatTheMessageIs(t *testing.T) {
	m := outbox.Message{ID: "m1", Topic: "order.paid", Key: `order:"7" <&>`, CreatedAt: at, Body: []byte(`{"id":"m1","data":{"n":1}}`)}
	doc, err := Wrap(m, "https://tickets.example.org")
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(doc, &got); err != nil {
		t.Fatalf("%v in %s", err, doc)
	}
	want := map[string]any{
		"specversion": "1.0", "id": "m1", "source": "https://tickets.example.org", "type": "foyer.order.paid", "subject": m.Key,
		"partitionkey": m.Key, "time": "2027-03-01T19:00:00.007Z", "datacontenttype": "application/json",
	}
	for name, v := range want {
		if got[name] != v {
			t.Errorf("%s is %v, want %v", name, got[name], v)
		}
	}
	if data, _ := got["data"].(map[string]any); data["n"] != 1.0 || len(got) != len(want)+1 {
		t.Errorf("members %v in %s", slices.Sorted(maps.Keys(got)), doc)
	}
	for name := range got { // CloudEvents 1.0.2, naming conventions
		if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
			t.Errorf("attribute name %q", name)
		}
	}
}

func TestTheBytesOfTheDataAreKept(t *testing.T) {
	for _, data := range []string{
		`{"b":1.50, "a":12345678901234567890,	"c":"<M & S> ä"}`, `"text"`, `null`, `[1 , 2]`, `{"data":{"data":"inner"}}`, `1e400`,
	} {
		m := outbox.Message{ID: "m1", Topic: "t", Key: "k", CreatedAt: at, Body: []byte(`{"id":"m1","data":` + data + `}`)}
		doc, err := Wrap(m, "")
		if err != nil || !strings.HasSuffix(string(doc), `,"data":`+data+"}") || !strings.Contains(string(doc), `"source":"foyer"`) {
			t.Errorf("%v, got %s, want data %s", err, doc, data)
		}
	}
}

func TestAMessageWithoutKeyHasNoSubject(t *testing.T) {
	doc, err := Wrap(outbox.Message{ID: "m1", Topic: "t", CreatedAt: at, Body: []byte(`{"data":1}`)}, "")
	if err != nil || strings.Contains(string(doc), "subject") || strings.Contains(string(doc), "partitionkey") {
		t.Errorf("%v, %s", err, doc)
	}
}

func TestWhatIsNoMessageIsNoEvent(t *testing.T) {
	for name, m := range map[string]outbox.Message{
		"no id":    {Topic: "t", Body: []byte(`{"data":1}`)},
		"no topic": {ID: "m1", Body: []byte(`{"data":1}`)},
		"no data":  {ID: "m1", Topic: "t", Body: []byte(`{"id":"m1"}`)},
		"no JSON":  {ID: "m1", Topic: "t", Body: []byte(`{"data":secret`)},
		"nothing":  {ID: "m1", Topic: "t"},
	} {
		if doc, err := Wrap(m, ""); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, %s", name, err, doc)
		}
	}
}
