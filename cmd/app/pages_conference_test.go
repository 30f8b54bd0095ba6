package main

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"example.com/plenary/platform/postgres/postgrestest"
)

const (
	agendaPage  = "/events/plenary-2027"
	sessionPage = "/sessions/01936d10-0000-7000-8000-000000000401"
	scoringRuns = `SELECT count(*) FROM platform.internal_commands WHERE name = 'conference.score_event_sessions'`
)

// What is on when, by the clocks of the conference; and who looks sees their own tickets, wherever the modules lie.
func TestAgendaInTheBrowser(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		r := w.site()
		alice, nobody := r.browse(t).be("alice@example.com"), r.browse(t)
		alice.says(alice.get("/events"), http.StatusOK, "Plenary Conference 2027", "All times are those of Europe/Vienna.",
			"You have no ticket yet.", "Thursday, 20 May 2027 Nothing is fixed for this day yet.", "6 sessions, newest first", "Our product Max Muster Proposed")
		alice.buy("tok_visa")
		w.within("the tickets", func() bool { return strings.Contains(alice.get(agendaPage).words(), "You have 2 tickets .") })
		if p := nobody.get(agendaPage); strings.Contains(p.words(), "ticket") || strings.Contains(p.words(), "The board") {
			t.Errorf("nobody in particular sees %s", p.words())
		}

		postgrestest.Exec(t, w.conference, `UPDATE conference.sessions SET status = 'selected', starts_on = '2027-05-20 22:30Z' WHERE title = 'Our product'`)
		postgrestest.Exec(t, w.conference, `UPDATE conference.sessions SET status = 'selected' WHERE title = 'An outbox you can trust'`)
		postgrestest.Exec(t, w.conference, `UPDATE conference.sessions SET status = 'declined' WHERE title LIKE 'Leases%'`)
		p := nobody.get("/events/01936d10-0000-7000-8000-000000000001")
		nobody.says(p, http.StatusOK, "Thursday, 20 May 2027 Nothing is fixed", "Friday, 21 May 2027 00:30 Our product Max Muster",
			"Selected, without a time yet An outbox you can trust Mira Novak Selected", "3 sessions, newest first")
		if strings.Contains(p.words(), "Leases") {
			t.Error("who was declined is told so before everybody")
		}
		nobody.says(nobody.get(sessionPage), http.StatusOK, "An outbox you can trust", "We published events", "When is not decided yet.")

		postgrestest.Exec(t, w.conference, `INSERT INTO conference.events (id, slug, name, starts_on, ends_on, time_zone)
			VALUES ('01936d10-0000-7000-8000-000000000002', 'next', 'The <next> one', now(), now() + interval '1 year', 'Mars/Olympus')`)
		nobody.says(nobody.get("/events"), http.StatusOK, "Conferences The <next> one", "Plenary Conference 2027")
		nobody.says(nobody.get("/events/next"), http.StatusOK, "The <next> one", "No proposals yet")
	})
}

