package ops

import (
	"context"
	"log/slog"
	"time"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/later/internalcommand"
	"example.com/plenary/platform/later/outbox"
	"example.com/plenary/platform/postgres"
)

const (
	oldestAge  = 100 * 365 * 24 * time.Hour
	purgeLimit = 25 * time.Second // for one request, which has 30; what is left then is for the next one
)

// Purge says which rows are to go: those that were done at least Age ago, of one module or, with Source "", of
// all of them.
type Purge struct {
	Age    time.Duration
	Source string
	Reason string
}

// Validate wants an age.
func (p Purge) Validate() error {
	var v fault.Violations
	v.Check(p.Age >= 0 && p.Age <= oldestAge, "olderThanSeconds", "out_of_range", "must be 0 to 100 years")
	checkLength(&v, "source", p.Source, 100)
	checkLength(&v, "reason", p.Reason, maxReason)
	return v.Err()
}

// Purged is how many rows have gone. If there was too much to remove in one request, Complete is false, and the
// same request goes on with it.
type Purged struct {
	Purged   int  `json:"purged"`
	Complete bool `json:"complete" doc:"false: there is more to remove; ask again"`
}

// PurgeCommands removes internal commands that were done long ago. Dead letters are never removed.
type PurgeCommands struct{ Purge }

// Policy is for operators.
func (PurgeCommands) Policy() command.Policy {
	return command.Policy{Name: "ops.purge_internal_commands", Permission: PermissionAct}
}

// PurgeEvents removes events whose deliveries were all made long ago.
type PurgeEvents struct{ Purge }

// Policy is for operators.
func (PurgeEvents) Policy() command.Policy {
	return command.Policy{Name: "ops.purge_outbox", Permission: PermissionAct}
}

func (c *Console) purgeCommands(ctx context.Context, cmd PurgeCommands) (Purged, error) {
	return c.purge(ctx, cmd.Policy().Name, internalcommand.Table, cmd.Purge, purgeCommands)
}

func (c *Console) purgeEvents(ctx context.Context, cmd PurgeEvents) (Purged, error) {
	return c.purge(ctx, cmd.Policy().Name, "platform.events", cmd.Purge, outbox.Purge)
}

// purge writes down that it begins before anything has gone, and how much that was in the end.
func (c *Console) purge(ctx context.Context, action, table string, p Purge,
	remove func(ctx context.Context, place *postgres.Source, source string, age time.Duration) (int, error),
) (Purged, error) {
	noted := func(ctx context.Context, tx *postgres.Tx, stage string, affected int) error {
		return c.note(ctx, tx, table, "*", act{Action: action, Reason: p.Reason, Affected: affected}, slog.Duration("age", p.Age),
			slog.String("source", p.Source), slog.String("stage", stage))
	}
	begin := func(ctx context.Context, tx *postgres.Tx) (string, error) { return "", noted(ctx, tx, "begins", 0) } // one goes on wherever another has ended
	if err := command.FirstTx(ctx, c.databases[0], begin); err != nil {
		return Purged{}, err
	}
	bounded, cancel := context.WithTimeout(ctx, c.purgeLimit)
	defer cancel()
	result := Purged{Complete: true}
	for _, db := range c.databases {
		n, err := remove(bounded, db, p.Source, p.Age)
		result.Purged += n
		if err != nil && bounded.Err() != nil && ctx.Err() == nil {
			result.Complete = false
			break
		}
		if err != nil {
			return Purged{}, err
		}
	}
	stage := "complete"
	if !result.Complete {
		stage = "more is left"
	}
	return command.LastTx(ctx, c.databases[0], func(ctx context.Context, tx *postgres.Tx) (Purged, error) {
		return result, noted(ctx, tx, stage, result.Purged)
	})
}

type purgeInput struct {
	Body struct {
		OlderThanSeconds int64  `json:"olderThanSeconds" minimum:"0" maximum:"3153600000"`
		Source           string `json:"source,omitempty" maxLength:"100"`
		Reason           string `json:"reason,omitempty" maxLength:"500"`
	}
}

// purge keeps an age that a Duration cannot hold out of range instead of wrapping it around.
func (in purgeInput) purge() Purge {
	seconds := min(max(in.Body.OlderThanSeconds, -1), int64(oldestAge/time.Second)+1)
	return Purge{Age: time.Duration(seconds) * time.Second, Source: in.Body.Source, Reason: in.Body.Reason}
}

func purged(p Purged) httpx.Response[Purged] { return httpx.OK(p) }

func (c *Console) postPurgeCommands(ctx context.Context, in purgeInput) (httpx.Response[Purged], error) {
	return httpx.Act(ctx, c.PurgeCommands, PurgeCommands{in.purge()}, purged)
}

func (c *Console) postPurgeEvents(ctx context.Context, in purgeInput) (httpx.Response[Purged], error) {
	return httpx.Act(ctx, c.PurgeEvents, PurgeEvents{in.purge()}, purged)
}
