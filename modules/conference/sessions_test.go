package conference_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/uuid"

	"example.com/plenary/modules/conference"
	"example.com/plenary/modules/sales/salesapi"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/postgres/postgrestest"
)

func TestProposing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.replica()
	good := conference.ProposeSession{EventID: conference.DemoEvent, Title: " Tea ", Abstract: "On tea.", SpeakerName: "T. Leaf"}
	s, err := r.ProposeSession(as(viktor), good)
	if err != nil || s.Title != "Tea" || s.Status != conference.Proposed || s.StartsOn != nil {
		t.Fatalf("%+v, %v", s, err)
	}
	if got, err := r.GetSession(context.Background(), conference.GetSession{ID: s.ID}); err != nil || got != s {
		t.Errorf("%+v, %v", got, err)
	}
	if n := postgrestest.Value[int](t, r.source, `SELECT count(*) FROM platform.events WHERE name = 'conference.session_proposed' AND payload->>'sessionId' = $1`, s.ID.String()); n != 1 {
		t.Errorf("%d events", n)
	}
	if _, err := r.ProposeSession(context.Background(), good); fault.KindOf(err) != fault.Unauthenticated {
		t.Errorf("nobody: %v", err)
	}
	for field, change := range map[string]func(*conference.ProposeSession){
		"title":       func(c *conference.ProposeSession) { c.Title = " " },
		"abstract":    func(c *conference.ProposeSession) { c.Abstract = strings.Repeat("x", 5001) },
		"speakerName": func(c *conference.ProposeSession) { c.SpeakerName = "" },
	} {
		bad := good
		change(&bad)
		if _, err := r.ProposeSession(as(viktor), bad); fault.KindOf(err) != fault.Invalid || fault.As(err).Fields[0].Path != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	lost := good
	lost.EventID = uuid.New()
	if _, err := r.ProposeSession(as(viktor), lost); !fault.Is(err, "conference.event_not_found") {
		t.Errorf("%v", err)
	}
}

func TestListsArePaged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.replica()
	var seen []uuid.UUID
	for after := (uuid.UUID{}); ; {
		page, err := r.ListSessions(context.Background(), conference.ListSessions{EventID: conference.DemoEvent, Limit: 4, After: after})
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, s := range page {
			seen = append(seen, s.ID)
		}
		after = page[len(page)-1].ID
	}
	if len(seen) != demoSessions {
		t.Errorf("%d sessions", len(seen))
	}
	if _, err := r.ListSessions(context.Background(), conference.ListSessions{EventID: uuid.New(), Limit: 1}); fault.KindOf(err) != fault.NotFound {
		t.Errorf("%v", err)
	}
	if events, err := r.ListEvents(context.Background(), conference.ListEvents{Limit: 10}); err != nil || len(events) != 1 || events[0].TimeZone != "Europe/Vienna" {
		t.Errorf("%+v, %v", events, err)
	}
	if _, err := r.GetEvent(context.Background(), conference.GetEvent{ID: uuid.New()}); fault.KindOf(err) != fault.NotFound {
		t.Errorf("%v", err)
	}
}

// A paid order is a registration a ticket, however often its event is delivered.
func TestRegistrations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.replica()
	alice := uuid.New()
	paid := salesapi.OrderPaid{OrderID: uuid.New(), CustomerID: alice, Tickets: []salesapi.Tickets{
		{EventID: conference.DemoEvent, Quantity: 2}, {EventID: conference.DemoEvent, Quantity: 1},
	}}
	for range 2 {
		err := r.source.Database().Source("sales").InTx(t.Context(), func(ctx context.Context, tx *postgres.Tx) error {
			_, err := r.events.Publish(ctx, tx, paid)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	r.drain()
	if n := postgrestest.Value[int](t, r.source, `SELECT count(*) FROM platform.deliveries WHERE attempts <> 1 OR processed_on IS NULL`); n != 0 {
		t.Errorf("%d deliveries failed", n)
	}
	got, err := r.ListRegistrations(as(identity.User(alice)), conference.ListRegistrations{Limit: 10})
	if err != nil || len(got) != 3 || got[0].AttendeeName != "Alice Archer" || got[0].OrderID != paid.OrderID || got[0].Status != "confirmed" {
		t.Errorf("%+v, %v", got, err)
	}
	if others, err := r.ListRegistrations(as(viktor), conference.ListRegistrations{Limit: 10}); err != nil || len(others) != 0 {
		t.Errorf("%+v, %v", others, err)
	}
	if _, err := r.ListRegistrations(context.Background(), conference.ListRegistrations{Limit: 10}); fault.KindOf(err) != fault.Unauthenticated {
		t.Errorf("%v", err)
	}
}
