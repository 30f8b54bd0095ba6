package main

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"example.com/plenary/platform/postgres/postgrestest"
)

const standingBallots = `SELECT count(*) FROM engagement.ballots WHERE stands`

// join comes in by the form, as somebody without an account if nobody is signed in.
func (b *browser) join(code string) shown {
	b.t.Helper()
	p := b.submit(b.get("/join"), "/join", "code", code)
	if p.status != http.StatusOK || !strings.HasPrefix(p.path, "/rooms/") {
		b.t.Fatalf("%s leads to %d %s: %s", code, p.status, p.path, p.words())
	}
	return p
}

// option returns the id of an option that can be chosen.
func (b *browser) option(p shown, text string) string {
	b.t.Helper()
	for label := range p.all("label") {
		if id := label.attr("data-option"); id != "" && label.words() == text {
			return id
		}
	}
	b.t.Fatalf("%s does not offer %s:\n%s", p.path, text, p.raw)
	return ""
}

// A poll and a question, without script, and without an account: every step is a form and a new page.
func TestRoomInTheBrowser(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		r := w.site()
		code := r.roomCode()
		voter, other, sam := r.browse(t), r.browse(t), r.browse(t).be("sam@example.com")
		away := voter.get("/rooms/" + strings.ToLower(code))
		voter.says(away, http.StatusOK, "One press, and you are in.")
		if _, filled := voter.fill(away, "/join"); !strings.EqualFold(filled.Get("code"), code) {
			t.Errorf("the code has to be typed again: %v", filled)
		}
		empty := voter.join(" " + strings.ToLower(code[:3]) + "-" + code[3:])
		voter.says(empty, http.StatusOK, "An outbox you can trust", "No poll is open yet.", "No questions yet.")
		if empty.path != "/rooms/"+code {
			t.Errorf("at %s", empty.path)
		}
		other.join(code)

		host := sam.submit(sam.get("/rooms/"+code+"/host"), "/polls", "question", "Tea <or> coffee?", "options", "Tea\r\n\r\n Coffee \r\nBoth")
		sam.says(host, http.StatusOK, "The poll is a draft.", "Tea <or> coffee? Draft")
		voter.says(voter.get("/rooms/"+code), http.StatusOK, "No poll is open yet.")
		sam.says(sam.submit(host, "/opening"), http.StatusOK, "The room can vote.", "Tea <or> coffee? Open")

		p := voter.get("/rooms/" + code)
		tea, coffee := voter.option(p, "Tea"), voter.option(p, "Coffee")
		voter.says(voter.submit(p, "/ballot"), http.StatusBadRequest, "Choose an option first.")
		voted := voter.submit(p, "/ballot", "option", tea)
		voter.says(voted, http.StatusOK, "Your vote is recorded.", "Your vote: Tea", "Tea your vote 1 100 %", "Coffee your vote 0 0 %", "1 vote")
		voter.submit(p, "/ballot", "option", tea) // by going back
		voter.join(code)                          // and by coming in again, which makes no other voter
		changed := voter.submit(voter.get("/rooms/"+code), "/ballot", "option", coffee)
		voter.says(changed, http.StatusOK, "Your vote: Coffee", "Coffee your vote 1 100 %")
		other.says(other.submit(other.get("/rooms/"+code), "/ballot", "option", tea), http.StatusOK, "Tea your vote 1 50 %", "2 votes")
		if n := postgrestest.Value[int](t, w.engagement, standingBallots); n != 2 {
			t.Errorf("%d ballots of two voters", n)
		}
		back := voter.do(http.MethodPost, strings.Replace(formAction(changed, "/ballot"), "/ballot", "/withdrawal", 1), freshForm(), changed.path)
		voter.says(back, http.StatusOK, "Your vote is taken back.", "You have not voted.", "1 vote")

		sam.says(sam.submit(sam.get("/rooms/"+code+"/host"), "/closing"), http.StatusOK, "its result is final", "Tea <or> coffee? Closed")
		voter.says(voter.submit(voted, "/ballot", "option", tea, "key", freshForm().Get("key")), http.StatusConflict, "The poll is closed.", "Closed")

		asked := voter.submit(voter.get("/rooms/"+code), "/questions", "text", "Why <not>?")
		voter.says(asked, http.StatusOK, "Your question is handed in.", "No questions yet.")
		other.says(other.get("/rooms/"+code), http.StatusOK, "No questions yet.")
		queue := sam.get("/rooms/" + code + "/host")
		sam.says(queue, http.StatusOK, "1 waiting for a moderator", "Why <not>?", "Pending")
		sam.says(sam.submit(queue, "/moderation", "action", "approve"), http.StatusOK, "0 waiting", "Approved")
		voter.says(voter.get("/rooms/"+code), http.StatusOK, "Why <not>?", "0 upvotes", "yours")
		wanted := other.submit(other.get("/rooms/"+code), "/upvote")
		other.says(wanted, http.StatusOK, "Why <not>?", "1 upvote")
		other.says(other.submit(wanted, "/upvote"), http.StatusOK, "0 upvotes")
		own := voter.do(http.MethodPost, formAction(wanted, "/upvote"), freshForm("wanted", "true"), "/rooms/"+code)
		voter.says(own, http.StatusConflict, "Nobody upvotes their own question.")
		sam.says(sam.get("/rooms/"+code+"/wall"), http.StatusOK, "plenary.test/join", code, "Tea <or> coffee?", "Why <not>?")
		sam.says(sam.submit(sam.get("/rooms/"+code+"/host"), "/moderation", "action", "answer"), http.StatusOK, "Answered")
	})
}

