package contract

import (
	"net/http"
	"strings"
	"testing"
)

func TestB128VisitorsGetACookieAndACredentialThatAreTheSameProof(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 2, nil)
	a := shared.call(t, "POST", "/api/v1/visitors", nil).want(t, http.StatusCreated)
	if got := a.header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control %q, want no-store", got)
	}
	cookies := (&http.Response{Header: a.header}).Cookies()
	if len(cookies) != 1 {
		t.Fatalf("got %d cookies, want 1", len(cookies))
	}
	c := cookies[0]
	if c.Name != "foyer_visitor" || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Secure {
		t.Errorf("cookie %v, want foyer_visitor, HttpOnly, SameSite=Lax, and not Secure without TLS", c)
	}
	byHeader := e.h.call(t, "POST", e.path("/queue"), nil, "X-Visitor", a.text("credential")).want(t, http.StatusCreated)
	byCookie := e.h.call(t, "POST", e.path("/queue"), nil, "Cookie", c.Name+"="+c.Value).want(t, http.StatusOK)
	if got, want := byCookie.text("queueId"), byHeader.text("queueId"); got != want {
		t.Errorf("by cookie place %s, by header %s, want one place", got, want)
	}
}

func TestUnderTLSTheCookieIsSecureWithHostPrefix(t *testing.T) {
	t.Parallel()
	const secure, plain = "__Host-foyer_visitor=", "foyer_visitor="
	ask := func(h *house) string {
		return h.call(t, "POST", "/api/v1/visitors", nil, "X-Forwarded-Proto", "https").want(t, http.StatusCreated).header.Get("Set-Cookie")
	}
	if got := ask(shared); !strings.HasPrefix(got, plain) {
		t.Errorf("from a stranger's X-Forwarded-Proto: %q, want %s", got, plain)
	}
	got := ask(newHouse(t, "--trusted-proxies", "127.0.0.1/32"))
	if !strings.HasPrefix(got, secure) || !strings.Contains(got, "; Secure") || !strings.Contains(got, "Path=/") {
		t.Errorf("behind a trusted proxy: %q, want %s, Path=/ and Secure", got, secure)
	}
}

func TestB156OnlyTheCredentialProvesAPlace(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 2, nil)
	p, other := e.buyer(t), e.buyer(t)
	o := p.holds(t, "A-1")

	flipped := "A" + p.credential[1:]
	if p.credential[0] == 'A' {
		flipped = "B" + p.credential[1:]
	}
	for name, c := range map[string]string{
		"none": "", "the visitor's id": p.id, "the place's id": p.queueId, "short": "x", "null": "null", "long": strings.Repeat("a", 5000),
		"flipped": flipped, "cut": p.credential[:len(p.credential)-1], "longer": p.credential + "A", "not base64": "!!!!", "unicode": "\u202e\U0001F9D1\u200d",
		"NUL": "%00", "list": p.credential + "," + other.credential,
	} {
		for _, way := range [][]string{{"X-Visitor", c}, {"Cookie", "foyer_visitor=" + c}} {
			e.h.call(t, "POST", e.path("/queue"), nil, way...).refused(t, http.StatusUnauthorized, "no_visitor")
			e.get(t, "/queue", way...).refused(t, http.StatusUnauthorized, "no_visitor")
			if a := e.get(t, "/queue/"+p.queueId, way...); a.status != http.StatusUnauthorized && a.status != http.StatusNotFound {
				t.Errorf("%s %s: place by id got %d, want 401 or 404", name, way[0], a.status)
			}
			if a := e.h.call(t, "GET", o.path(""), nil, way...); a.status != http.StatusUnauthorized && a.status != http.StatusNotFound {
				t.Errorf("%s %s: order got %d, want 401 or 404", name, way[0], a.status)
			}
		}
	}

	foreign := other.call(t, "GET", e.path("/queue/"+p.queueId), nil).refused(t, http.StatusNotFound, "not_entered")
	unknown := other.call(t, "GET", e.path("/queue/5c8e1f0a-0000-4000-8000-000000000000"), nil).refused(t, http.StatusNotFound, "not_entered")
	if foreign.body != unknown.body {
		t.Errorf("a foreign place answers %s, an unknown one %s; want no difference", foreign.body, unknown.body)
	}
	other.call(t, "DELETE", e.path("/queue/"+p.queueId), nil).problem(t)
	other.call(t, "GET", e.path("/queue/"+p.queueId+"/stream"), nil).refused(t, http.StatusNotFound, "not_entered")
	foreign = other.call(t, "GET", o.path(""), nil).want(t, http.StatusNotFound)
	unknown = other.call(t, "GET", "/api/v1/orders/5c8e1f0a-0000-4000-8000-000000000000", nil).want(t, http.StatusNotFound)
	if foreign.body != unknown.body {
		t.Errorf("a foreign order answers %s, an unknown one %s; want no difference", foreign.body, unknown.body)
	}
	for _, act := range [][]string{{"DELETE", "/hold", ""}, {"POST", "/pay", `{"provider":"demo"}`}, {"POST", "/cancel", "{}"}} {
		other.call(t, act[0], o.path(act[1]), act[2]).want(t, http.StatusNotFound)
	}
	if got := o.get(t).text("status"); got != "PENDING" {
		t.Errorf("after strangers tried everything the order is %s, want PENDING", got)
	}
	if got := p.place(t).text("status"); got != "READY" {
		t.Errorf("after strangers tried everything the place is %s, want READY", got)
	}
}

