package main

import (
	"net/http"
	"testing"

	"example.com/plenary/modules/engagement"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/mail/inbox"
	"example.com/plenary/platform/postgres/postgrestest"
)

// demoMails are those of the demo's own inbox.
func (c client) demoMails() int {
	c.t.Helper()
	var all struct{ Items []inbox.Mail }
	c.do("GET", "/demo/mail", nil, http.StatusOK, &all)
	return len(all.Items)
}

func TestMailThatIsDownIsSentOnceItIsUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	r := w.start("SMTP_URL", "")
	r.do("POST", "/demo/faults/mail-down", nil, http.StatusNoContent, nil)
	r.as("alice@example.com").order(1, "tok_declined")
	w.within("a failed attempt", func() bool {
		return postgrestest.Value[int](t, w.sales, `SELECT coalesce(sum(attempts), 0) FROM platform.internal_commands WHERE name = 'sales.send_payment_failed_email'`) > 0
	})
	if n := r.demoMails(); n != 0 {
		t.Errorf("%d mails while the server is down", n)
	}
	r.do("DELETE", "/demo/faults/mail-down", nil, http.StatusNoContent, nil)
	postgrestest.Exec(t, w.sales, `UPDATE platform.internal_commands SET next_attempt_on = now() WHERE processed_on IS NULL AND attempts > 0`)
	r.app.wakeRunners()
	w.within("the mail", func() bool { return r.demoMails() == 1 })
}

// The process ends between a mail and the stamp of its command; what another one then sends bears the same Message-ID.
func TestCrashAfterEffect(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	p := w.spawn()
	p.do("POST", "/demo/faults/crash-after-effect", nil, http.StatusNoContent, nil)
	o := p.as("alice@example.com").order(1, "tok_declined")
	<-p.done
	p.done = nil
	w.spawn()
	w.within("the command's end", w.settled)
	w.within("the second attempt", func() bool { return w.about(o.Number) >= 1 && w.settled() })
	ids := map[string]bool{}
	for _, m := range w.sent(t) {
		ids[m.MessageID] = true
	}
	if len(ids) != 1 {
		t.Errorf("%d Message-IDs", len(ids))
	}
}

func TestAudienceAndReset(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		r := w.start("SMTP_URL", "", "RATE_LIMIT_USER", "off")
		ada := r.as("ada@example.com")
		p, code := ada.poll(true), ada.roomCode()
		var voted Voted
		r.do("POST", "/demo/audience", map[string]any{"room": code, "votes": 50}, http.StatusOK, &voted)
		var seen engagement.PollView
		ada.do("GET", "/engagement/polls/"+p.ID.String(), nil, http.StatusOK, &seen)
		if voted.Voted != 50 || seen.TotalVotes != 50 {
			t.Errorf("%d have voted, %d are counted", voted.Voted, seen.TotalVotes)
		}
		alice := r.as("alice@example.com")
		alice.order(2, "tok_visa")
		w.within("the confirmation", func() bool { return r.demoMails() > 0 })
		w.within("the reset", func() bool {
			status, _, _, err := r.try("POST", "/demo/reset", nil)
			return err == nil && status == http.StatusNoContent
		})
		var orders httpx.Page[order]
		alice.do("GET", "/sales/orders", nil, http.StatusOK, &orders) // her session is still good
		if len(orders.Items) != 0 || r.demoMails() != 0 || w.available("conference-pass") != 500 {
			t.Errorf("%d orders, %d mails, %d tickets", len(orders.Items), r.demoMails(), w.available("conference-pass"))
		}
		if again := ada.roomCode(); again == "" {
			t.Error("no room")
		}
	})
}

func TestUnknownSwitchesAndNoDemo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	r := w.start()
	r.do("POST", "/demo/faults/gravity", nil, http.StatusNotFound, nil)
	r.do("POST", "/demo/faults/mail-down", nil, http.StatusConflict, nil) // mail goes elsewhere here
	r.do("POST", "/demo/faults/slow-handler", nil, http.StatusNoContent, nil)
	r.do("DELETE", "/demo/faults/slow-handler", nil, http.StatusNoContent, nil)
	r.do("POST", "/demo/audience", map[string]any{"room": "CCCCCC", "votes": 5}, http.StatusNotFound, nil)
	plain := w.start("DEMO", "false")
	for _, path := range []string{"/demo/faults/slow-handler", "/demo/audience", "/demo/reset"} {
		plain.do("POST", path, nil, http.StatusNotFound, nil)
	}
}
