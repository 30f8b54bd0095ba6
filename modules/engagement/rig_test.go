package engagement_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/migrations"
	"example.com/plenary/modules/conference/conferenceapi"
	"example.com/plenary/modules/engagement"
	"example.com/plenary/platform/command"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/later/channel"
	"example.com/plenary/platform/later/internalcommand"
	"example.com/plenary/platform/later/lease"
	"example.com/plenary/platform/later/outbox"
	"example.com/plenary/platform/later/schedule"
	"example.com/plenary/platform/live"
	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/postgres/postgrestest"
)

// rig is the module on a database of its own, with one room, a host, and users alice and bob who have not joined.
type rig struct {
	*engagement.Module
	t                testing.TB
	source           *postgres.Source
	conference       *postgres.Source
	events           *outbox.Box
	runner           *lease.Runner
	api              *httpx.API
	code             string
	host, alice, bob context.Context
	clock            time.Time // by which voters' tokens end

	once   sync.Once
	member string

	mu      sync.Mutex
	changes []live.Change // that have committed
}

var users = map[string]identity.Principal{
	"host": identity.User(uuid.New(), "organizer"), "alice": identity.User(uuid.New(), "customer"), "bob": identity.User(uuid.New(), "customer"),
}

func newRig(t testing.TB) *rig {
	t.Helper()
	db := postgrestest.Open(t, postgrestest.With(postgres.Migrations{Source: "engagement", Files: migrations.Of("engagement")}))
	logger := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	var permissions identity.Permissions
	engagement.Grant(&permissions)
	pipeline := command.New(command.Deps{Permissions: &permissions, Logger: logger})
	wake := func(string) {}
	r := &rig{t: t, source: db.Source("engagement"), conference: db.Source("conference"), events: outbox.New(pipeline, wake), clock: time.Now()}
	r.host, r.alice, r.bob = as(users["host"]), as(users["alice"]), as(users["bob"])
	commands := internalcommand.New(pipeline, wake)
	var err error
	r.Module, err = engagement.New(engagement.Deps{
		Source: r.source, Pipeline: pipeline, Commands: commands, Events: r.events, Jobs: schedule.New(pipeline, commands, wake),
		Permissions: &permissions, Logger: logger, SigningKey: bytes.Repeat([]byte("k"), engagement.MinSigningKey),
		Changed: r.changed, Now: func() time.Time { return r.clock },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.events.SaveSubscriptions(context.Background(), map[string]*postgres.Source{"conference": r.conference}); err != nil {
		t.Fatal(err)
	}
	r.runner, err = lease.New(lease.Config{
		Database: db, Logger: logger, Mechanisms: []*lease.Mechanism{commands.Mechanism(db, 4), r.events.Mechanism(4)},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.api = httpx.NewAPI(httpx.Config{Authenticator: r.Authenticator(sessions{}), Permissions: &permissions, Log: logger, Limit: r.Voters})
	r.Routes(r.api)
	r.code = r.room()
	return r
}

// another is the module in another process on the same database.
func (r *rig) another(key []byte) *engagement.Module {
	r.t.Helper()
	logger := slog.New(slog.DiscardHandler)
	pipeline := command.New(command.Deps{})
	commands := internalcommand.New(pipeline, func(string) {})
	m, err := engagement.New(engagement.Deps{
		Source: r.source, Pipeline: pipeline, Commands: commands, Events: outbox.New(pipeline, func(string) {}), Logger: logger,
		Jobs: schedule.New(pipeline, commands, func(string) {}), Permissions: &identity.Permissions{}, SigningKey: key,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return m
}

// sessions knows users by their names.
type sessions struct{}

func (sessions) Authenticate(_ context.Context, token string) (identity.Principal, error) {
	if p, ok := users[token]; ok {
		return p, nil
	}
	return identity.Principal{}, fault.New(fault.Unauthenticated, "unknown_token", "this token is not known")
}

func as(p identity.Principal) context.Context {
	return identity.WithPrincipal(context.Background(), p)
}

func (r *rig) changed(tx channel.Tx, c live.Change) {
	tx.AfterCommit(func(context.Context) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.changes = append(r.changes, c)
	})
}

// told returns how many changes have been announced since it was asked last.
func (r *rig) told() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.changes)
	r.changes = nil
	return n
}

func (r *rig) propose(session uuid.UUID) {
	r.t.Helper()
	err := r.conference.InTx(context.Background(), func(ctx context.Context, tx *postgres.Tx) error {
		_, err := r.events.Publish(ctx, tx, conferenceapi.SessionProposed{SessionID: session, EventID: uuid.New(), Title: "Queues"})
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.drain()
}

// room makes a session with a room.
func (r *rig) room() string {
	r.t.Helper()
	session := uuid.New()
	r.propose(session)
	room, err := r.GetSessionRoom(context.Background(), engagement.GetSessionRoom{SessionID: session})
	if err != nil {
		r.t.Fatal(err)
	}
	return room.Code
}

func (r *rig) drain() {
	r.t.Helper()
	if err := r.runner.Drain(context.Background()); err != nil {
		r.t.Fatal(err)
	}
}

// voter returns somebody new who has joined the rig's room.
func (r *rig) voter() context.Context {
	r.t.Helper()
	j, err := r.JoinRoom(context.Background(), engagement.JoinRoom{Code: r.code})
	if err != nil {
		r.t.Fatal(err)
	}
	return as(j.Principal)
}

func (r *rig) draft(multiple bool, closesAfter ...int) engagement.SeenPoll {
	r.t.Helper()
	cmd := engagement.CreatePoll{Code: r.code, Question: "Lunch?", Options: []string{"Soup", "Salad", "Pie"}, Multiple: multiple}
	if len(closesAfter) > 0 {
		cmd.ClosesAfter = &closesAfter[0]
	}
	p, err := r.CreatePoll(r.host, cmd)
	if err != nil {
		r.t.Fatal(err)
	}
	return p
}

func (r *rig) open(multiple bool, closesAfter ...int) engagement.SeenPoll {
	r.t.Helper()
	p, err := r.OpenPoll(r.host, engagement.OpenPoll{ID: r.draft(multiple, closesAfter...).ID})
	if err != nil {
		r.t.Fatal(err)
	}
	return p
}

func (r *rig) end(p engagement.SeenPoll) engagement.SeenPoll {
	r.t.Helper()
	closed, err := r.EndPoll(r.host, engagement.EndPoll{ID: p.ID})
	if err != nil {
		r.t.Fatal(err)
	}
	return closed
}

// cast votes for the options at the given places.
func (r *rig) cast(ctx context.Context, p engagement.SeenPoll, places ...int) error {
	cmd := engagement.CastBallot{PollID: p.ID}
	for _, i := range places {
		cmd.Options = append(cmd.Options, p.Options[i].ID)
	}
	_, err := r.CastBallot(ctx, cmd)
	return err
}

func (r *rig) show(p engagement.SeenPoll) engagement.SeenPoll {
	r.t.Helper()
	p, err := r.GetPoll(r.host, engagement.GetPoll{ID: p.ID})
	if err != nil {
		r.t.Fatal(err)
	}
	return p
}

// votes returns the tally as "1 0 2".
func votes(p engagement.SeenPoll) [3]int {
	return [3]int{p.Options[0].Votes, p.Options[1].Votes, p.Options[2].Votes}
}

func (r *rig) version() int64 {
	r.t.Helper()
	versions, err := r.Versions(context.Background(), []string{r.code, "NOROOM"})
	if err != nil || len(versions) != 1 {
		r.t.Fatal(versions, err)
	}
	return versions[r.code]
}

func (r *rig) ask(ctx context.Context, text string) engagement.SeenQuestion {
	r.t.Helper()
	q, err := r.AskQuestion(ctx, engagement.AskQuestion{Code: r.code, Text: text})
	if err != nil {
		r.t.Fatal(err)
	}
	return q
}

func (r *rig) moderate(q engagement.SeenQuestion, action string) error {
	_, err := r.ModerateQuestion(r.host, engagement.ModerateQuestion{ID: q.ID, Action: action})
	return err
}

func (r *rig) view(ctx context.Context) engagement.RoomView {
	r.t.Helper()
	v, err := r.GetRoom(ctx, engagement.GetRoom{Code: r.code})
	if err != nil {
		r.t.Fatal(err)
	}
	return v
}

// answer is what a request got.
type answer struct {
	*httptest.ResponseRecorder
	t    testing.TB
	body map[string]any
}

// do sends a request. Headers are pairs.
func (r *rig) do(method, path, body string, headers ...string) answer {
	r.t.Helper()
	request := httptest.NewRequest(method, "/api/v1/engagement"+path, strings.NewReader(body))
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Add(headers[i], headers[i+1])
	}
	a := answer{ResponseRecorder: httptest.NewRecorder(), t: r.t}
	r.api.ServeHTTP(a, request)
	if strings.Contains(a.Header().Get("Content-Type"), "json") {
		if err := json.Unmarshal(a.Body.Bytes(), &a.body); err != nil {
			r.t.Fatal(err)
		}
	}
	return a
}

// is checks status and, for a problem, its code.
func (a answer) is(status int, code ...string) answer {
	a.t.Helper()
	if a.Code != status || len(code) > 0 && a.body["code"] != code[0] {
		a.t.Errorf("%d %s, want %d %v", a.Code, a.Body, status, code)
	}
	return a
}

func (a answer) cookie() *http.Cookie {
	for _, c := range a.Result().Cookies() {
		if strings.HasPrefix(c.Name, "plenary_room_") {
			return c
		}
	}
	return nil
}

func bearer(token string) []string { return []string{"Authorization", "Bearer " + token} }