// freshForm is a form that nothing has been sent with yet.
func freshForm(fields ...string) url.Values {
	values := url.Values{"key": {uuid.NewString()}}
	for i := 0; i < len(fields); i += 2 {
		values.Set(fields[i], fields[i+1])
	}
	return values
}

func formAction(p shown, part string) string {
	for form := range p.all("form") {
		if strings.Contains(form.attr("action"), part) {
			return form.attr("action")
		}
	}
	return ""
}

// What is wrong is said where it is wrong, what was typed is kept, and nothing happens.
func TestRoomFormErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	r := w.site()
	code := r.roomCode()
	voter, sam := r.browse(t), r.browse(t).be("sam@example.com")
	join := voter.get("/join")
	voter.says(voter.submit(join, "/join", "code", "QQQQQQ"), http.StatusNotFound, "There is no room with this code.")
	voter.says(voter.submit(join, "/join", "code", " "), http.StatusBadRequest, "Must not be empty.")
	voter.says(voter.submit(join, "/join", "code", "a\xff<b>"), http.StatusNotFound, "There is no room")
	voter.says(voter.submit(join, "/join", "code", "a\x00b"), http.StatusBadRequest, "cannot be stored")
	p := voter.join(code)
	for range 10 {
		p = voter.submit(voter.get(p.path), "/questions", "text", "Why?")
	}
	full := voter.submit(voter.get("/rooms/"+code), "/questions", "text", "One <more>?")
	voter.says(full, http.StatusConflict, "Ten of your questions are open already.")
	for e := range full.all("textarea") {
		if e.words() != "One <more>?" {
			t.Errorf("kept: %q", e.words())
		}
	}
	voter.says(voter.submit(full, "/questions", "text", strings.Repeat("x", 501)), http.StatusBadRequest, "Must not be longer than 500 characters.")
	voter.says(voter.submit(full, "/questions", "text", "x", "key", ""), http.StatusBadRequest, "The form is not complete")
	for _, address := range []string{"/polls/01936d10-0000-7000-8000-000000000999/ballot", "/polls/none/ballot", "/polls/01936d10-0000-7000-8000-000000000999/withdrawal", "/questions/01936d10-0000-7000-8000-000000000999/upvote"} {
		form := freshForm("option", "01936d10-0000-7000-8000-000000000999")
		voter.says(voter.do(http.MethodPost, "/rooms/"+code+address, form, p.path), http.StatusNotFound, "Nothing is here")
	}
	stranger := r.browse(t)
	if p := stranger.do(http.MethodPost, "/rooms/"+code+"/questions", freshForm("text", "Why?"), "/"); !strings.HasPrefix(p.path, "/join?") {
		t.Errorf("somebody who is not in is led to %s", p.path)
	}

	host := sam.get("/rooms/" + code + "/host")
	for name, c := range map[string]struct {
		changes []string
		field   string
		says    string
	}{
		"no question":   {[]string{"question", "", "options", "a\nb"}, "question", "Must not be empty."},
		"one option":    {[]string{"question", "kept <q>", "options", "a\n\n"}, "options", "A poll has 2 to 10 options."},
		"twice":         {[]string{"question", "kept <q>", "options", "a\nA"}, "options", "Line 2: is there already."},
		"minutes":       {[]string{"question", "kept <q>", "options", "a\nb", "minutes", "soon"}, "minutes", "Must be 1 to 1440, or empty."},
		"a day and all": {[]string{"question", "kept <q>", "options", "a\nb", "minutes", "1441"}, "minutes", "Must be 1 to 1440, or empty."},
	} {
		p := sam.submit(host, "/polls", c.changes...)
		sam.says(p, http.StatusBadRequest, c.says)
		for e := range p.all("input", "textarea") {
			if id := e.attr("id"); id != "" && e.has("aria-invalid") != (id == c.field) {
				t.Errorf("%s: the field %s is marked: %t", name, id, e.has("aria-invalid"))
			}
			if e.attr("id") == "question" && c.field != "question" && e.attr("value") != "kept <q>" {
				t.Errorf("%s: the question is %q", name, e.attr("value"))
			}
		}
	}
	if n := postgrestest.Value[int](t, w.engagement, `SELECT count(*) FROM engagement.polls`); n != 0 {
		t.Errorf("%d polls", n)
	}
}

