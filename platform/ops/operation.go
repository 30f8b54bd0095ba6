package ops

import (
	"context"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/later/internalcommand"
	"example.com/plenary/platform/later/lease"
)

// ProgressFunc tells how far a deferred command has come, by its id; ok is false if there is nothing to tell.
type ProgressFunc func(ctx context.Context, id uuid.UUID) (done, total int, ok bool, err error)

// Progress has the operations of a command show how far they have come. It is called while the program is wired.
func (c *Console) Progress(command string, tell ProgressFunc) { c.progress[command] = tell }

// OperationView is a deferred command as the one who asked for it sees it.
type OperationView struct {
	ID          uuid.UUID          `json:"id"`
	Name        string             `json:"name"`
	State       string             `json:"state" enum:"pending,running,succeeded,failed,dead_lettered" doc:"failed is between two attempts, and not the end"`
	Attempts    int                `json:"attempts"`
	Progress    *OperationProgress `json:"progress" doc:"Null if there is nothing to count"`
	ScheduledOn time.Time          `json:"scheduledOn"`
	FinishedOn  *time.Time         `json:"finishedOn"`
}

// OperationProgress is how much of the work is done.
type OperationProgress struct {
	Done  int `json:"done"`
	Total int `json:"total"`
}

// operationStates are the states of a row in the words of one who waits for it.
var operationStates = map[lease.State]string{
	lease.Scheduled: "pending", lease.Due: "pending", lease.Running: "running", lease.Retrying: "failed",
	lease.Succeeded: "succeeded", lease.DeadLettered: "dead_lettered",
}

var errNoOperation = fault.New(fault.NotFound, "operation_not_found", "there is no such operation")

// getOperation shows a deferred command to whoever scheduled it, and to those who may see all. To anybody else it
// does not exist.
func (c *Console) getOperation(ctx context.Context, in byID) (httpx.Response[OperationView], error) {
	view, err := c.Operation(ctx, in.ID)
	return httpx.OK(view), err
}

// Operation returns what getOperation shows. NotFound ("operation_not_found").
func (c *Console) Operation(ctx context.Context, id uuid.UUID) (OperationView, error) {
	for _, db := range c.databases {
		row, found, err := internalcommand.Rows.Get(ctx, db, id)
		if err != nil {
			return OperationView{}, err
		}
		if !found {
			continue
		}
		stored, found, err := internalcommand.Read(ctx, db, id)
		if err != nil {
			return OperationView{}, err
		}
		p := identity.PrincipalOf(ctx)
		if mine := p.ID != "" && stored.Origin.UserID == p.ID; !found || !mine && !c.permissions.Allows(p, PermissionRead) {
			return OperationView{}, errNoOperation
		}
		return c.operationOf(ctx, row)
	}
	return OperationView{}, errNoOperation
}

func (c *Console) operationOf(ctx context.Context, row lease.Row) (OperationView, error) {
	view := OperationView{
		ID: row.ID, Name: row.Name, State: operationStates[row.State], Attempts: row.Attempts, ScheduledOn: row.ScheduledOn.UTC(),
		FinishedOn: utc(row.ProcessedOn),
	}
	if row.DeadLetteredOn != nil {
		view.FinishedOn = utc(row.DeadLetteredOn)
	}
	tell := c.progress[row.Name]
	if tell == nil {
		return view, nil
	}
	done, total, ok, err := tell(ctx, row.ID)
	if ok {
		view.Progress = &OperationProgress{Done: done, Total: total}
	}
	return view, err
}
