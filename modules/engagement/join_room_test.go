package engagement_test

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/modules/engagement"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/identity"
)

func withCookie(cookies ...*http.Cookie) []string {
	var pairs []string
	for _, c := range cookies {
		pairs = append(pairs, c.Name+"="+c.Value)
	}
	return []string{"Cookie", strings.Join(pairs, "; ")}
}

func TestJoinMakesAVoterOfTheRoom(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.open(false)
	ballot := "/polls/" + p.ID.String() + "/ballot"
	vote := func(i int) string { return `{"options":["` + p.Options[i].ID.String() + `"]}` }
	first := r.do("POST", "/rooms/"+r.code+"/join", ``).is(200)
	cookie := first.cookie()
	if cookie == nil || !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.Path != "/" || cookie.MaxAge <= 0 {
		t.Fatalf("the cookie is %+v", cookie)
	}
	if room := first.body["room"].(map[string]any); room["code"] != r.code || len(room["polls"].([]any)) != 1 || room["pendingCount"] != nil {
		t.Errorf("%s", first.Body)
	}
	r.do("PUT", ballot, vote(0), withCookie(cookie)...).is(200)
	// The cookie and the token are one voter, and joining again with either makes no second one.
	again := r.do("POST", "/rooms/"+r.code+"/join", `{}`, withCookie(cookie)...).is(200)
	r.do("PUT", ballot, vote(1), withCookie(again.cookie())...).is(200)
	r.do("PUT", ballot, vote(2), bearer(first.body["voterToken"].(string))...).is(200)
	byToken := r.do("POST", "/rooms/"+r.code+"/join", ``, bearer(first.body["voterToken"].(string))...).is(200)
	r.do("PUT", ballot, vote(1), withCookie(byToken.cookie())...).is(200)
	if after := r.show(p); votes(after) != [3]int{0, 1, 0} {
		t.Errorf("one voter has %v", votes(after))
	}
	other := r.do("POST", "/rooms/"+r.code+"/join", ``).is(200)
	r.do("PUT", ballot, vote(1), withCookie(other.cookie())...).is(200)
	if after := r.show(p); votes(after) != [3]int{0, 2, 0} {
		t.Errorf("two voters have %v", votes(after))
	}
}

// A page that lets people in does not have the room in its address, and the browser has been in several.
func TestVoterComesBackByAPage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var principal identity.Principal
	page := func(_ http.ResponseWriter, request *http.Request) {
		principal = identity.PrincipalOf(request.Context())
		if request.URL.Path == "/join" {
			j, err := r.JoinRoom(request.Context(), engagement.JoinRoom{Code: r.code})
			if err != nil {
				t.Error(err)
			}
			principal = j.Principal
		}
	}
	r.api.Router().Get("/join", page)
	r.api.Router().Get("/products", page)
	here := r.do("POST", "/rooms/"+r.code+"/join", ``).is(200).cookie()
	elsewhere := r.do("POST", "/rooms/"+r.room()+"/join", ``).is(200).cookie()
	visit := func(path string) string {
		request := httptest.NewRequest("GET", path, nil)
		request.AddCookie(elsewhere)
		request.AddCookie(here)
		r.api.ServeHTTP(httptest.NewRecorder(), request)
		return principal.ID
	}
	first := visit("/join")
	for range 20 {
		if next := visit("/join"); next != first || !strings.HasPrefix(next, "voter:") {
			t.Fatalf("one visitor is %s and %s", first, next)
		}
	}
	if other := visit("/products"); other != "" {
		t.Errorf("outside of rooms a voter is %s", other)
	}
}