// A session is proposed once however often the form is sent, and what is wrong is said where it is wrong.
func TestProposeInTheBrowser(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	r := w.site()
	alice := r.browse(t).be("alice@example.com")
	form := alice.get(agendaPage + "/propose")
	lines := strings.Repeat("ä\r\n", 2499) + "ää" // 5000 characters, as who types them counts
	typed := []string{"title", " Fences & <friends> ", "abstract", lines}
	made := alice.submit(form, "/propose", typed...)
	alice.says(made, http.StatusOK, "your session is proposed", "Fences & <friends>", "Alice Archer", "Proposed", "The organizers have not decided yet.")
	if again := alice.submit(form, "/propose", typed...); again.path != made.path || !strings.HasPrefix(made.path, "/sessions/") {
		t.Errorf("the same form led to %s and %s", made.path, again.path)
	}
	alice.says(alice.get(agendaPage), http.StatusOK, "7 sessions, newest first", "Fences & <friends> Alice Archer Proposed")

	for name, c := range map[string]struct {
		changes []string
		field   string // whose error it is; "" for the form's
		says    string
	}{
		"no title":      {[]string{"title", " ", "abstract", "kept <text>", "speakerName", "X"}, "title", "Must not be empty."},
		"long title":    {[]string{"title", strings.Repeat("x", 201), "abstract", "kept <text>", "speakerName", "X"}, "title", "Must have at most 200 characters."},
		"no abstract":   {[]string{"title", "kept", "abstract", "", "speakerName", "X"}, "abstract", "Must not be empty."},
		"long abstract": {[]string{"title", "kept", "abstract", strings.Repeat("x", 5001), "speakerName", "X"}, "abstract", "Must have at most 5000 characters."},
		"no speaker":    {[]string{"title", "kept", "abstract", "kept <text>", "speakerName", ""}, "speakerName", "Must not be empty."},
		"no key":        {[]string{"key", "", "title", "kept", "abstract", "kept <text>", "speakerName", "X"}, "", "The form is not complete"},
		"no text":       {[]string{"title", "a\x00b", "abstract", "kept <text>", "speakerName", "X"}, "", ""},
	} {
		p := alice.submit(form, "/propose", c.changes...)
		alice.says(p, http.StatusBadRequest, c.says)
		for e := range p.all("input", "textarea") {
			id, value := e.attr("id"), e.attr("value")
			if e.name == "textarea" {
				value = e.words()
			}
			if marked := e.has("aria-invalid"); id != "" && c.field != "" && marked != (id == c.field) {
				t.Errorf("%s: the field %s is marked: %t", name, id, marked)
			}
			for i := 0; i < len(c.changes); i += 2 {
				if want := c.changes[i+1]; c.changes[i] == id && !strings.Contains(want, "\x00") && value != strings.TrimSpace(want) {
					t.Errorf("%s: %s is %q, %q was typed", name, id, value, want)
				}
			}
		}
	}
	other := alice.submit(form, "/propose", "title", "Another", "abstract", "text")
	alice.says(other, http.StatusBadRequest, "sent before, with other choices")
	if n := postgrestest.Value[int](t, w.conference, `SELECT count(*) FROM conference.sessions`); n != 7 {
		t.Errorf("%d sessions", n)
	}
	alice.says(alice.do(http.MethodPost, "/events/no-such/propose", url.Values{}, agendaPage), http.StatusNotFound, "Nothing is here")

	postgrestest.Exec(t, r.app.databases.sources["platform"], `DELETE FROM platform.sessions`)
	ended := alice.submit(other, "/propose")
	if alice.says(ended, http.StatusOK, "Your session has ended"); !strings.HasPrefix(ended.path, "/login?") {
		t.Errorf("at %s", ended.path)
	}
	if back := alice.submit(ended, "/login", "email", "alice@example.com", "password", "demo"); back.path != agendaPage+"/propose" {
		t.Errorf("back at %s", back.path)
	}
}

// An organizer has the sessions scored by one press, watches how far it is, and has the ranking. Without script.
func TestBoardInTheBrowser(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		r := w.site()
		sam := r.browse(t).be("sam@example.com")
		board := sam.get("/board")
		sam.says(board, http.StatusOK, "The board", "6 proposed sessions have no score.", "No scores yet", "Without a score", "Our product Max Muster Proposed")
		asked := sam.submit(board, "/scoring")
		if again := sam.submit(board, "/scoring"); again.path != asked.path || !strings.HasPrefix(asked.path, agendaPage+"/board?operation=") {
			t.Errorf("the same form led to %s and %s", asked.path, again.path)
		}
		if n := postgrestest.Value[int](t, w.conference, scoringRuns); n != 1 {
			t.Errorf("%d passes were asked for", n)
		}
		w.within("the ranking", func() bool {
			return strings.Contains(sam.get(asked.path).words(), "Done after 1 attempt") && strings.Contains(sam.get(asked.path).words(), "None: every session has one.")
		})
		done := sam.get(asked.path)
		sam.says(done, http.StatusOK, "6 of 6 sessions", "offline: no model was asked. Length and structure", "It may be steered by a stranger",
			"1 An outbox you can trust Mira Novak offline: no model was asked (version 1)", "Every proposed session has a score")
		if strings.Contains(done.raw, "board.js") {
			t.Error("a page that does not move any more has the script that moves it")
		}
		last, n := 11.0, 0
		for b := range done.all("b") {
			if b.attr("class") != "overall" {
				continue
			}
			n++
			overall, err := strconv.ParseFloat(b.words(), 64)
			if err != nil || overall > last {
				t.Errorf("%v comes after %v: %v", overall, last, err)
			}
			last = overall
		}
		if n != 6 {
			t.Errorf("%d are ranked", n)
		}
	})
}

