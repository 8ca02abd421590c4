package sale

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// The words of staff about whether an event is sold out, beside "" for what the
// seats themselves say.
const (
	SoldOutYes = "yes" // the line ends, whatever seats are left
	SoldOutNo  = "no"  // seats are expected back: people may join and wait for them
)

// allSold tells whether no seat is left to sell or to be given back by a hold. An
// event that never had one on sale, as one without a plan, is not.
func (e *Event) allSold(sold int) bool {
	if e.Sellable == 0 {
		return len(e.Blocked) > 0 && len(e.Prices) > 0 // staff keep the last ones back
	}
	return sold >= e.Sellable
}

// soldOut is allSold, unless staff have decided.
func (e *Event) soldOut(sold int) bool {
	return e.SoldOut == SoldOutYes || e.SoldOut != SoldOutNo && e.allSold(sold)
}

// SetSoldOut decides whether an event is sold out: [SoldOutYes], [SoldOutNo] or
// "auto" for what the seats say. Turns and holds go on either way. A nil message
// leaves the one to the public as it is.
func (o *Office) SetSoldOut(actor, id, override string, message *string) (*Event, error) {
	if override != SoldOutYes && override != SoldOutNo && override != "auto" {
		return nil, ErrBadEvent.say(`override must be "yes", "no" or "auto".`)
	}
	if message != nil {
		if wrong := checkText("message", *message, 0, 500); wrong != "" {
			return nil, ErrBadEvent.say(wrong)
		}
	}
	return o.change(actor, id, "event.soldout", func(_ Tx, e *Event) error {
		if e.SoldOut = override; override == "auto" {
			e.SoldOut = ""
		}
		if message != nil {
			e.Message = *message
		}
		return nil
	}, func(_, e *Event) string { return strings.TrimSpace(cmp.Or(e.SoldOut, "auto") + " " + e.Message) })
}

// saidMessage is what the audit keeps of a change that tells the public something.
func saidMessage(_, e *Event) string { return e.Message }

// maxDetail bounds what the audit keeps of one change, in characters.
const maxDetail = 500

// differences names the settings that differ, as the API does: "rules.maxActive 4 -> 2".
func differences(before, after Settings) string {
	a, b := map[string]string{}, map[string]string{}
	flatten("", before, a)
	flatten("", after, b)
	all := maps.Clone(a)
	maps.Copy(all, b)
	var list []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if a[name] != b[name] {
			list = append(list, name+" "+cmp.Or(a[name], "none")+" -> "+cmp.Or(b[name], "none"))
		}
	}
	text := []rune(strings.Join(list, ", "))
	if len(text) > maxDetail {
		return string(text[:maxDetail]) + "…"
	}
	return string(text)
}

// flatten writes v's parts by their JSON names, dots between those of objects.
func flatten(name string, v any, into map[string]string) {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err) // our own structs always encode
	}
	var parts map[string]json.RawMessage
	if json.Unmarshal(body, &parts) != nil || parts == nil {
		into[name] = string(body)
		return
	}
	for part, value := range parts {
		flatten(strings.TrimPrefix(name+"."+part, "."), value, into)
	}
}