// Two hosts at two pages: the one who has not seen what the other did is told, and does nothing by mistake.
func TestAHostWhoIsBehind(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	r := w.site()
	code := r.roomCode()
	sam, ada := r.browse(t).be("sam@example.com"), r.browse(t).be("ada@example.com")
	draft := sam.submit(sam.get("/rooms/"+code+"/host"), "/polls", "question", "Lunch?", "options", "now\nlater", "multiple", "true", "minutes", "5")
	stale := ada.get("/rooms/" + code + "/host")
	opened := sam.submit(draft, "/opening")
	sam.says(opened, http.StatusOK, "closes by itself at")
	behind := ada.submit(stale, "/opening")
	ada.says(behind, http.StatusPreconditionFailed, "Somebody else has changed it meanwhile.", "Lunch? Open")
	ada.says(ada.submit(behind, "/closing", "version", "x"), http.StatusBadRequest, "The form is not complete")
	ada.says(ada.submit(behind, "/closing"), http.StatusOK, "Lunch? Closed")
	if again := sam.submit(draft, "/opening"); again.path != opened.path {
		t.Errorf("the same form led to %s and %s", opened.path, again.path)
	}
	if csv := sam.get(linkTo(t, sam.get("/rooms/"+code+"/host"), "results.csv")); csv.status != http.StatusOK || !strings.Contains(csv.raw, "Lunch?,now,0,0.0") {
		t.Errorf("%d %s", csv.status, csv.raw)
	}
	alice := r.browse(t).be("alice@example.com")
	seen := alice.join(code)
	if slices.Contains(strings.Fields(seen.raw), "/rooms/"+code+"/host") {
		t.Error("who cannot host is led to where that is done")
	}
	guest := r.browse(t)
	guest.join(code)
	for action, form := range map[string]url.Values{
		"/polls": freshForm("question", "Mine?", "options", "a\nb"),
		strings.TrimPrefix(formAction(draft, "/opening"), "/rooms/"+code): freshForm("version", "1"),
		"/questions/01936d10-0000-7000-8000-000000000999/moderation":      freshForm("action", "approve"),
	} {
		if p := alice.do(http.MethodPost, "/rooms/"+code+action, form, seen.path); p.status != http.StatusForbidden || p.first("bar").name == "" {
			t.Errorf("alice at %s: %d", action, p.status)
		}
		if p := guest.do(http.MethodPost, "/rooms/"+code+action, form, seen.path); !strings.HasPrefix(p.path, "/login?") {
			t.Errorf("a guest at %s is led to %s", action, p.path)
		}
	}
}

func linkTo(t *testing.T, p shown, part string) string {
	t.Helper()
	for a := range p.all("a") {
		if strings.Contains(a.attr("href"), part) && !strings.Contains(a.attr("href"), "00000000-0000") {
			return a.attr("href")
		}
	}
	t.Fatalf("%s does not lead to %s", p.path, part)
	return ""
}

// A hall that comes in faster than a hall can is told to wait, by a page.
func TestTooManyAtTheDoorInTheBrowser(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	r := w.start("SMTP_URL", "", "RATE_LIMIT_HALL", "1/h burst 2")
	b := r.browse(t)
	join := b.get("/join")
	b.says(b.submit(join, "/join", "code", "QQQQQQ"), http.StatusNotFound, "There is no room with this code.")
	b.says(b.submit(join, "/join", "code", "QQQQQQ"), http.StatusTooManyRequests, "Too much at once")
}
