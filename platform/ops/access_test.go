package ops_test

import (
	"context"
	"testing"

	"github.com/google/uuid"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/ops"
	"example.com/plenary/platform/postgres/postgrestest"
)

func TestWhoMayDoWhat(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	h := newHouse(t, url, url)
	id := h.dead(1, 0)[0].String()
	event := h.publish(context.Background(), 1)[0].String()
	before := h.tables()
	const read, act, run, admin = "read", "act", "run", "admin"
	routes := 0
	for _, c := range []struct{ method, path, body, kind string }{
		{"GET", "/summary", "", read},
		{"GET", "/internal-commands", "", read},
		{"GET", "/internal-commands/" + id, "", read},
		{"POST", "/internal-commands/requeue", `{"ids":["` + uuid.NewString() + `"]}`, act},
		{"POST", "/internal-commands/purge", `{"olderThanSeconds":0,"source":"nowhere"}`, act},
		{"GET", "/outbox", "", read},
		{"GET", "/outbox/" + event, "", read},
		{"POST", "/outbox/requeue", `{"ids":["` + uuid.NewString() + `"]}`, act},
		{"POST", "/outbox/purge", `{"olderThanSeconds":0,"source":"nowhere"}`, act},
		{"GET", "/jobs", "", read},
		{"GET", "/jobs/shop.note", "", read},
		{"GET", "/jobs/shop.note/runs", "", read},
		{"GET", "/jobs/shop.note/preview?cron=@daily", "", read},
		{"POST", "/jobs/expired-keys-cleanup/runs", `{}`, run},
		{"PATCH", "/jobs/shop.note", `{"enabled":true}`, admin},
		{"GET", "/audit", "", read},
		{"GET", "/flows/none", "", read},
	} {
		routes++
		for _, as := range []string{"", "customer", "viewer", "operator", "admin"} {
			w := h.ask(as, c.method, c.path, c.body)
			switch {
			case as == "":
				refused(t, c.path, w, 401, "unauthenticated")
			case as == "customer" || as == "viewer" && c.kind != read || as == "operator" && c.kind == admin:
				refused(t, c.path+" as "+as, w, 403, "permission_denied")
			case c.kind == run && (w.Code == 202 || w.Code == 409): // the second one is too early
			case w.Code != 200:
				t.Errorf("%s %s as %s: %d %s", c.method, c.path, as, w.Code, w.Body)
			}
			// Whether the request makes sense is not told to those who may not.
			if w := h.ask(as, c.method, c.path+"?limit=x", "{"); c.kind == act && (as == "" || as == "viewer") && w.Code < 401 {
				t.Errorf("%s as %q: %d", c.path, as, w.Code)
			}
		}
		refused(t, c.path, h.ask("made-up", c.method, c.path, c.body), 401, "invalid_token")
	}
	if n := len(h.api.Routes()) - 1; n != routes { // an operation is shown to who asked for it
		t.Errorf("%d routes, and %d were tried", n, routes)
	}
	postgrestest.Exec(t, h.shop, `DELETE FROM platform.internal_commands WHERE name = 'platform.clean_expired_keys'`) // of the job that was run
	if after := h.tables(); after != before {
		t.Errorf("%s\nbecame\n%s", before, after)
	}

	// The doors guard themselves: pages and programs come to them without a route.
	for name, door := range map[string]func(context.Context) error{
		"requeue commands": func(ctx context.Context) error {
			_, err := h.console.RequeueCommands(ctx, ops.RequeueCommands{Selection: ops.Selection{All: true, Expected: new(1)}})
			return err
		},
		"requeue deliveries": func(ctx context.Context) error {
			_, err := h.console.RequeueDeliveries(ctx, ops.RequeueDeliveries{Selection: ops.Selection{All: true, Expected: new(0)}})
			return err
		},
		"purge commands": func(ctx context.Context) error {
			_, err := h.console.PurgeCommands(ctx, ops.PurgeCommands{})
			return err
		},
		"purge events": func(ctx context.Context) error {
			_, err := h.console.PurgeEvents(ctx, ops.PurgeEvents{})
			return err
		},
	} {
		if err := door(context.Background()); fault.KindOf(err) != fault.Unauthenticated {
			t.Errorf("%s for nobody: %v", name, err)
		}
		if err := door(asUser("viewer")); fault.KindOf(err) != fault.Forbidden {
			t.Errorf("%s for a viewer: %v", name, err)
		}
	}
}
