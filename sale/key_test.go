package sale_test

import (
	"strings"
	"testing"

	"foyer/sale"
)

func TestKeyLetsInWhoHasItsSecretOnly(t *testing.T) {
	play(t, nil, func(h *house) {
		k, secret, err := h.CreateKey("staff", sale.RoleShop, "the web shop")
		h.ok(err)
		if got, ok := h.Authenticate(secret); !ok || got.ID != k.ID || got.Role != sale.RoleShop {
			h.Errorf("got %+v, %v", got, ok)
		}
		for _, wrong := range []string{"", secret + "x", secret[1:], k.ID, strings.ToUpper(secret)} {
			if _, ok := h.Authenticate(wrong); ok {
				h.Errorf("%q is let in", wrong)
			}
		}
		h.restart()
		if _, ok := h.Authenticate(secret); !ok {
			h.Error("a restart forgot the key")
		}
		h.ok(h.RemoveKey("staff", k.ID))
		if _, ok := h.Authenticate(secret); ok {
			h.Error("a removed key lets in")
		}
		h.refused(h.RemoveKey("staff", k.ID), sale.ErrNoSuchKey)
	})
}

func TestBadKeysAreRefused(t *testing.T) {
	play(t, nil, func(h *house) {
		for _, c := range []struct{ role, name string }{
			{"", "x"}, {"root", "x"}, {"admin", strings.Repeat("x", 101)}, {"admin", "a\nb"}, {"door", "\xff"},
		} {
			_, _, err := h.CreateKey("staff", sale.Role(c.role), c.name)
			h.refused(err, sale.ErrBadKey)
		}
		h.refused(h.SetAdminKey("short"), sale.ErrBadKey)
	})
}

func TestLastAdminKeyStays(t *testing.T) {
	play(t, nil, func(h *house) {
		one, _, err := h.CreateKey("staff", sale.RoleAdmin, "one")
		h.ok(err)
		_, _, err = h.CreateKey("staff", sale.RoleDoor, "door")
		h.ok(err)
		h.refused(h.RemoveKey("staff", one.ID), sale.ErrLastAdmin)
		two, _, err := h.CreateKey("staff", sale.RoleAdmin, "two")
		h.ok(err)
		var errs [2]error
		h.together(func() { errs[0] = h.RemoveKey("staff", one.ID) }, func() { errs[1] = h.RemoveKey("staff", two.ID) })
		h.ok(errs[0])
		h.refused(errs[1], sale.ErrLastAdmin) // also when both go in one commit
	})
}

func TestPresetAdminKeyReplacesTheOneBefore(t *testing.T) {
	play(t, nil, func(h *house) {
		_, made, err := h.CreateKey("house", sale.RoleAdmin, "made at the first start")
		h.ok(err)
		for range 2 { // the same at every start
			h.ok(h.SetAdminKey("first secret"))
		}
		if n := len(h.Keys()); n != 2 {
			h.Errorf("%d keys, want 2", n)
		}
		h.ok(h.SetAdminKey("second secret"))
		for secret, want := range map[string]bool{"first secret": false, "second secret": true, made: true} {
			if _, ok := h.Authenticate(secret); ok != want {
				h.Errorf("%.12s lets in: %v, want %v", secret, ok, want)
			}
		}
		h.ok(h.SetAdminKey(made)) // the operator settles on a key that exists
		if _, ok := h.Authenticate("second secret"); ok {
			h.Error("the preset key of before still lets in")
		}
		if _, ok := h.Authenticate(made); !ok {
			h.Error("the chosen key does not let in")
		}
	})
}

func TestPresetKeysOfOneCommitLeaveOne(t *testing.T) {
	play(t, nil, func(h *house) {
		h.together(func() { h.ok(h.SetAdminKey("secret one")) }, func() { h.ok(h.SetAdminKey("secret two")) })
		if n := len(h.Keys()); n != 1 {
			h.Errorf("%d keys, want 1", n)
		}
		if _, ok := h.Authenticate("secret one"); ok {
			h.Error("the key of before still lets in")
		}
	})
}

func TestKeysAreListedInTheOrderOfTheirCreation(t *testing.T) {
	play(t, nil, func(h *house) {
		var want []string
		for range 8 { // all at the same instant
			k, _, err := h.CreateKey("staff", sale.RoleDoor, "door")
			h.ok(err)
			want = append(want, k.ID)
		}
		for i, k := range h.Keys() {
			if k.ID != want[i] {
				h.Fatalf("key %d is %s, want %s", i, k.ID, want[i])
			}
		}
	})
}

func TestRolesIncludeOnlyThemselvesUnlessAdmin(t *testing.T) {
	if !sale.RoleAdmin.Includes(sale.RoleDoor) || sale.RoleDoor.Includes(sale.RoleAdmin) || !sale.RoleShop.Includes(sale.RoleShop) || sale.RoleShop.Includes(sale.RoleDoor) {
		t.Error("roles include the wrong ones")
	}
}

func TestEveryActOfStaffIsWrittenDown(t *testing.T) {
	play(t, nil, func(h *house) {
		_, err := h.PauseEvent("staff:7", gala, "")
		h.ok(err)
		list, err := h.Audit(0, 100)
		h.ok(err)
		var acts []string
		for i, e := range list {
			acts = append(acts, e.Act)
			if i > 0 && e.Seq >= list[i-1].Seq {
				h.Error("the audit is not newest first")
			}
		}
		if got, want := strings.Join(acts, " "), "event.pause event.plan event.create"; got != want || list[0].Actor != "staff:7" || list[0].Event != gala {
			h.Errorf("got %q by %q, want %q", got, list[0].Actor, want)
		}
		older, err := h.Audit(list[0].Seq, 1)
		h.ok(err)
		if len(older) != 1 || older[0].Seq != list[1].Seq {
			h.Errorf("the page before %d is %+v", list[0].Seq, older)
		}
	})
}
