package ops

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/later/channel"
	"example.com/plenary/platform/later/internalcommand"
	"example.com/plenary/platform/later/lease"
	"example.com/plenary/platform/later/schedule"
	"example.com/plenary/platform/postgres"
)

// What operators may be allowed.
const (
	PermissionRead  identity.Permission = "ops:read"
	PermissionAct   identity.Permission = "ops:act"
	PermissionAdmin identity.Permission = "ops:admin"
)

// Grant registers what the roles may do here.
func Grant(p *identity.Permissions) {
	p.Grant("viewer", PermissionRead)
	p.Grant("operator", PermissionRead, PermissionAct)
	p.Grant("admin", PermissionRead, PermissionAct, PermissionAdmin)
}

// Deps is what the console needs.
type Deps struct {
	// Databases are all physical databases of the program, the default one first.
	Databases []*postgres.Database
	Pipeline  *command.Pipeline
	// Wake tells every replica that a database has something to look at.
	Wake func(database string)
	// Sources are the modules' places: they are in the summary even if nothing lies there. May be left out.
	Sources     map[string]*postgres.Source
	Logger      *slog.Logger          // notes what operators do; nil: nobody does
	Permissions *identity.Permissions // who may see operations that somebody else has asked for
	// Commands and Jobs get what the clock does for the platform itself.
	Commands *internalcommand.Queue
	Jobs     *schedule.Schedule
	Keep     Keep
}

// Console is the operators' part of the program. Its exported functions go through the pipeline, or only read.
type Console struct {
	RequeueCommands   command.ResultFunc[RequeueCommands, int]
	RequeueDeliveries command.ResultFunc[RequeueDeliveries, int]
	PurgeCommands     command.ResultFunc[PurgeCommands, Purged]
	PurgeEvents       command.ResultFunc[PurgeEvents, Purged]
	RunJob            command.ResultFunc[RunJob, schedule.Run]
	ChangeJob         command.ResultFunc[ChangeJob, schedule.Job]

	jobs        *schedule.Schedule
	keep        Keep
	permissions *identity.Permissions
	progress    map[string]ProgressFunc // by the command's name
	channels    []func() channel.Stats
	databases   []*postgres.Source // by their modules' connections: those of the engine are not for long lists
	sources     map[string]*postgres.Source
	wake        func(database string)
	logger      *slog.Logger

	purgeLimit time.Duration
}

// New returns a console, and registers its commands with the pipeline.
func New(d Deps) *Console {
	c := &Console{
		permissions: d.Permissions, progress: map[string]ProgressFunc{}, jobs: d.Jobs, keep: d.Keep.withDefaults(), sources: d.Sources, wake: d.Wake, logger: d.Logger, purgeLimit: purgeLimit,
	}
	for _, db := range d.Databases {
		c.databases = append(c.databases, db.Source("platform"))
	}
	if c.permissions == nil {
		c.permissions = &identity.Permissions{}
	}
	if c.logger == nil {
		c.logger = slog.New(slog.DiscardHandler)
	}
	c.RequeueCommands = command.HandleOutsideResult(d.Pipeline, c.databases[0], c.requeueCommands)
	c.RequeueDeliveries = command.HandleOutsideResult(d.Pipeline, c.databases[0], c.requeueDeliveries)
	c.PurgeCommands = command.HandleOutsideResult(d.Pipeline, c.databases[0], c.purgeCommands)
	c.PurgeEvents = command.HandleOutsideResult(d.Pipeline, c.databases[0], c.purgeEvents)
	c.RunJob = command.HandleOutsideResult(d.Pipeline, c.databases[0], c.runJob)
	c.ChangeJob = command.HandleOutsideResult(d.Pipeline, c.databases[0], c.changeJob)
	c.registerJobs(d)
	return c
}

