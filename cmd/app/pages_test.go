package main

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"example.com/plenary/platform/postgres/postgrestest"
)

const conferencePass = "01936d10-0000-7000-8000-000000000101"

// site starts the program with the inbox of the demo, which the pages show.
func (w *world) site() *replica {
	return w.start("SMTP_URL", "", "RATE_LIMIT_USER", "off", "RATE_LIMIT_ADDRESS", "off", "RATE_LIMIT_HALL", "off") // tests click faster than people
}

// buy goes from the shop to the order's page.
func (b *browser) buy(card string) shown {
	b.t.Helper()
	checkout := b.submit(b.get("/shop"), "/checkout", "quantity."+conferencePass, "2")
	if !strings.Contains(checkout.words(), "258.00 EUR") {
		b.t.Fatalf("no total: %s", checkout.words())
	}
	p := b.submit(checkout, "/checkout", "paymentMethod", card)
	if p.status != http.StatusOK || !strings.HasPrefix(p.path, "/orders/") {
		b.t.Fatalf("after the order: %d %s", p.status, p.path)
	}
	return p
}

func (b *browser) badge(p shown, want string) {
	b.t.Helper()
	if got := p.first("badge").words(); got != want {
		b.t.Errorf("%s: the badge says %q, want %q", p.path, got, want)
	}
}

// The story, as a person lives it, without script: a card is declined, a mail says so, and the order is paid again.
func TestStoryInTheBrowser(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	r := w.site()
	alice := r.browse(t).be("alice@example.com")

	p := alice.buy("tok_declined")
	alice.badge(p, "Payment failed")
	if !strings.Contains(p.words(), "the card was declined") {
		t.Errorf("no reason: %s", p.words())
	}
	number := p.first("mono").words()
	w.within("the mail", func() bool { return strings.Contains(alice.get("/inbox").words(), "Payment failed for order "+number) })
	mail := alice.get(alice.get("/inbox").first("mail").attr("href"))
	if !strings.Contains(mail.raw, `href="http://plenary.test`+p.path+`"`) {
		t.Errorf("the mail does not lead to the order: %s", mail.raw)
	}
	w.within("quiet", w.settled)

	paid := alice.submit(alice.get(p.path), "/payments", "paymentMethod", "tok_visa")
	if paid.path != p.path {
		t.Errorf("after the payment: %s", paid.path)
	}
	alice.badge(paid, "Paid")
	if list := alice.get("/orders"); !strings.Contains(list.words(), number+" Paid") {
		t.Errorf("the list: %s", list.words())
	}
	w.within("the confirmation", func() bool { return strings.Contains(alice.get("/inbox").words(), "Your order "+number) })
}

func TestCancelInTheBrowser(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	alice := w.site().browse(t).be("alice@example.com")
	before := w.available("conference-pass")
	p := alice.submit(alice.buy("tok_declined"), "/cancellation")
	alice.badge(p, "Cancelled")
	if got := w.available("conference-pass"); got != before {
		t.Errorf("%d available, want %d", got, before)
	}
}

// A form is one wish, however often it is sent; with other choices it is another one, and says so first.
func TestFormIsSentTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	alice := w.site().browse(t).be("alice@example.com")
	checkout := alice.submit(alice.get("/shop"), "/checkout", "quantity."+conferencePass, "1")
	once, twice := alice.submit(checkout, "/checkout"), alice.submit(checkout, "/checkout")
	if once.path != twice.path || !strings.HasPrefix(once.path, "/orders/") {
		t.Errorf("the same form led to %s and %s", once.path, twice.path)
	}
	other := alice.submit(checkout, "/checkout", "paymentMethod", "tok_declined")
	if other.status != http.StatusBadRequest || !strings.Contains(other.words(), "sent before, with other choices") {
		t.Errorf("another choice: %d %s", other.status, other.words())
	}
	_, kept := alice.fill(other, "/checkout")
	_, sent := alice.fill(checkout, "/checkout")
	if kept.Get("paymentMethod") != "tok_declined" || kept.Get("key") == sent.Get("key") {
		t.Errorf("what was entered is not kept, or the key is: %v", kept)
	}
	if again := alice.submit(other, "/checkout"); again.path == once.path || !strings.HasPrefix(again.path, "/orders/") {
		t.Errorf("and again: %s", again.path)
	}
	if n := postgrestest.Value[int](t, w.sales, `SELECT count(*) FROM sales.orders`); n != 2 {
		t.Errorf("%d orders", n)
	}
}