func TestCookieOfAnotherRoomIsNone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.open(false)
	elsewhere := r.room()
	cookie := r.do("POST", "/rooms/"+elsewhere+"/join", ``).is(200).cookie()
	token := cookie.Value
	disguised := &http.Cookie{Name: strings.Replace(cookie.Name, elsewhere, r.code, 1), Value: token}
	ballot, vote := "/polls/"+p.ID.String()+"/ballot", `{"options":["`+p.Options[0].ID.String()+`"]}`
	for name, headers := range map[string][]string{
		"its cookie": withCookie(cookie), "its cookie under this room's name": withCookie(disguised), "its token": bearer(token),
	} {
		for _, got := range []answer{r.do("PUT", ballot, vote, headers...), r.do("GET", "/rooms/"+r.code, ``, headers...)} {
			if got.Code != 401 && got.Code != 403 || got.body["code"] != "engagement.not_joined" {
				t.Errorf("%s: %d %s", name, got.Code, got.Body)
			}
		}
	}
	// Who has joined both is a voter of each.
	here := r.do("POST", "/rooms/"+r.code+"/join", ``, withCookie(cookie)...).is(200).cookie()
	r.do("PUT", ballot, vote, withCookie(cookie, here)...).is(200)
	r.do("GET", "/rooms/"+elsewhere, ``, withCookie(cookie, here)...).is(200)
}

func TestTokenIsNotForged(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	joined := r.do("POST", "/rooms/"+r.code+"/join", ``).is(200)
	cookie := joined.cookie()
	token := cookie.Value
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(token, "voter."))
	if err != nil {
		t.Fatal(err)
	}
	for i := range raw {
		forged := append([]byte(nil), raw...)
		forged[i] ^= 1
		bad := *cookie
		bad.Value = "voter." + base64.RawURLEncoding.EncodeToString(forged)
		r.do("GET", "/rooms/"+r.code, ``, withCookie(&bad)...).is(401, "engagement.not_joined")
		r.do("GET", "/rooms/"+r.code, ``, bearer(bad.Value)...).is(401, "invalid_token")
	}
	for _, bad := range []string{"voter.", "voter.A", token + "A", token[:len(token)-1], "voter." + uuid.NewString(), token + "="} {
		r.do("GET", "/rooms/"+r.code, ``, bearer(bad)...).is(401, "invalid_token")
	}
	r.do("GET", "/rooms/"+r.code, ``, bearer("session-of-nobody")...).is(401, "invalid_token")
	r.do("GET", "/rooms/"+r.code, ``, bearer(token)...).is(200)

	r.clock = r.clock.Add(14*24*time.Hour - time.Second)
	renewed := r.do("POST", "/rooms/"+r.code+"/join", ``, withCookie(cookie)...).is(200).cookie()
	r.clock = r.clock.Add(2 * time.Second)
	r.do("GET", "/rooms/"+r.code, ``, bearer(token)...).is(401, "invalid_token")
	r.do("GET", "/rooms/"+r.code, ``, withCookie(cookie)...).is(401, "engagement.not_joined")
	r.do("GET", "/rooms/"+r.code, ``, withCookie(renewed)...).is(200)
}

func TestSignedInVoterIsTheUser(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.open(false)
	ballot := "/polls/" + p.ID.String() + "/ballot"
	vote := func(i int) string { return `{"options":["` + p.Options[i].ID.String() + `"]}` }
	anonymous := r.do("POST", "/rooms/"+r.code+"/join", ``).is(200).cookie()
	alice := append(withCookie(anonymous), bearer("alice")...)
	r.do("PUT", ballot, vote(0), alice...).is(403, "engagement.not_joined") // the cookie is ignored
	joined := r.do("POST", "/rooms/"+r.code+"/join", ``, alice...).is(200)
	if joined.cookie() != nil {
		t.Error("a user gets a cookie that says nothing")
	}
	r.do("POST", "/rooms/"+r.code+"/join", ``, alice...).is(200)
	r.do("PUT", ballot, vote(0), alice...).is(200)
	r.do("PUT", ballot, vote(1), bearer(joined.body["voterToken"].(string))...).is(200)
	if after := r.show(p); votes(after) != [3]int{0, 1, 0} {
		t.Errorf("the user has %v", votes(after))
	}
	// A voter's token makes nobody a user.
	r.do("POST", "/rooms/"+r.code+"/polls", `{"question":"?","options":["a","b"]}`, bearer(joined.body["voterToken"].(string))...).is(403)
	r.do("GET", "/rooms/"+r.code, ``, bearer("host")...).is(200)
}

