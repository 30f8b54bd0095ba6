package ops

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/later/internalcommand"
	"example.com/plenary/platform/later/lease"
)

// CommandView is a deferred command in a list.
type CommandView struct {
	ID               uuid.UUID   `json:"id"`
	Source           string      `json:"source"`
	Name             string      `json:"name"`
	State            lease.State `json:"state" enum:"scheduled,due,running,retrying,succeeded,dead_lettered"`
	Attempts         int         `json:"attempts"`
	MaxAttempts      int         `json:"maxAttempts"`
	Crashes          int         `json:"crashes"`
	ScheduledOn      time.Time   `json:"scheduledOn"`
	NextAttemptOn    *time.Time  `json:"nextAttemptOn"`
	CreatedOn        time.Time   `json:"createdOn"`
	ProcessedOn      *time.Time  `json:"processedOn"`
	DeadLetteredOn   *time.Time  `json:"deadLetteredOn"`
	DeadLetterReason *string     `json:"deadLetterReason"`
	LastError        *string     `json:"lastError"`
	CorrelationID    *string     `json:"correlationId"`
}

// CommandDetail is everything about a deferred command that is fit to be shown.
type CommandDetail struct {
	CommandView
	AttemptLog []lease.Attempt `json:"attemptLog"`
	Payload    json.RawMessage `json:"payload"`
	OriginView
}

// OriginView is on whose behalf work runs.
type OriginView struct {
	User   *string  `json:"user"`
	Roles  []string `json:"roles"`
	Tenant *string  `json:"tenant"`
	Trace  *string  `json:"trace"`
}

func viewOf(r lease.Row) CommandView {
	v := CommandView{
		ID: r.ID, Source: r.Source, Name: r.Name, State: r.State, Attempts: r.Attempts, MaxAttempts: r.MaxAttempts, Crashes: r.Crashes,
		ScheduledOn: r.ScheduledOn.UTC(), CreatedOn: r.CreatedOn.UTC(), ProcessedOn: utc(r.ProcessedOn), DeadLetteredOn: utc(r.DeadLetteredOn),
		DeadLetterReason: r.DeadLetterReason, LastError: r.LastError, CorrelationID: r.CorrelationID,
	}
	if r.State != lease.Succeeded && r.State != lease.DeadLettered {
		v.NextAttemptOn = utc(&r.NextAttemptOn)
	}
	return v
}

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC()
	return &u
}

func originOf(o identity.Origin) OriginView {
	optional := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	return OriginView{User: optional(o.UserID), Roles: o.Roles, Tenant: optional(o.Tenant), Trace: optional(o.TraceParent)}
}

func (c *Console) getCommands(ctx context.Context, in listInput) (httpx.Response[httpx.Page[CommandView]], error) {
	return merged(ctx, c, in, func(r lease.Row) uuid.UUID { return r.ID }, viewOf, internalcommand.Rows.List)
}

type byID struct {
	ID uuid.UUID `path:"id"`
}

func (c *Console) getCommand(ctx context.Context, in byID) (httpx.Response[CommandDetail], error) {
	for _, r := range c.databases {
		row, found, err := internalcommand.Rows.Get(ctx, r, in.ID)
		if err != nil {
			return httpx.Response[CommandDetail]{}, err
		}
		if !found {
			continue
		}
		stored, found, err := internalcommand.Read(ctx, r, in.ID)
		if err != nil {
			return httpx.Response[CommandDetail]{}, err
		}
		if !found {
			break // it has been purged since
		}
		attempts, err := lease.Attempts(ctx, r, in.ID)
		return httpx.OK(CommandDetail{
			CommandView: viewOf(row), AttemptLog: attempts, Payload: redact(stored.Payload), OriginView: originOf(stored.Origin),
		}), err
	}
	return httpx.Response[CommandDetail]{}, fault.New(fault.NotFound, "ops.command_not_found", "there is no such command")
}
