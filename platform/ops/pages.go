package ops

import (
	"context"

	"github.com/google/uuid"

	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/later/lease"
)

// What the API answers, for pages. Who calls these functions has made sure of the permission: PermissionRead, and
// for what changes something PermissionAct.

// Commands returns one page of the deferred commands that a filter means, newest first. A cursor that is none of
// ours is an Invalid fault ("invalid_cursor").
func (c *Console) Commands(ctx context.Context, p httpx.Paging, f lease.Filter) (httpx.Page[CommandView], error) {
	answer, err := c.getCommands(ctx, inputOf(p, f))
	return answer.Body, err
}

// Command returns one deferred command. NotFound ("ops.command_not_found").
func (c *Console) Command(ctx context.Context, id uuid.UUID) (CommandDetail, error) {
	answer, err := c.getCommand(ctx, byID{ID: id})
	return answer.Body, err
}

// Events returns one page of events; see Commands. A filter's state means a delivery's.
func (c *Console) Events(ctx context.Context, p httpx.Paging, f lease.Filter) (httpx.Page[EventView], error) {
	answer, err := c.getEvents(ctx, inputOf(p, f))
	return answer.Body, err
}

// Event returns one event with its deliveries. NotFound ("ops.event_not_found").
func (c *Console) Event(ctx context.Context, id uuid.UUID) (EventDetail, error) {
	answer, err := c.getEvent(ctx, byID{ID: id})
	return answer.Body, err
}

func inputOf(p httpx.Paging, f lease.Filter) listInput {
	return listInput{Paging: p, State: string(f.State), Name: f.Name, Source: f.Source, CorrelationID: f.CorrelationID}
}
