package ops

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/later/lease"
	"example.com/plenary/platform/later/outbox"
)

// EventView is a published event in a list.
type EventView struct {
	ID            uuid.UUID      `json:"id"`
	Source        string         `json:"source"`
	Name          string         `json:"name"`
	OccurredOn    time.Time      `json:"occurredOn"`
	CorrelationID *string        `json:"correlationId"`
	Deliveries    []DeliveryView `json:"deliveries"`
}

// DeliveryView is the delivery of an event to one handler.
type DeliveryView struct {
	ID               uuid.UUID       `json:"id"`
	Handler          string          `json:"handler"`
	State            lease.State     `json:"state" enum:"scheduled,due,running,retrying,succeeded,dead_lettered"`
	Attempts         int             `json:"attempts"`
	MaxAttempts      int             `json:"maxAttempts"`
	Crashes          int             `json:"crashes"`
	NextAttemptOn    *time.Time      `json:"nextAttemptOn"`
	ProcessedOn      *time.Time      `json:"processedOn"`
	DeadLetteredOn   *time.Time      `json:"deadLetteredOn"`
	DeadLetterReason *string         `json:"deadLetterReason"`
	LastError        *string         `json:"lastError"`
	AttemptLog       []lease.Attempt `json:"attemptLog,omitempty"`
}

// EventDetail is everything about an event that is fit to be shown.
type EventDetail struct {
	EventView
	Payload json.RawMessage `json:"payload"`
	OriginView
}

func eventView(e outbox.Stored) EventView {
	v := EventView{ID: e.ID, Source: e.Source, Name: e.Name, OccurredOn: e.OccurredOn.UTC(), Deliveries: make([]DeliveryView, len(e.Deliveries))}
	if e.Origin.CorrelationID != "" {
		v.CorrelationID = &e.Origin.CorrelationID
	}
	for i, d := range e.Deliveries {
		row := viewOf(d)
		v.Deliveries[i] = DeliveryView{
			ID: row.ID, Handler: row.Name, State: row.State, Attempts: row.Attempts, MaxAttempts: row.MaxAttempts, Crashes: row.Crashes,
			NextAttemptOn: row.NextAttemptOn, ProcessedOn: row.ProcessedOn, DeadLetteredOn: row.DeadLetteredOn,
			DeadLetterReason: row.DeadLetterReason, LastError: row.LastError,
		}
	}
	return v
}

func (c *Console) getEvents(ctx context.Context, in listInput) (httpx.Response[httpx.Page[EventView]], error) {
	return merged(ctx, c, in, func(e outbox.Stored) uuid.UUID { return e.ID }, eventView, outbox.List)
}

func (c *Console) getEvent(ctx context.Context, in byID) (httpx.Response[EventDetail], error) {
	for _, r := range c.databases {
		e, found, err := outbox.Get(ctx, r, in.ID)
		if err != nil {
			return httpx.Response[EventDetail]{}, err
		}
		if !found {
			continue
		}
		detail := EventDetail{EventView: eventView(e), Payload: redact(e.Payload), OriginView: originOf(e.Origin)}
		for i := range detail.Deliveries {
			if detail.Deliveries[i].AttemptLog, err = lease.Attempts(ctx, r, detail.Deliveries[i].ID); err != nil {
				return httpx.Response[EventDetail]{}, err
			}
		}
		return httpx.OK(detail), nil
	}
	return httpx.Response[EventDetail]{}, fault.New(fault.NotFound, "ops.event_not_found", "there is no such event")
}
