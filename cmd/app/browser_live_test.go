package main

import (
	"errors"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"example.com/plenary/platform/postgres/postgrestest"
)

// cable is what lies between a browser and the program, and can be cut.
type cable struct {
	base string

	mu      sync.Mutex
	broken  bool
	swallow bool // the answer to the next ballot: the program has it, and the browser is not told
	conns   map[net.Conn]bool
	ballots int // that have come through
}

var errSwallowed = errors.New("the cable was cut before the answer")

func newCable(t *testing.T, to string) *cable {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{base: "http://" + listener.Addr().String(), conns: map[net.Conn]bool{}}
	server := &http.Server{ConnState: c.notice, Handler: &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host // what the browser calls the program, its origin too
			if isBallot(r.In) {
				c.mu.Lock()
				c.ballots++
				c.mu.Unlock()
			}
		},
		ModifyResponse: func(answer *http.Response) error {
			c.mu.Lock()
			swallow := c.swallow && isBallot(answer.Request)
			c.mu.Unlock()
			if swallow {
				c.cut()
				return errSwallowed
			}
			return nil
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { c.cut(); _ = server.Close() })
	return c
}

func isBallot(r *http.Request) bool {
	return r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/ballot")
}

// notice keeps the connections, also those that have become WebSockets, and lets none be made while the cable is cut.
func (c *cable) notice(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew:
		if c.broken {
			_ = conn.Close()
			return
		}
		c.conns[conn] = true
	case http.StateClosed:
		delete(c.conns, conn)
	}
}

func (c *cable) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken = true
	for conn := range c.conns {
		_ = conn.Close()
	}
	clear(c.conns)
}

func (c *cable) mend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken, c.swallow = false, false
}

func (c *cable) loseTheNextAnswer() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.swallow = true
}

func (c *cable) sent() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ballots
}

// enter joins the room as somebody does who has scanned the code on the wall.
func (b *tab) enter(code string) {
	b.t.Helper()
	b.visit("/join?code=" + code)
	b.click(`form[action="/join"] button`)
	b.until("the room", `location.pathname === "/rooms/`+code+`"`)
	b.until("live", `document.querySelector("[data-connection]")?.dataset.state === "live"`)
	b.eval(`window.since = "the first page"`) // a reload would forget it
}

const openPoll = `[data-poll][data-status="open"]`

// chooses votes, with an impatient finger.
func (b *tab) chooses(option string) {
	b.t.Helper()
	b.eval(`[...document.querySelectorAll('` + openPoll + ` [data-option]')].find((o) => o.textContent.trim() === ` + asScript(option) + `).querySelector("input").click()`)
	b.eval(`(async () => {
		const button = document.querySelector('` + openPoll + ` [data-vote]');
		button.click();
		for (let i = 0; i < 9; i += 1) await null; // the page has dealt with it, and no answer can have come
		button.click();
	})()`)
}

// tally is the table of the newest poll, as it is read aloud.
const tally = `[...document.querySelectorAll("[data-poll]")][0].querySelector("[data-rows]").innerText.replace(/your vote/g, "").split(/\s+/).join(" ").trim()`

func (b *tab) shows(want string) {
	b.t.Helper()
	b.until(want, tally+` === `+asScript(want))
}

func (b *tab) says(want string) {
	b.t.Helper()
	b.until(want, `document.querySelector("[data-connection-text]").innerText.includes(`+asScript(want)+`)`)
}

// Two people in a room, one of whom is cut off twice and votes meanwhile: each vote counts once, whatever got lost, and in
// the end both see the same result.
func TestVotesOutliveABreakInTheBrowser(t *testing.T) {
	t.Parallel()
	chrome := startChromium(t)
	if chrome == nil {
		return
	}
	w := newWorld(t, true)
	r := w.site()
	code := r.roomCode()
	line := newCable(t, r.base)
	ann, ben := chrome.tab(w, "Ann", r.base), chrome.tab(w, "Ben", line.base)
	ann.do(ann.session, "Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-reduced-motion", "value": "reduce"}}}, nil)
	ann.enter(code)
	ben.enter(code)

	sam := r.browse(t).be("sam@example.com")
	host := sam.submit(sam.get("/rooms/"+code+"/host"), "/polls", "question", "Tea?", "options", "Tea\nCoffee")
	sam.says(sam.submit(host, "/opening"), http.StatusOK, "The room can vote.")
	for _, b := range []*tab{ann, ben} {
		b.until("the poll", `!!document.querySelector('`+openPoll+`')`)
		b.until("the poll is told", `document.querySelector("[data-news]").textContent.includes("A poll is open: Tea?")`)
	}
	// Ann does without a mouse, and her focus stays where she has left it.
	ann.eval(`document.querySelector('` + openPoll + ` [data-option] input').focus()`)
	for _, key := range []string{" ", "Tab", "Enter"} {
		ann.press(key)
	}
	for _, b := range []*tab{ann, ben} {
		b.shows("Tea 1 100 % Coffee 0 0 %")
	}
	ann.until("her vote is told", `document.querySelector("[data-mine]").textContent === "Your vote: Tea"`)
	if ann.eval(`document.activeElement.matches("[data-vote]")`) != true {
		t.Error("the focus is not on the button that was pressed")
	}
	if moves := ann.eval(`getComputedStyle(document.querySelector("[data-bar]")).transitionDuration`); moves != "0s" {
		t.Errorf("who wants less motion sees bars move for %v", moves)
	}
	ben.chooses("Coffee")
	ann.shows("Tea 1 50 % Coffee 1 50 %")
	if mine := ann.eval(`document.querySelector("[data-mine]").textContent`); mine != "Your vote: Tea" {
		t.Errorf("when another one votes, hers is %q", mine)
	}

	// Ben is cut off. The latest of what he votes meanwhile is sent, once.
	line.cut()
	ben.says("Reconnecting in ")
	ben.chooses("Tea")
	ben.chooses("Coffee")
	ben.chooses("Tea")
	ben.says("your vote is kept and sent once you are back")
	ann.shows("Tea 1 50 % Coffee 1 50 %")
	line.mend()
	for _, b := range []*tab{ann, ben} {
		b.shows("Tea 2 100 % Coffee 0 0 %")
		b.until("live", `document.querySelector("[data-connection-text]").innerText === "Live"`)
	}
	if got := line.sent(); got != 2 {
		t.Errorf("%d ballots were sent, want one before the break and one after", got)
	}

	// And again, after the program has taken his vote and before he is told.
	line.loseTheNextAnswer()
	ben.chooses("Coffee")
	ann.shows("Tea 1 50 % Coffee 1 50 %")
	ben.says("your vote is kept")
	line.mend()
	ben.until("his vote is on its way no more", `document.querySelector("[data-mine]").textContent === "Your vote: Coffee"`)

	sam.says(sam.submit(sam.get("/rooms/"+code+"/host"), "/closing"), http.StatusOK, "its result is final")
	for _, b := range []*tab{ann, ben} {
		b.until("the end", `document.querySelector("[data-poll]").dataset.status === "closed" && document.querySelector("[data-ballot]").hidden`)
		b.shows("Tea 1 50 % Coffee 1 50 %")
		if b.eval(`window.since`) != "the first page" {
			t.Errorf("%s's page was loaded again", b.name)
		}
	}
	if n := postgrestest.Value[int](t, w.engagement, `SELECT count(*) FROM engagement.ballots WHERE stands`); n != 2 {
		t.Errorf("%d ballots of two voters", n)
	}
	chrome.mu.Lock()
	defer chrome.mu.Unlock()
	for _, trouble := range chrome.troubles {
		t.Error(trouble)
	}
}