// Routes declares the API.
func (c *Console) Routes(api *httpx.API) {
	const tag = "Operations"
	read := func(path, id, summary string, errors ...int) httpx.Route {
		return httpx.Route{Method: "GET", Path: "/ops/" + path, ID: id, Tags: []string{tag}, Summary: summary, Permission: PermissionRead, Errors: errors}
	}
	act := func(path, id, summary string, errors ...int) httpx.Route {
		return httpx.Route{Method: "POST", Path: "/ops/" + path, ID: id, Tags: []string{tag}, Summary: summary, Permission: PermissionAct, Errors: errors}
	}
	httpx.Handle(api, read("summary", "getOpsSummary", "How all deferred work stands, and who works on it"), c.getSummary)
	httpx.Handle(api, read("internal-commands", "listInternalCommands", "Deferred commands, newest first"), c.getCommands)
	httpx.Handle(api, read("internal-commands/{id}", "getInternalCommand", "One deferred command with its attempts", 404), c.getCommand)
	httpx.Handle(api, act("internal-commands/requeue", "requeueInternalCommands", "Give dead letters another life", 409), c.postRequeueCommands)
	httpx.Handle(api, act("internal-commands/purge", "purgeInternalCommands", "Remove commands that were done long ago"), c.postPurgeCommands)
	httpx.Handle(api, read("outbox", "listOutbox", "Events with a delivery per handler, newest first"), c.getEvents)
	httpx.Handle(api, read("outbox/{id}", "getOutboxEvent", "One event with its deliveries and their attempts", 404), c.getEvent)
	httpx.Handle(api, act("outbox/requeue", "requeueDeliveries", "Give dead deliveries another life", 409), c.postRequeueDeliveries)
	httpx.Handle(api, act("outbox/purge", "purgeOutbox", "Remove events that were delivered long ago"), c.postPurgeEvents)
	httpx.Handle(api, read("jobs", "listJobs", "What the clock starts, by name"), c.getJobs)
	httpx.Handle(api, read("jobs/{name}", "getJob", "One job", 404), c.getJob)
	httpx.Handle(api, read("jobs/{name}/runs", "listJobRuns", "The runs of a job, newest first", 404), c.getJobRuns)
	httpx.Handle(api, read("jobs/{name}/preview", "previewJob", "The next instants under another schedule", 404), c.getJobPreview)
	run := act("jobs/{name}/runs", "runJob", "Start a job out of turn", 404, 409)
	run.Status = 202
	httpx.Handle(api, run, c.postJobRun)
	httpx.Handle(api, read("audit", "listAudit", "Who changed what, newest first"), c.getAudit)
	httpx.Handle(api, read("flows/{correlationId}", "getFlow", "All that bears one correlation id, in the order in which it happened"), c.getFlow)
	httpx.Handle(api, httpx.Route{
		Method: "GET", Path: "/operations/{id}", ID: "getOperation", Tags: []string{tag}, SignedIn: true,
		Summary: "How far work has come that goes on after its request was answered", Errors: []int{404},
	}, c.getOperation)
	httpx.Handle(api, httpx.Route{
		Method: "PATCH", Path: "/ops/jobs/{name}", ID: "changeJob", Tags: []string{tag}, Summary: "Pause a job, or give it another schedule",
		Permission: PermissionAdmin, Errors: []int{404},
	}, c.patchJob)
}

// listInput is what both lists can be narrowed down by.
type listInput struct {
	httpx.Paging
	State         string `query:"state" enum:"scheduled,due,running,retrying,succeeded,dead_lettered"`
	Name          string `query:"name" maxLength:"200"`
	Source        string `query:"source" maxLength:"100"`
	CorrelationID string `query:"correlationId" maxLength:"64"`
}

func (in listInput) filter() lease.Filter {
	return lease.Filter{State: lease.State(in.State), Name: in.Name, Source: in.Source, CorrelationID: in.CorrelationID}
}

// merged answers one page of rows from all databases, by descending id.
func merged[S, V any](ctx context.Context, c *Console, in listInput, idOf func(S) uuid.UUID, show func(S) V,
	list func(ctx context.Context, r postgres.Reader, f lease.Filter, before uuid.UUID, limit int) ([]S, error),
) (httpx.Response[httpx.Page[V]], error) {
	page, err := httpx.ByID(ctx, in.Paging, func(ctx context.Context, limit int, before uuid.UUID) ([]S, error) {
		return gather(c, limit, idOf, func(db *postgres.Source) ([]S, error) { return list(ctx, db, in.filter(), before, limit) })
	}, idOf)
	views := make([]V, len(page.Body.Items))
	for i, s := range page.Body.Items {
		views[i] = show(s)
	}
	return httpx.OK(httpx.Page[V]{Items: views, NextCursor: page.Body.NextCursor}), err
}

// gather reads the same list from every database, and returns the first limit rows by descending id.
func gather[S any](c *Console, limit int, idOf func(S) uuid.UUID, read func(db *postgres.Source) ([]S, error)) ([]S, error) {
	var all []S
	for _, db := range c.databases {
		rows, err := read(db)
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	slices.SortFunc(all, func(a, b S) int {
		x, y := idOf(a), idOf(b)
		return bytes.Compare(y[:], x[:])
	})
	return all[:min(len(all), limit)], nil
}