// What is wrong is said where it is wrong, and nothing happens.
func TestFormErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	alice := w.site().browse(t).be("alice@example.com")
	at := "/checkout?quantity." + conferencePass
	ordinary := alice.get(at + "=1")
	for name, c := range map[string]struct {
		page   shown
		status int
		says   string
	}{
		"card":        {alice.submit(ordinary, "/checkout", "paymentMethod", "tok_none"), http.StatusBadRequest, "Choose one of these cards."},
		"no key":      {alice.submit(ordinary, "/checkout", "key", ""), http.StatusBadRequest, "The form is not complete"},
		"quantity":    {alice.get(at + "=21"), http.StatusOK, "must be 1 to 20"},
		"no number":   {alice.get(at + "=x"), http.StatusOK, "must be 1 to 20"},
		"sent anyway": {alice.do(http.MethodPost, at+"=21", url.Values{"key": {"01936d10-0000-7000-8000-000000000999"}, "paymentMethod": {"tok_visa"}}, at), http.StatusBadRequest, "must be 1 to 20"},
		"no product":  {alice.get("/checkout?quantity.01936d10-0000-7000-8000-000000000999=1"), http.StatusOK, "not on sale any more"},
		"nothing":     {alice.get("/checkout"), http.StatusOK, "Nothing is chosen"},
		"text":        {alice.do(http.MethodPost, "/login", url.Values{"email": {"a\x00b"}, "password": {"\xff"}}, "/login"), http.StatusUnauthorized, "The address or the password is wrong."},
		"too large":   {alice.do(http.MethodPost, "/login", url.Values{"email": {strings.Repeat("a", 1<<17)}}, "/login"), http.StatusRequestEntityTooLarge, "The form is too large."},
		"a filter":    {alice.get("/orders?status=payed"), http.StatusBadRequest, "The filter status has no such value."},
		"a cursor":    {alice.get("/orders?cursor=x"), http.StatusBadRequest, "The cursor is not valid."},
	} {
		if c.page.status != c.status || !strings.Contains(c.page.words(), c.says) {
			t.Errorf("%s: %d %s", name, c.page.status, c.page.words())
		}
	}
	postgrestest.Exec(t, w.sales, `UPDATE sales.products SET available = 0`)
	if p := alice.submit(ordinary, "/checkout"); p.status != http.StatusConflict || !strings.Contains(p.words(), "Not enough tickets are left.") || !strings.Contains(p.words(), "only 0 left") {
		t.Errorf("sold out: %d %s", p.status, p.words())
	}
	if p := alice.get("/shop"); !strings.Contains(p.words(), "Sold out") {
		t.Errorf("sold out: %s", p.words())
	}
	if n := postgrestest.Value[int](t, w.sales, `SELECT count(*) FROM sales.orders`); n != 0 {
		t.Errorf("%d orders", n)
	}
}

// Who is not signed in, any more or yet, is led to the sign-in and back.
func TestSignIn(t *testing.T) {
	t.Parallel()
	r := newWorld(t, true).site()
	b := r.browse(t)
	wish := "/checkout?quantity." + conferencePass + "=3"
	p := b.get(wish)
	if !strings.HasPrefix(p.path, "/login?") || strings.Contains(p.words(), "session has ended") {
		t.Fatalf("%s: %s", p.path, p.words())
	}
	form, values := b.fill(p, "/login", "email", "alice@example.com", "password", "wrong")
	wrong := b.do(http.MethodPost, form.attr("action"), values, p.path)
	if wrong.status != http.StatusUnauthorized || !strings.Contains(wrong.words(), "The address or the password is wrong.") ||
		!strings.Contains(wrong.raw, `value="alice@example.com"`) || strings.Contains(wrong.raw, `value="wrong"`) {
		t.Errorf("a wrong password: %d %s", wrong.status, wrong.raw)
	}
	if got := b.submit(wrong, "/login", "password", "demo"); got.path != wish || got.status != http.StatusOK {
		t.Errorf("after the sign-in: %s", got.path)
	}
	for _, elsewhere := range []string{"//evil.example/", "https://evil.example/", "/\\evil.example"} {
		if got := r.browse(t).do(http.MethodPost, "/login", url.Values{"email": {"bob@example.com"}, "password": {"demo"}, "next": {elsewhere}}, "/login"); got.path != "/" {
			t.Errorf("next %q led to %s", elsewhere, got.path)
		}
	}

	// The session ends between a page and its form.
	order := b.buy("tok_declined")
	postgrestest.Exec(t, r.app.databases.sources["platform"], `DELETE FROM platform.sessions`)
	p = b.submit(order, "/payments")
	if !strings.HasPrefix(p.path, "/login?") || !strings.Contains(p.words(), "Your session has ended") {
		t.Errorf("%s: %s", p.path, p.words())
	}
	if got := b.submit(p, "/login", "email", "alice@example.com", "password", "demo"); got.path != order.path {
		t.Errorf("back at %s, want %s", got.path, order.path)
	}
	if got := b.submit(b.get("/"), "/logout"); got.path != "/" || !strings.Contains(got.first("who").words(), "Sign in") {
		t.Errorf("signed out: %s %s", got.path, got.first("who").words())
	}
}

