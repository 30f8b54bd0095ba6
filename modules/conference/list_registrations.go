package conference

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/identity"
)

// Registration is a place at a conference.
type Registration struct {
	ID           uuid.UUID `json:"id"`
	EventID      uuid.UUID `json:"eventId"`
	OrderID      uuid.UUID `json:"orderId"`
	AttendeeName string    `json:"attendeeName"`
	Status       string    `json:"status" enum:"confirmed"`
	CreatedOn    time.Time `json:"createdOn"`
}

// ListRegistrations asks for one's own registrations, newest first.
type ListRegistrations struct {
	Limit int
	After uuid.UUID // the last one of the page before; zero: from the start
}

// Policy leaves the decision to the handler: everybody sees their own.
func (ListRegistrations) Policy() command.Policy {
	return command.Policy{Name: "conference.list_registrations"}
}

func (m *Module) listRegistrations(ctx context.Context, q ListRegistrations) ([]Registration, error) {
	id, ok := identity.PrincipalOf(ctx).UserID()
	if !ok {
		return nil, fault.New(fault.Unauthenticated, "unauthenticated", "sign in first")
	}
	name, _, err := m.attendees.Contact(ctx, id)
	if err != nil {
		return nil, err
	}
	rows, err := m.source.Query(ctx, `
		SELECT id, event_id, order_id, status, created_on FROM conference.registrations
		WHERE attendee_id = $1 AND ($2::uuid = '00000000-0000-0000-0000-000000000000' OR id < $2)
		ORDER BY id DESC LIMIT $3`, id, q.After, q.Limit)
	if err != nil {
		return nil, fmt.Errorf("list registrations: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (Registration, error) {
		r := Registration{AttendeeName: name}
		err := row.Scan(&r.ID, &r.EventID, &r.OrderID, &r.Status, &r.CreatedOn)
		return r, err
	})
}

func (m *Module) getRegistrations(ctx context.Context, in struct{ httpx.Paging }) (httpx.Response[httpx.Page[Registration]], error) {
	return httpx.ByID(ctx, in.Paging, func(ctx context.Context, limit int, after uuid.UUID) ([]Registration, error) {
		return m.ListRegistrations(ctx, ListRegistrations{Limit: limit, After: after})
	}, func(r Registration) uuid.UUID { return r.ID })
}
