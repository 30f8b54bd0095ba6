package main

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"example.com/plenary/modules/engagement"
	"example.com/plenary/modules/sales"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/mail"
	"example.com/plenary/platform/postgres"
)

// slowness is how long a slow handler takes: longer than anybody likes to wait, shorter than its time limit.
const slowness = 5 * time.Second

// demoFaults are what may go wrong on purpose, in this process and until it ends.
type demoFaults struct {
	slow  atomic.Bool
	crash atomic.Bool
	die   func() // ends the process as a kill -9 does
	reset sync.Mutex
}

// demoMailer sends mail as the switches say.
type demoMailer struct {
	sales.Mailer
	faults *demoFaults
	logger *slog.Logger
}

// Send may take its time, and may be the last thing that the process does: after the effect, before its row is stamped.
func (m demoMailer) Send(ctx context.Context, message mail.Message) error {
	if m.faults.slow.Load() {
		select {
		case <-time.After(slowness):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if err := m.Mailer.Send(ctx, message); err != nil {
		return err
	}
	if m.faults.crash.CompareAndSwap(true, false) {
		m.logger.ErrorContext(ctx, "crash-after-effect: the mail is out, and the process ends before it can say so; start it again")
		m.faults.die()
	}
	return nil
}

// dieNow leaves no time for anything.
func dieNow() { os.Exit(137) }

// demoFault is a switch in the address.
type demoFault struct {
	Fault string `path:"fault" maxLength:"100"`
}

func (a *App) setFault(name string, on bool) error {
	switch name {
	case "mail-down":
		if a.inbox == nil {
			return fault.New(fault.Conflict, "demo.no_inbox", "mail goes to a server that is not ours to stop")
		}
		a.inbox.SetDown(on)
	case "slow-handler":
		a.faults.slow.Store(on)
	case "crash-after-effect":
		a.faults.crash.Store(on)
	default:
		return fault.New(fault.NotFound, "demo.fault_not_found", "there is no such switch")
	}
	a.logger.Warn("demo switch", slog.String("fault", name), slog.Bool("on", on))
	return nil
}

func (a *App) postFault(_ context.Context, in demoFault) (httpx.Response[httpx.Empty], error) {
	return httpx.NoContent(), a.setFault(in.Fault, true)
}

func (a *App) deleteFault(_ context.Context, in demoFault) (httpx.Response[httpx.Empty], error) {
	return httpx.NoContent(), a.setFault(in.Fault, false)
}

// Voted is how many people of a made-up audience have voted.
type Voted struct {
	Voted int `json:"voted"`
}

func (a *App) postAudience(ctx context.Context, in struct {
	Body struct {
		Room  string `json:"room" maxLength:"20"`
		Votes int    `json:"votes" minimum:"1" maximum:"10000"`
	}
},
) (httpx.Response[Voted], error) {
	n, err := a.engagement.DemoAudience(ctx, in.Body.Room, min(in.Body.Votes, engagement.MaxAudience))
	return httpx.OK(Voted{n}), err
}

// demoTables are emptied by a reset, by source, those that refer to others first. Users, sessions and the audit trail stay.
var demoTables = []struct {
	source string
	tables []string
}{
	{"sales", []string{"payments", "order_lines", "orders", "products"}},
	{"conference", []string{"scores", "scoring_calls", "scoring_passes", "registrations", "sessions", "events"}},
	{"engagement", []string{"upvotes", "questions", "ballots", "poll_options", "polls", "members", "rooms"}},
	{"platform", []string{"attempts", "deliveries", "events", "inbox", "internal_commands", "job_runs", "idempotency_keys"}},
}

// postReset brings the demo back to its first day, with all switches off.
func (a *App) postReset(ctx context.Context, _ struct{}) (httpx.Response[httpx.Empty], error) {
	if !a.faults.reset.TryLock() {
		return httpx.Response[httpx.Empty]{}, fault.New(fault.Conflict, "demo.resetting", "somebody is at it already")
	}
	defer a.faults.reset.Unlock()
	for _, name := range []string{"slow-handler", "crash-after-effect"} {
		if err := a.setFault(name, false); err != nil {
			return httpx.Response[httpx.Empty]{}, err
		}
	}
	if a.inbox != nil {
		a.inbox.SetDown(false)
		if err := a.inbox.Store().Clear(ctx); err != nil {
			return httpx.Response[httpx.Empty]{}, err
		}
	}
	for _, module := range demoTables {
		places := []*postgres.Source{a.databases.sources[module.source]}
		if module.source == "platform" {
			places = a.databases.places()
		}
		for _, place := range places {
			if err := place.InTx(ctx, emptied(module.source, module.tables)); err != nil {
				return httpx.Response[httpx.Empty]{}, err
			}
		}
	}
	if err := a.seed(ctx); err != nil {
		return httpx.Response[httpx.Empty]{}, err
	}
	a.bus.Send(topicEvict, "")
	return httpx.NoContent(), nil
}

func emptied(schema string, tables []string) func(context.Context, *postgres.Tx) error {
	return func(ctx context.Context, tx *postgres.Tx) error {
		for _, table := range tables {
			_, err := tx.Exec(ctx, `DELETE FROM `+schema+`.`+table)
			if postgres.Code(err) == postgres.ForeignKeyViolation {
				return fault.Wrap(err, fault.Unavailable, "demo.busy", "work goes on in the demo; try again in a moment")
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// switchRoutes declares what goes wrong, or is made up, on purpose.
func (a *App) switchRoutes() {
	tag := []string{"Demo"}
	const again = "a switch that is on is on"
	httpx.Handle(a.api, httpx.Route{
		Method: "POST", Path: "/demo/faults/{fault}", ID: "setDemoFault", Tags: tag, NonIdempotent: again, Errors: []int{404, 409},
		Summary: "Have something fail: mail-down, slow-handler, crash-after-effect", Status: http.StatusNoContent,
	}, a.postFault)
	httpx.Handle(a.api, httpx.Route{
		Method: "DELETE", Path: "/demo/faults/{fault}", ID: "clearDemoFault", Tags: tag, Summary: "Have it work again", Errors: []int{404, 409},
	}, a.deleteFault)
	httpx.Handle(a.api, httpx.Route{
		Method: "POST", Path: "/demo/audience", ID: "makeDemoAudience", Tags: tag, NonIdempotent: "each time it is another audience",
		Summary: "Have made-up people vote in the open polls of a room", Errors: []int{404, 409}, Status: http.StatusOK,
	}, a.postAudience)
	httpx.Handle(a.api, httpx.Route{
		Method: "POST", Path: "/demo/reset", ID: "resetDemo", Tags: tag, NonIdempotent: "the first day comes once", Status: http.StatusNoContent,
		Summary: "Bring the demo back to its first day",
	}, a.postReset)
}