// Another site can neither act for a visitor nor sign them in.
func TestOtherSitesDoNotAct(t *testing.T) {
	t.Parallel()
	r := newWorld(t, true).site()
	for _, path := range []string{"/login", "/logout", "/theme", "/checkout"} {
		request, err := http.NewRequest(http.MethodPost, r.base+path, strings.NewReader("email=alice%40example.com&password=demo"))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.Header.Set("Accept", "text/html")
		request.Header.Set("Sec-Fetch-Site", "cross-site")
		request.Header.Set("Origin", "https://evil.example")
		response, err := stubborn.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusForbidden || len(response.Cookies()) != 0 || !strings.HasPrefix(response.Header.Get("Content-Type"), "text/html") {
			t.Errorf("%s: %d %v", path, response.StatusCode, response.Header)
		}
	}
}

func TestThemeIsRemembered(t *testing.T) {
	t.Parallel()
	b := newWorld(t, true).site().browse(t)
	for _, c := range []struct{ choice, want string }{{"dark", "dark"}, {"light", "light"}, {"system", ""}, {"dark", "dark"}, {"no such", ""}} {
		p := b.submit(b.get("/shop?a=b"), "/theme", "theme", c.choice)
		got := ""
		for html := range p.all("html") {
			got = html.attr("data-theme")
		}
		for _, cookie := range b.http.Jar.Cookies(b.at()) {
			if cookie.Value != c.want {
				t.Errorf("%s is remembered as %s", c.choice, cookie)
			}
		}
		if got != c.want || p.path != "/shop?a=b" {
			t.Errorf("%s: %q at %s", c.choice, got, p.path)
		}
	}
}

// Dead letters come back by a button: to those who may, and nobody else.
func TestRequeueInTheBrowser(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	r := w.site()
	alice, viktor := r.browse(t).be("alice@example.com"), r.browse(t).be("viktor@example.com")
	olivia, ada := r.browse(t).be("olivia@example.com"), r.browse(t).be("ada@example.com")
	alice.buy("tok_declined")
	w.within("quiet", w.settled)
	for what, kill := range map[string]string{
		"commands": `UPDATE platform.internal_commands SET processed_on = NULL, dead_lettered_on = now(), dead_letter_reason = 'attempts_exhausted',
			attempts = 5, last_error = 'the gateway <b>laughed</b>' WHERE name = 'sales.settle_payment'`,
		"outbox": `UPDATE platform.deliveries SET processed_on = NULL, dead_lettered_on = now(), dead_letter_reason = 'attempts_exhausted',
			attempts = 10, last_error = 'the gateway <b>laughed</b>'`,
	} {
		postgrestest.Exec(t, w.sales, kill)
		list := viktor.get("/ops/" + what + "?state=dead_lettered")
		if !strings.Contains(list.words(), "the gateway <b>laughed</b>") || !strings.Contains(list.words(), "Dead letter") {
			t.Errorf("%s: %s", what, list.words())
		}
		address := firstRow(t, list)
		seen := viktor.get(address)
		form, values := viktor.fill(seen, "/requeue")
		for button := range form.all("button") {
			if !button.has("disabled") || !strings.Contains(form.words(), "ops:act") {
				t.Errorf("a viewer's button: %s", form.words())
			}
		}
		if refused := viktor.do(http.MethodPost, form.attr("action"), values, seen.path); refused.status != http.StatusForbidden {
			t.Errorf("%s: a viewer's requeue: %d", what, refused.status)
		}
		acted, late := olivia.get(address), ada.get(address)
		if done := olivia.submit(acted, "/requeue"); !strings.Contains(done.words(), "Requeued.") {
			t.Errorf("%s: %s", what, done.words())
		}
		if again := olivia.submit(acted, "/requeue"); !strings.Contains(again.words(), "Requeued.") {
			t.Errorf("%s, the same form again: %s", what, again.words())
		}
		w.within("the requeued one", func() bool { return strings.Contains(olivia.get(address).words(), "Succeeded") })
		if tooLate := ada.submit(late, "/requeue"); !strings.Contains(tooLate.words(), "nothing was changed") {
			t.Errorf("%s, by somebody else: %s", what, tooLate.words())
		}
	}
}

// Nobody keeps a session of a browser that has none.
func TestPagesSetNoCookieUnasked(t *testing.T) {
	t.Parallel()
	r := newWorld(t, true).site()
	b := r.browse(t)
	for _, path := range []string{"/", "/shop", "/login", "/inbox", "/nothing"} {
		if p := b.get(path); len(p.header.Values("Set-Cookie")) != 0 {
			t.Errorf("%s sets %v", path, p.header.Values("Set-Cookie"))
		}
	}
	b.be("alice@example.com")
	if cookies := b.http.Jar.Cookies(b.at()); len(cookies) != 1 {
		t.Errorf("cookies after the sign-in: %v", cookies)
	}
}
