package engagement_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/plenary/modules/engagement"
	"example.com/plenary/platform/fault"
)

func TestPollHasNoWayBack(t *testing.T) {
	t.Parallel()
	moves := map[string]func(*engagement.Poll) error{"open": (*engagement.Poll).Open, "close": (*engagement.Poll).Close}
	for _, test := range []struct {
		from engagement.PollStatus
		move string
		to   engagement.PollStatus
		code string
	}{
		{engagement.PollDraft, "open", engagement.PollOpen, ""},
		{engagement.PollDraft, "close", engagement.PollDraft, "engagement.poll_not_open"},
		{engagement.PollOpen, "open", engagement.PollOpen, "engagement.poll_open"},
		{engagement.PollOpen, "close", engagement.PollClosed, ""},
		{engagement.PollClosed, "open", engagement.PollClosed, "engagement.poll_closed"},
		{engagement.PollClosed, "close", engagement.PollClosed, "engagement.poll_closed"},
	} {
		p := engagement.Poll{Status: test.from}
		err := moves[test.move](&p)
		if p.Status != test.to || (err == nil) != (test.code == "") || err != nil && !fault.Is(err, test.code) {
			t.Errorf("%s, %s: %s, %v", test.from, test.move, p.Status, err)
		}
	}
}

func TestCreatePollRefuses(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ok := []string{"Soup", "Salad"}
	zero, long := 0, 86401
	for name, cmd := range map[string]engagement.CreatePoll{
		"no question":           {Question: " ", Options: ok},
		"a long question":       {Question: strings.Repeat("ä", 201), Options: ok},
		"one option":            {Question: "?", Options: ok[:1]},
		"eleven options":        {Question: "?", Options: strings.Split("abcdefghijk", "")},
		"an empty option":       {Question: "?", Options: []string{"a", ""}},
		"a long option":         {Question: "?", Options: []string{"a", strings.Repeat("b", 101)}},
		"the same option twice": {Question: "?", Options: []string{"Straße", "STRASSE", "ÄPFEL", "äpfel "}},
		"no time":               {Question: "?", Options: ok, ClosesAfter: &zero},
		"more than a day":       {Question: "?", Options: ok, ClosesAfter: &long},
	} {
		cmd.Code = r.code
		if _, err := r.CreatePoll(r.host, cmd); !fault.Is(err, "invalid_input") {
			t.Errorf("%s: %v", name, err)
		}
	}
	cmd := engagement.CreatePoll{Code: "WWWWWW", Question: strings.Repeat("ä", 200), Options: []string{"a", strings.Repeat("ß", 100)}}
	if _, err := r.CreatePoll(r.host, cmd); !fault.Is(err, "engagement.room_not_found") {
		t.Errorf("no room: %v", err)
	}
	if _, err := r.CreatePoll(r.alice, cmd); !fault.Is(err, "permission_denied") {
		t.Errorf("no host: %v", err)
	}
	cmd.Code = r.code
	if p, err := r.CreatePoll(r.host, cmd); err != nil || p.Status != engagement.PollDraft || p.Version != 1 {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestPollOverHTTP(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	host := bearer("host")
	created := r.do("POST", "/rooms/"+r.code+"/polls", `{"question":"Lunch?","options":["Soup","Salad"],"closesAfterSeconds":60}`, host...).is(201)
	path := "/polls/" + created.body["id"].(string)
	if created.Header().Get("Location") != "/api/v1/engagement"+path || created.Header().Get("ETag") != `"1"` ||
		created.body["myBallot"] != nil || created.body["closesOn"] != nil || created.body["multiple"] != false {
		t.Errorf("%v %s", created.Header(), created.Body)
	}
	r.do("POST", path+"/open", ``, host...).is(428)
	r.do("POST", path+"/open", ``, append(host, "If-Match", `"7"`)...).is(412)
	r.do("POST", path+"/open", ``, "Authorization", "Bearer alice", "If-Match", `"1"`).is(403)
	r.do("POST", path+"/close", ``, append(host, "If-Match", `"1"`)...).is(409, "engagement.poll_not_open")
	opened := r.do("POST", path+"/open", ``, append(host, "If-Match", `"1"`)...).is(200)
	if opened.body["status"] != "open" || opened.body["closesOn"] == nil || opened.Header().Get("ETag") != `"2"` {
		t.Errorf("%v %s", opened.Header(), opened.Body)
	}
	r.do("POST", path+"/open", ``, append(host, "If-Match", `"1"`)...).is(412)
	r.do("POST", path+"/open", ``, append(host, "If-Match", `"2"`)...).is(409, "engagement.poll_open")

	r.do("GET", path, ``).is(401, "engagement.not_joined")
	r.do("GET", path, ``, bearer("alice")...).is(403, "engagement.not_joined")
	voter := bearer(r.do("POST", "/rooms/"+r.code+"/join", ``).is(200).body["voterToken"].(string))
	option := opened.body["options"].([]any)[1].(map[string]any)["id"].(string)
	voted := r.do("PUT", path+"/ballot", `{"options":["`+option+`"]}`, voter...).is(200)
	poll := voted.body["poll"].(map[string]any)
	if poll["totalVotes"] != 1.0 || poll["myBallot"].([]any)[0] != option || voted.Header().Get("ETag") != `"2"` {
		t.Errorf("%s", voted.Body)
	}
	r.do("PUT", path+"/ballot", `{"options":[]}`, voter...).is(400, "invalid_input")
	r.do("DELETE", path+"/ballot", ``, voter...).is(200)
	if after := r.do("GET", path, ``, voter...).is(200); after.body["totalVotes"] != 0.0 || after.body["myBallot"] != nil {
		t.Errorf("%s", after.Body)
	}
	r.do("POST", path+"/close", ``, host...).is(428)
	r.do("POST", path+"/close", ``, append(host, "If-Match", `"1"`)...).is(412)
	r.do("POST", path+"/close", ``, append(host, "If-Match", `"2"`)...).is(200)
	r.do("PUT", path+"/ballot", `{"options":["`+option+`"]}`, voter...).is(409, "engagement.poll_closed")
	r.do("DELETE", path+"/ballot", ``, voter...).is(409, "engagement.poll_closed")
}

func TestDraftIsForHosts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p, voter := r.draft(false), r.voter()
	if _, err := r.GetPoll(voter, engagement.GetPoll{ID: p.ID}); !fault.Is(err, "engagement.poll_not_found") {
		t.Errorf("a draft is shown: %v", err)
	}
	if a, b := len(r.view(voter).Polls), len(r.view(r.host).Polls); a != 0 || b != 1 {
		t.Errorf("%d drafts for the audience, %d for the host", a, b)
	}
	if err := r.cast(voter, p, 0); !fault.Is(err, "engagement.poll_not_open") {
		t.Errorf("a vote in a draft: %v", err)
	}
}

// Of two hosts who open a poll at once, one has seen an old version.
func TestPollIsOpenedOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for range 5 {
		p := r.draft(false, 60)
		var opened atomic.Int64
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				switch _, err := r.OpenPoll(r.host, engagement.OpenPoll{ID: p.ID}); {
				case err == nil:
					opened.Add(1)
				case !fault.Is(err, "engagement.poll_open"):
					t.Error(err)
				}
			})
		}
		group.Wait()
		if after := r.show(p); opened.Load() != 1 || after.Version != 2 {
			t.Errorf("opened %d times, version %d", opened.Load(), after.Version)
		}
	}
}