func TestCookieFromAnotherSiteChangesNothing(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 2, nil)
	p := e.buyer(t)
	o := p.holds(t, "A-1")
	cookie := "foyer_visitor=" + p.credential
	for _, act := range [][]string{
		{"POST", e.path("/queue"), "{}"}, {"DELETE", e.path("/queue/" + p.queueId), ""}, {"POST", o.path("/cancel"), "{}"},
		{"DELETE", o.path("/hold"), ""}, {"POST", o.path("/pay"), `{"provider":"demo"}`},
	} {
		e.h.call(t, act[0], act[1], act[2], "Cookie", cookie, "Sec-Fetch-Site", "cross-site").problem(t).want(t, http.StatusForbidden)
	}
	if got := o.get(t).text("status"); got != "PENDING" {
		t.Errorf("the order is %s, want PENDING", got)
	}
	e.h.call(t, "POST", e.path("/queue"), nil, "Cookie", cookie, "Sec-Fetch-Site", "same-origin").want(t, http.StatusOK)
	p.call(t, "POST", e.path("/queue"), nil, "Sec-Fetch-Site", "cross-site").want(t, http.StatusOK) // a header is no cookie
}

func TestKeysHaveRolesAndEndAtOnce(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 2, nil)
	o := e.buyer(t).holds(t, "A-1")
	key := map[string]string{}
	for _, role := range []string{"admin", "boxoffice", "door", "shop"} {
		a := shared.staff(t, "POST", "/admin/keys", object{"role": role, "name": "n-" + role}).want(t, http.StatusCreated)
		if a.text("id") == "" || a.text("role") != role || a.text("name") != "n-"+role || a.text("key") == "" {
			t.Fatalf("new key %s, want id, role, name and key", a.body)
		}
		key[role] = a.text("key")
		t.Cleanup(func() {
			shared.staff(t, "DELETE", "/admin/keys/"+a.text("id"), nil).want(t, http.StatusNoContent)
			shared.call(t, "GET", "/api/v1/admin/orders", nil, "Authorization", "Bearer "+key[role]).want(t, http.StatusUnauthorized)
		})
	}
	for _, bad := range []object{{"role": "owner", "name": "x"}, {"role": "", "name": "x"}, {"name": "x"}, {"role": "shop", "name": "x\u0000"}, {"role": "shop", "name": "x", "key": "mine"}} {
		shared.staff(t, "POST", "/admin/keys", bad).problem(t)
	}
	for _, k := range key {
		if list := shared.staff(t, "GET", "/admin/keys?limit=500", nil).want(t, http.StatusOK).body; strings.Contains(list, k) {
			t.Error("the list of keys shows a key")
		}
	}

	const all, admin, box, shop = "admin boxoffice door shop", "admin", "admin boxoffice", "admin shop"
	for _, c := range []struct{ method, path, body, roles string }{
		{"GET", "/admin/events", "", admin}, {"GET", "/admin/events/" + e.id, "", admin}, {"POST", "/admin/events", "{}", admin},
		{"PATCH", "/admin/events/" + e.id, "{}", admin}, {"PUT", "/admin/events/" + e.id + "/plan?dryRun=1", rows(2), admin},
		{"POST", "/admin/events/" + e.id + "/announce", "{}", admin}, {"PATCH", "/admin/events/" + e.id + "/pace", "{}", admin},
		{"POST", "/admin/events/" + e.id + "/resume", "{}", admin}, {"GET", "/admin/orders", "", box}, {"GET", "/admin/attention", "", admin},
		{"GET", "/admin/audit", "", admin}, {"GET", "/admin/keys", "", admin}, {"POST", "/orders/" + o.id + "/confirm", `{"amount":4250,"currency":"EUR"}`, shop},
	} {
		try := func(credential string) int {
			return e.h.call(t, c.method, "/api/v1"+c.path, c.body, "Authorization", credential, "Idempotency-Key", "k").status
		}
		for _, nobody := range []string{"", "Bearer", "Bearer ", "Bearer nonsense", "Basic " + adminKey, adminKey, "Bearer " + o.credential} {
			if got := try(nobody); got != http.StatusUnauthorized {
				t.Errorf("%s %s with %q: got %d, want 401", c.method, c.path, nobody, got)
			}
		}
		for _, role := range []string{"door", "shop", "boxoffice", "admin"} {
			got, may := try("Bearer "+key[role]), strings.Contains(c.roles, role)
			if may == (got == http.StatusForbidden) || got == http.StatusUnauthorized {
				t.Errorf("%s %s as %s: got %d, want allowed %v", c.method, c.path, role, got, may)
			}
		}
	}
}

