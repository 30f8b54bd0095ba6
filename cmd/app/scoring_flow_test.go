package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"example.com/plenary/modules/conference"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/ops"
	"example.com/plenary/platform/postgres/postgrestest"
)

const scoringPath = "/conference/events/01936d10-0000-7000-8000-000000000001/"

func (c client) scores() (all conference.Scores) {
	c.t.Helper()
	c.do("GET", scoringPath+"scores", nil, http.StatusOK, &all)
	return all
}

// An organizer asks, the answer says where to look, and the ranking is there on both replicas.
func TestScoringFromTheRequestToTheRanking(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		one, two := w.start(), w.start()
		sam, samToo := one.as("sam@example.com"), two.as("sam@example.com")
		if n := len(sam.scores().Items) + len(samToo.scores().Items); n != 0 { // cached from now on
			t.Errorf("%d scores before anybody asked", n)
		}
		viewer := one.as("viktor@example.com")
		if status, _, answer, _ := viewer.try("POST", scoringPath+"scoring", nil); status != http.StatusForbidden {
			t.Errorf("a viewer: %d %s", status, answer)
		}
		if n := postgrestest.Value[int](t, w.conference, `SELECT count(*) FROM platform.internal_commands WHERE name = 'conference.score_event_sessions'`); n != 0 {
			t.Error("what a viewer asked for is scheduled")
		}
		var asked conference.Operation
		header := sam.do("POST", scoringPath+"scoring", nil, http.StatusAccepted, &asked)
		if want := "/api/v1/operations/" + asked.OperationID.String(); header.Get("Location") != want {
			t.Errorf("Location %q, want %q", header.Get("Location"), want)
		}
		var shown ops.OperationView
		w.within("the operation's end", func() bool {
			sam.do("GET", "/operations/"+asked.OperationID.String(), nil, http.StatusOK, &shown)
			return shown.State == "succeeded"
		})
		if shown.Name != "conference.score_event_sessions" || shown.FinishedOn == nil || *shown.Progress != (ops.OperationProgress{Done: 6, Total: 6}) {
			t.Errorf("%+v", shown)
		}
		w.within("the ranking on both replicas", func() bool { return len(sam.scores().Items) == 6 && len(samToo.scores().Items) == 6 })
		if s := sam.scores().Items[0]; s.Model != "offline" || s.Overall < 1 || s.Reasoning == "" {
			t.Errorf("%+v", s)
		}
		if status, _, answer, _ := sam.try("POST", strings.Replace(scoringPath, "0001/", "0009/", 1)+"scoring", nil); status != http.StatusNotFound {
			t.Errorf("an event that is not there: %d %s", status, answer)
		}
	})
}

func TestWhoSeesAnOperation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false)
	r := w.start()
	var asked conference.Operation
	r.as("sam@example.com").do("POST", scoringPath+"scoring", nil, http.StatusAccepted, &asked)
	for email, status := range map[string]int{
		"sam@example.com": 200, "viktor@example.com": 200, "olivia@example.com": 200, "ada@example.com": 200, "alice@example.com": 404,
	} {
		if got, _, answer, _ := r.as(email).try("GET", "/operations/"+asked.OperationID.String(), nil); got != status {
			t.Errorf("%s: %d %s", email, got, answer)
		}
		if got, _, answer, _ := r.as(email).try("GET", "/operations/"+uuid.NewString(), nil); got != 404 {
			t.Errorf("%s, one that is not there: %d %s", email, got, answer)
		}
	}
}

// A paid order makes registrations, in whatever database.
func TestPaidOrdersAreRegistered(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		alice := w.start().as("alice@example.com")
		o := alice.order(3, "tok_visa")
		var mine httpx.Page[conference.Registration]
		w.within("the registrations", func() bool {
			alice.do("GET", "/conference/registrations/mine", nil, http.StatusOK, &mine)
			return len(mine.Items) == 3
		})
		if r := mine.Items[0]; r.OrderID.String() != o.ID || r.AttendeeName != "Alice Archer" {
			t.Errorf("%+v", r)
		}
	})
}

// theModel speaks the service's language. It counts what it is paid for, and holds its answers back while it is told to.
type theModel struct {
	*httptest.Server
	mu   sync.Mutex
	paid map[string]int
	busy int
	held chan struct{}
}

func newModel(t *testing.T) *theModel {
	m := &theModel{paid: map[string]int{}, held: make(chan struct{})}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var request struct {
			Messages []struct{ Content json.RawMessage }
		}
		_ = json.Unmarshal(body, &request)
		m.mu.Lock()
		m.paid[fmt.Sprint(request)]++
		m.busy++
		m.mu.Unlock()
		defer func() { m.mu.Lock(); m.busy--; m.mu.Unlock() }()
		select {
		case <-m.held:
		case <-r.Context().Done():
			return
		}
		w.Header().Set("Content-Type", "application/json")
		text, _ := json.Marshal(`{"reasoning":"fine","relevance":8,"depth":7,"practicality":9,"originality":6,"clarity":7,"feasibility":8,"penalty":0.5}`)
		fmt.Fprintf(w, `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":%s}],
			"stop_reason":"end_turn","usage":{"input_tokens":10,"output_tokens":20}}`, text)
	}))
	t.Cleanup(m.Close)
	return m
}

func (m *theModel) calls() (all, most, busy int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range m.paid {
		all += n
		most = max(most, n)
	}
	return all, most, m.busy
}

// kill -9 in the middle of a pass, with a second request waiting in another process: every session ends scored, and
// none is paid twice but those that were under way.
func TestKilledInTheMiddleOfAPass(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	model := newModel(t)
	settings := []string{"ANTHROPIC_API_KEY", "sk-test", "SCORING_BASE_URL", model.URL, "SCORES_AT_ONCE", "2"}
	first := w.spawn(settings...)
	sam := first.as("sam@example.com")
	sam.do("POST", scoringPath+"scoring", nil, http.StatusAccepted, nil)
	w.within("two calls", func() bool { _, _, busy := model.calls(); return busy == 2 })
	second := w.spawn(settings...)
	second.as("sam@example.com").do("POST", scoringPath+"scoring", nil, http.StatusAccepted, nil)
	first.kill()
	close(model.held)
	open := `SELECT count(*) FROM platform.internal_commands WHERE name = 'conference.score_event_sessions' AND processed_on IS NULL`
	w.within("the passes", func() bool {
		// The second request may have been put off to the end of a lock that nobody holds any more; that is a minute.
		postgrestest.Exec(t, w.conference, `UPDATE platform.internal_commands SET next_attempt_on = now() WHERE put_off AND claimed_until IS NULL AND processed_on IS NULL`)
		return postgrestest.Value[int](t, w.conference, open) == 0
	})
	all, most, _ := model.calls()
	scores := postgrestest.Value[int](t, w.conference, `SELECT count(*) FROM conference.scores`)
	lost := postgrestest.Value[int](t, w.conference, `SELECT sum(lost) FROM conference.scoring_passes`)
	if scores != 6 || all > 8 || most > 2 || lost != all-6 {
		t.Errorf("%d scores, paid %d times, %d for one session, %d counted as lost", scores, all, most, lost)
	}
}
