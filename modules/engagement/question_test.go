package engagement_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"example.com/plenary/modules/engagement"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/postgres/postgrestest"
)

func TestTenOpenQuestionsAtMost(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	voter, other := r.voter(), r.voter()
	var accepted, capped atomic.Int64
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			_, err := r.AskQuestion(voter, engagement.AskQuestion{Code: r.code, Text: "Why?"})
			switch {
			case err == nil:
				accepted.Add(1)
			case fault.Is(err, "engagement.question_cap"):
				capped.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	group.Wait()
	if accepted.Load() != 10 || capped.Load() != 40 {
		t.Errorf("%d were accepted, %d refused", accepted.Load(), capped.Load())
	}
	r.ask(other, "Somebody else's are not counted")
	full := engagement.AskQuestion{Code: r.code, Text: "One more"}
	for i, action := range []string{"dismiss", "approve"} {
		if err := r.moderate(engagement.SeenQuestion{Question: engagement.Question{ID: r.view(r.host).Questions[i].ID}}, action); err != nil {
			t.Fatal(err)
		}
	}
	// One has gone; the other is approved and still open.
	if _, err := r.AskQuestion(voter, full); err != nil {
		t.Errorf("after one was dismissed: %v", err)
	}
	if _, err := r.AskQuestion(voter, full); !fault.Is(err, "engagement.question_cap") {
		t.Errorf("an approved question does not count: %v", err)
	}
	// Another room is another session.
	first := r.code
	r.code = r.room()
	j, err := r.JoinRoom(voter, engagement.JoinRoom{Code: r.code})
	if err != nil {
		t.Fatal(err)
	}
	r.ask(as(j.Principal), "Here")
	r.code = first

	// The database would refuse an eleventh, whoever wrote it.
	err = r.source.InTx(context.Background(), func(ctx context.Context, tx *postgres.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO engagement.questions (id, room_id, voter, text, status, slot)
			SELECT $1, room_id, voter, 'x', 'pending', slot FROM engagement.questions WHERE status = 'pending' LIMIT 1`, uuid.New())
		return err
	})
	if !postgres.Violates(err, "questions_cap") {
		t.Errorf("two questions in one slot: %v", err)
	}
}

func TestQuestionTextIsBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	voter := r.voter()
	for _, text := range []string{"", " \n ", strings.Repeat("ö", 501)} {
		if _, err := r.AskQuestion(voter, engagement.AskQuestion{Code: r.code, Text: text}); !fault.Is(err, "invalid_input") {
			t.Errorf("%d bytes: %v", len(text), err)
		}
	}
	r.ask(voter, strings.Repeat("ö", 500))
	if _, err := r.AskQuestion(r.alice, engagement.AskQuestion{Code: r.code, Text: "?"}); !fault.Is(err, "engagement.not_joined") {
		t.Errorf("a user who has not joined: %v", err)
	}
}

func TestModerationRefusesRepeats(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	voter := r.voter()
	for _, test := range []struct{ done, allowed string }{
		{"", "approve dismiss"},
		{"approve", "dismiss answer"},
		{"approve answer", "dismiss"},
		{"dismiss", ""},
		{"approve dismiss", ""},
	} {
		for _, action := range []string{"approve", "dismiss", "answer"} {
			q := r.ask(voter, "Why?")
			for _, before := range strings.Fields(test.done) {
				if err := r.moderate(q, before); err != nil {
					t.Fatal(err)
				}
			}
			version := r.version()
			err := r.moderate(q, action)
			if allowed := strings.Contains(test.allowed, action); allowed != (err == nil) || !allowed && !fault.Is(err, "engagement.question_state") {
				t.Errorf("after %q, %s: %v", test.done, action, err)
			}
			if risen := r.version() > version; risen != (err == nil) {
				t.Errorf("after %q, %s: version risen %v", test.done, action, risen)
			}
			postgrestest.Exec(t, r.source, `UPDATE engagement.questions SET status = 'dismissed'`) // make room for the next
		}
	}
	q := r.ask(voter, "Why?")
	cmd := engagement.ModerateQuestion{ID: q.ID, Action: "approve"}
	if _, err := r.ModerateQuestion(voter, cmd); !fault.Is(err, "permission_denied") {
		t.Errorf("a voter: %v", err)
	}
	cmd.Action = "delete"
	if _, err := r.ModerateQuestion(r.host, cmd); !fault.Is(err, "invalid_input") {
		t.Errorf("an unknown action: %v", err)
	}
	cmd = engagement.ModerateQuestion{ID: uuid.New(), Action: "approve"}
	if _, err := r.ModerateQuestion(r.host, cmd); !fault.Is(err, "engagement.question_not_found") {
		t.Errorf("no question: %v", err)
	}
}

func TestUnapprovedTextReachesModeratorsOnly(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	author, other := r.voter(), r.voter()
	secret := r.ask(author, "secret")
	dismissed := r.ask(author, "dismissed")
	if err := r.moderate(dismissed, "dismiss"); err != nil {
		t.Fatal(err)
	}
	for name, ctx := range map[string]context.Context{"the one who asked": author, "another voter": other} {
		if v := r.view(ctx); len(v.Questions) != 0 || v.PendingCount != nil {
			t.Errorf("%s sees %+v", name, v)
		}
		if _, err := r.UpvoteQuestion(ctx, engagement.UpvoteQuestion{ID: secret.ID, Wanted: true}); !fault.Is(err, "engagement.question_not_found") {
			t.Errorf("%s upvotes what nobody sees: %v", name, err)
		}
	}
	if v := r.view(r.host); len(v.Questions) != 2 || *v.PendingCount != 1 {
		t.Errorf("the moderator sees %+v", v)
	}
	for _, part := range r.parts() {
		if strings.HasPrefix(part.Key, "question:") && part.Audience&attendees != 0 || part.Key == "pending" && part.Audience&attendees != 0 {
			t.Errorf("the audience is sent %+v", part)
		}
	}
	if err := r.moderate(secret, "approve"); err != nil {
		t.Fatal(err)
	}
	if v := r.view(author); len(v.Questions) != 1 || !v.Questions[0].Mine || v.Questions[0].Text != "secret" {
		t.Errorf("the one who asked sees %+v", v)
	}
	if v := r.view(other); len(v.Questions) != 1 || v.Questions[0].Mine {
		t.Errorf("another voter sees %+v", v)
	}
}

func TestUpvotesOnceAVoterAndInOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	author := r.voter()
	var asked []engagement.SeenQuestion
	for _, text := range []string{"first", "second", "third"} {
		q := r.ask(author, text)
		if err := r.moderate(q, "approve"); err != nil {
			t.Fatal(err)
		}
		asked = append(asked, q)
	}
	order := func() (texts string) {
		for _, q := range r.view(author).Questions {
			texts += q.Text + " "
		}
		return texts
	}
	if order() != "first second third " {
		t.Errorf("without upvotes: %s", order())
	}
	fans := []context.Context{r.voter(), r.voter()}
	version := r.version()
	r.told()
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			q, err := r.UpvoteQuestion(fans[i%2], engagement.UpvoteQuestion{ID: asked[2].ID, Wanted: true})
			if err != nil || !q.Upvoted || q.Mine {
				t.Errorf("%+v, %v", q, err)
			}
		})
	}
	group.Wait()
	if r.version() != version+2 || r.told() != 2 {
		t.Errorf("two upvotes are %d changes", r.version()-version)
	}
	if _, err := r.UpvoteQuestion(fans[0], engagement.UpvoteQuestion{ID: asked[1].ID, Wanted: true}); err != nil {
		t.Fatal(err)
	}
	if v := r.view(fans[0]); order() != "third second first " || v.Questions[0].Upvotes != 2 || !v.Questions[0].MyUpvote || v.Questions[2].MyUpvote {
		t.Errorf("%s %+v", order(), v.Questions)
	}
	before := r.version()
	r.told()
	for i := range 2 {
		q, err := r.UpvoteQuestion(fans[0], engagement.UpvoteQuestion{ID: asked[1].ID})
		if err != nil || q.Upvotes != 0 || q.Upvoted || r.told() != 1-i {
			t.Errorf("taken back: %+v, %v", q, err)
		}
	}
	if r.version() != before+1 {
		t.Errorf("version from %d to %d", before, r.version())
	}
	if _, err := r.UpvoteQuestion(author, engagement.UpvoteQuestion{ID: asked[0].ID, Wanted: true}); !fault.Is(err, "engagement.own_question") {
		t.Errorf("one's own: %v", err)
	}
	if err := r.moderate(asked[0], "answer"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.UpvoteQuestion(fans[0], engagement.UpvoteQuestion{ID: asked[0].ID, Wanted: true}); !fault.Is(err, "engagement.question_closed") {
		t.Errorf("an answered one: %v", err)
	}
}

func TestQuestionOverHTTP(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	join := func() []string {
		return bearer(r.do("POST", "/rooms/"+r.code+"/join", ``).is(200).body["voterToken"].(string))
	}
	author, fan := join(), join()
	r.do("POST", "/rooms/"+r.code+"/questions", `{"text":"Why?"}`).is(401, "engagement.not_joined")
	asked := r.do("POST", "/rooms/"+r.code+"/questions", `{"text":"Why?"}`, append(author, "Idempotency-Key", "k")...).is(201)
	if asked.body["status"] != "pending" || asked.body["mine"] != true || asked.body["myUpvote"] != false || len(asked.body) != 7 {
		t.Errorf("%s", asked.Body)
	}
	again := r.do("POST", "/rooms/"+r.code+"/questions", `{"text":"Why?"}`, append(author, "Idempotency-Key", "k")...).is(201)
	if again.body["id"] != asked.body["id"] {
		t.Error("a repeated request asks again")
	}
	other := r.do("POST", "/rooms/"+r.code+"/questions", `{"text":"Why?"}`, append(fan, "Idempotency-Key", "k")...).is(201)
	if other.body["id"] == asked.body["id"] {
		t.Error("one voter's key is another's")
	}
	path := "/questions/" + asked.body["id"].(string)
	r.do("PUT", path+"/upvote", ``, fan...).is(404, "engagement.question_not_found")
	r.do("POST", path+"/moderation", `{"action":"approve"}`, fan...).is(403)
	r.do("POST", path+"/moderation", `{"action":"approve"}`, bearer("host")...).is(200)
	r.do("POST", path+"/moderation", `{"action":"approve"}`, bearer("host")...).is(409, "engagement.question_state")
	if up := r.do("PUT", path+"/upvote", ``, fan...).is(200); up.body["upvotes"] != 1.0 || up.body["myUpvote"] != true {
		t.Errorf("%s", up.Body)
	}
	if down := r.do("DELETE", path+"/upvote", ``, fan...).is(200); down.body["upvotes"] != 0.0 || down.body["myUpvote"] != false {
		t.Errorf("%s", down.Body)
	}
}