func TestTheLastAdminKeyStays(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	id := h.staff(t, "GET", "/admin/keys", nil).text("items", 0, "id")
	a := h.staff(t, "DELETE", "/admin/keys/"+id, nil)
	if a.status < 400 {
		t.Errorf("the last admin key went: %d", a.status)
	}
	h.staff(t, "GET", "/admin/keys", nil).want(t, http.StatusOK)
}

func TestNoSecretIsLogged(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	e := eventOf(t, h, 2, nil)
	p := e.buyer(t)
	o := p.holds(t, "A-1")
	h.tell(t, o.news("succeeded", o.pays(t))).want(t, http.StatusOK)
	code := o.becomes(t, "PAID").text("tickets", 0, "code")
	h.sink.sold(t, o.id, 1)
	shopKey := h.staff(t, "POST", "/admin/keys", object{"role": "shop", "name": "s"}).text("key")
	for _, path := range []string{"/events/" + e.id + "?token=" + p.token, "/nowhere/" + p.credential, "/api/v1/nowhere/" + p.token, "/api/v1/events/" + p.token} {
		p.call(t, "GET", path, nil, "X-Entry-Token", p.token)
	}
	if c, _ := h.stop(t); c != 0 {
		t.Errorf("exit code %d, want 0", c)
	}
	log := h.log.String()
	for name, secret := range map[string]string{"admin key": adminKey, "credential": p.credential, "entry token": p.token, "ticket code": code,
		"shop key": shopKey, "webhook secret": hookSecret, "demo secret": demoSecret} {
		if secret == "" || strings.Contains(log, secret) {
			t.Errorf("the log holds the %s", name)
		}
	}
}