func TestCodeAsPeopleWriteIt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	written := " " + strings.ToLower(r.code[:3]) + "-" + r.code[3:4] + " " + r.code[4:]
	if got := engagement.NormalizeCode(written); got != r.code {
		t.Errorf("%q is %q", written, got)
	}
	r.do("POST", "/rooms/"+strings.ReplaceAll(written, " ", "%20")+"/join", ``).is(200)
	seen := map[string]bool{}
	for range 1000 {
		code := engagement.NewCode()
		if len(code) != 6 || strings.ContainsAny(code, "0O1IL5S2Z8B6UV") || strings.ToUpper(code) != code {
			t.Fatalf("a code is %q", code)
		}
		seen[code] = true
	}
	if len(seen) < 999 {
		t.Errorf("%d of 1000 codes differ", len(seen))
	}
}

func TestRoomOncePerSession(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	session, taken := uuid.New(), r.code
	r.DrawCodes(taken, taken, "CDFGHJ", "WWWWWW")
	r.propose(session)
	room, err := r.GetSessionRoom(t.Context(), engagement.GetSessionRoom{SessionID: session})
	if err != nil || room.Code != "CDFGHJ" || room.SessionID != session {
		t.Errorf("%+v, %v", room, err)
	}
	r.propose(session) // the event comes twice
	if again, err := r.GetSessionRoom(t.Context(), engagement.GetSessionRoom{SessionID: session}); err != nil || again != room {
		t.Errorf("%+v, %v", again, err)
	}
	r.do("GET", "/sessions/"+session.String()+"/room", ``).is(200)
	r.do("GET", "/sessions/"+uuid.NewString()+"/room", ``).is(404, "engagement.room_not_found")
}

func TestLimits(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	// A hall joins at once from one address. Who makes up voters is held up, in that room.
	refused := 0
	for i := range 10_000 {
		if err := r.AdmitJoin(t.Context(), r.code); err != nil {
			refused++
			if !fault.Is(err, "rate_limited") || i < 2000 {
				t.Fatalf("join %d: %v", i, err)
			}
		}
	}
	if refused < 5000 {
		t.Errorf("%d of 10,000 joins are refused", refused)
	}
	if err := r.AdmitJoin(t.Context(), r.room()); err != nil {
		t.Errorf("another room: %v", err)
	}
	for range 200 { // who tries codes locks nobody out
		r.do("POST", "/rooms/"+engagement.NewCode()+"/join", ``).is(404)
	}
	// One voter is held up, the next one is not.
	p := r.open(false)
	voter := r.voterToken()
	path := "/polls/" + p.ID.String() + "/ballot"
	last := r.do("DELETE", path, ``, bearer(voter)...)
	for i := 0; last.Code == 200 && i < 2000; i++ {
		last = r.do("DELETE", path, ``, bearer(voter)...)
	}
	if last.is(429, "rate_limited"); last.Header().Get("Retry-After") == "" {
		t.Error("no word of when to come again")
	}
	r.do("DELETE", path, ``, bearer(r.voterToken())...).is(200)
	// Questions have a limit of their own, beyond that of the open ones.
	asked := r.do("POST", "/rooms/"+r.code+"/questions", `{"text":"Why?"}`, bearer(voter)...).is(201)
	for i := 0; asked.Code != 429 && i < 2000; i++ {
		asked = r.do("POST", "/rooms/"+r.code+"/questions", `{"text":"Why?"}`, bearer(voter)...)
		if asked.Code == 429 && i < 50 {
			t.Errorf("held up after %d questions", i)
		}
	}
	asked.is(429, "rate_limited")
}

func (r *rig) voterToken() string {
	r.t.Helper()
	j, err := r.JoinRoom(r.t.Context(), engagement.JoinRoom{Code: r.code})
	if err != nil {
		r.t.Fatal(err)
	}
	return j.Token
}

func TestRoomThatIsNot(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if _, err := r.LoadRoom(t.Context(), "WWWWWW"); !fault.Is(err, "engagement.room_not_found") {
		t.Error(err)
	}
	r.do("GET", "/rooms/WWWWWW", ``, bearer("host")...).is(404, "engagement.room_not_found")
	r.do("POST", "/rooms/nonsense%20of%20any%20length/join", ``).is(404, "engagement.room_not_found")
}