// Each state of a pass has its words, and strangers' words are words.
func TestPassStatesInTheBrowser(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	r := w.site()
	sam, ada := r.browse(t).be("sam@example.com"), r.browse(t).be("ada@example.com")
	address := sam.submit(sam.get("/board"), "/scoring").path
	w.within("the pass", func() bool { return strings.Contains(sam.get(address).words(), "Done after 1 attempt") })
	postgrestest.Exec(t, w.conference, `UPDATE conference.scoring_passes SET done = 4`)
	for _, c := range []struct {
		set   string
		words string
		moves bool
	}{
		{`attempts = 0`, "Waiting It begins in a moment.", true},
		{`attempts = 0, claimed_by = gen_random_uuid(), claimed_on = now(), claimed_until = now() + interval '1 hour'`, "Scoring The sessions are read one by one.", true},
		{`attempts = 2, last_error = 'it broke'`, "Trying again after 2 attempts The last attempt did not get through.", true},
		{`attempts = 12, dead_lettered_on = now(), dead_letter_reason = 'attempts_exhausted'`, "Given up after 12 attempts", false},
		{`attempts = 1, processed_on = now()`, "Done after 1 attempt", false},
	} {
		postgrestest.Exec(t, w.conference, `UPDATE platform.internal_commands SET processed_on = NULL, dead_lettered_on = NULL, claimed_until = NULL,
			next_attempt_on = now() + interval '1 hour'`)
		postgrestest.Exec(t, w.conference, `UPDATE platform.internal_commands SET `+c.set)
		p := sam.get(address)
		sam.says(p, http.StatusOK, c.words, "4 of 6 sessions")
		if got := strings.Contains(p.raw, "board.js"); got != c.moves || strings.Contains(p.words(), "Look again") != c.moves {
			t.Errorf("%s: the page moves: %t", c.words, got)
		}
		(&crawler{browser: sam, who: "sam@example.com"}).inspect(address, p)
		form, _ := sam.fill(p, "/scoring")
		for button := range form.all("button") {
			if button.has("disabled") != c.moves {
				t.Errorf("%s: the button is disabled: %t", c.words, button.has("disabled"))
			}
		}
		if c.moves {
			continue
		}
		toConsole := "/ops/commands/" + strings.TrimPrefix(address, agendaPage+"/board?operation=")
		if dead := strings.Contains(c.set, "dead"); strings.Contains(p.raw, toConsole) || strings.Contains(ada.get(address).raw, toConsole) != dead {
			t.Errorf("%s: who is led to the console?", c.words)
		}
	}
}

// What strangers and models write is text; and what is no pass of one's own is said to be none.
func TestBoardTrustsNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	r := w.site()
	sam, alice := r.browse(t).be("sam@example.com"), r.browse(t).be("alice@example.com")
	board := sam.get("/board")
	form, values := sam.fill(board, "/scoring")
	alice.says(alice.get(agendaPage+"/board"), http.StatusForbidden, "Not for you", "conference:session-selection:manage")
	alice.says(alice.do(http.MethodPost, form.attr("action"), values, agendaPage), http.StatusForbidden, "Not for you")
	sam.says(sam.submit(board, "/scoring", "key", "none"), http.StatusBadRequest, "The form is not complete", "Score the sessions")
	if n := postgrestest.Value[int](t, w.conference, scoringRuns); n != 0 {
		t.Errorf("%d passes were asked for", n)
	}

	address := sam.submit(board, "/scoring").path
	w.within("the pass", func() bool { return strings.Contains(sam.get(address).words(), "Done after 1 attempt") })
	postgrestest.Exec(t, w.conference, `UPDATE conference.scores SET model = 'some-model', prompt_version = 3, penalty = 1.5,
		reasoning = E'Ten points. <script>alert(1)</script>\n<a href="http://evil.test/">here</a>' WHERE overall = (SELECT max(overall) FROM conference.scores)`)
	postgrestest.Exec(t, w.conference, `DELETE FROM conference.scores WHERE session_id = (SELECT id FROM conference.sessions WHERE title = 'Our product')`)
	postgrestest.Exec(t, w.conference, `UPDATE conference.sessions SET title = '<img src=x> & co' WHERE title = 'An outbox you can trust'`)
	fresh := w.site().browse(t).be("sam@example.com") // a replica that has nothing in its cache
	p := fresh.get(agendaPage + "/board")
	fresh.says(p, http.StatusOK, "<img src=x> & co", "some-model, prompt version 3", `Ten points. <script>alert(1)</script> <a href="http://evil.test/">here</a>`,
		"−1.5", "1 proposed session has no score.", "Our product Max Muster Proposed")
	if strings.Contains(p.raw, "<img") || strings.Contains(p.raw, `<a href="http:`) || strings.Contains(p.words(), "Length and structure") {
		t.Errorf("%s", p.raw)
	}

	postgrestest.Exec(t, w.conference, `UPDATE platform.internal_commands SET user_id = '01936d10-0000-7000-8000-000000000999'`)
	for _, other := range []string{address, agendaPage + "/board?operation=x", agendaPage + "/board?operation=01936d10-0000-7000-8000-000000000999"} {
		sam.says(sam.get(other), http.StatusOK, "There is no such pass, or it is somebody else's to watch.", "Ranking")
	}

	postgrestest.Exec(t, r.app.databases.sources["platform"], `DELETE FROM platform.sessions`)
	if ended := sam.submit(board, "/scoring"); !strings.HasPrefix(ended.path, "/login?") || !strings.Contains(ended.words(), "Your session has ended") {
		t.Errorf("at %s: %s", ended.path, ended.words())
	}
}
