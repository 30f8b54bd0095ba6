package conference

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/metric"

	"example.com/plenary/modules/conference/scoring"
	"example.com/plenary/platform/command"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/later/internalcommand"
	"example.com/plenary/platform/later/lease"
	"example.com/plenary/platform/later/outbox"
	"example.com/plenary/platform/lock"
	"example.com/plenary/platform/postgres"
)

// PermissionSelect is to choose among the proposed sessions, and to have them scored.
const PermissionSelect identity.Permission = "conference:session-selection:manage"

// Attendees tells what a person is called. It is asked outside of transactions.
type Attendees interface {
	Contact(ctx context.Context, id uuid.UUID) (name, email string, err error)
}

// Deps is what Conference needs from outside.
type Deps struct {
	Source    *postgres.Source
	Pipeline  *command.Pipeline
	Commands  *internalcommand.Queue
	Events    *outbox.Box
	Locks     *lock.Locks // of Source's database
	Scorer    scoring.Scorer
	Attendees Attendees
	Logger    *slog.Logger
	Meter     metric.Meter
	// ScoresAtOnce bounds the calls to the model that one pass has under way.
	ScoresAtOnce int
}

// Module is Conference. Its exported functions are its doors: whoever calls them goes through the pipeline.
type Module struct {
	ProposeSession    command.ResultFunc[ProposeSession, Session]
	RequestScoring    command.ResultFunc[RequestScoring, uuid.UUID]
	ListEvents        command.ResultFunc[ListEvents, []Event]
	GetEvent          command.ResultFunc[GetEvent, Event]
	ListSessions      command.ResultFunc[ListSessions, []Session]
	GetSession        command.ResultFunc[GetSession, Session]
	ListScores        command.ResultFunc[ListScores, []ScoreView]
	ListRegistrations command.ResultFunc[ListRegistrations, []Registration]

	recordScore command.Func[RecordScore]

	source       *postgres.Source
	commands     *internalcommand.Queue
	events       *outbox.Box
	locks        *lock.Locks
	scorer       scoring.Scorer
	attendees    Attendees
	logger       *slog.Logger
	lostCalls    metric.Int64Counter
	scoresAtOnce int
}

// New wires the module: one line a use case, grouped by what starts it.
func New(d Deps) (*Module, error) {
	m := &Module{
		source: d.Source, commands: d.Commands, events: d.Events, locks: d.Locks, scorer: d.Scorer, attendees: d.Attendees,
		logger: d.Logger.With(slog.String("module", "conference")), scoresAtOnce: max(1, d.ScoresAtOnce),
	}
	var err error
	m.lostCalls, err = d.Meter.Int64Counter("conference.scoring.lost_calls",
		metric.WithDescription("calls to the model that were under way when a process died"))
	if err != nil {
		return nil, err
	}

	// Commands, started by people.
	m.ProposeSession = command.HandleResult(d.Pipeline, d.Source, m.proposeSession)
	m.RequestScoring = command.HandleResult(d.Pipeline, d.Source, m.requestScoring)

	// Queries.
	m.ListEvents = command.HandleQuery(d.Pipeline, d.Source, m.listEvents)
	m.GetEvent = command.HandleQuery(d.Pipeline, d.Source, m.getEvent)
	m.ListSessions = command.HandleQuery(d.Pipeline, d.Source, m.listSessions)
	m.GetSession = command.HandleQuery(d.Pipeline, d.Source, m.getSession)
	m.ListScores = command.HandleQuery(d.Pipeline, d.Source, m.listScores)
	m.ListRegistrations = command.HandleQuery(d.Pipeline, d.Source, m.listRegistrations)

	// Internal commands, started by the queue when their time has come.
	internalcommand.Register(d.Commands, command.HandleOutside(d.Pipeline, d.Source, m.scoreEventSessions), scoringRetry)
	m.recordScore = command.Handle(d.Pipeline, d.Source, m.storeScore)

	// Event handlers, started by what happened.
	outbox.Subscribe(d.Events, d.Source, "conference.on_order_paid", m.onOrderPaid)
	return m, nil
}

// scoringRetry waits for somebody else's system, who may be overloaded for an hour.
var scoringRetry = internalcommand.Retry(lease.Retry{MaxAttempts: 12, Base: 5 * time.Second, Max: 10 * time.Minute})

// Grant registers what the roles may do in Conference.
func Grant(p *identity.Permissions) { p.Grant("organizer", PermissionSelect) }

// Routes declares the module's part of the API.
func (m *Module) Routes(api *httpx.API) {
	const tag = "Conference"
	httpx.Handle(api, httpx.Route{
		Method: "GET", Path: "/conference/events", ID: "listEvents", Tags: []string{tag}, Summary: "The conferences",
	}, m.getEvents)
	httpx.Handle(api, httpx.Route{
		Method: "GET", Path: "/conference/events/{id}", ID: "getEvent", Tags: []string{tag}, Summary: "One conference", Errors: []int{404},
	}, m.getEventRoute)
	httpx.Handle(api, httpx.Route{
		Method: "GET", Path: "/conference/events/{id}/sessions", ID: "listSessions", Tags: []string{tag},
		Summary: "The sessions of a conference, newest first", Errors: []int{404},
	}, m.getSessions)
	httpx.Handle(api, httpx.Route{
		Method: "GET", Path: "/conference/sessions/{id}", ID: "getSession", Tags: []string{tag}, Summary: "One session", Errors: []int{404},
	}, m.getSessionRoute)
	httpx.Handle(api, httpx.Route{
		Method: "POST", Path: "/conference/events/{id}/sessions", ID: "proposeSession", Tags: []string{tag}, SignedIn: true,
		Summary: "Propose a session", Status: 201, Errors: []int{404},
	}, m.postSession)
	httpx.Handle(api, httpx.Route{
		Method: "POST", Path: "/conference/events/{id}/scoring", ID: "requestScoring", Tags: []string{tag}, Permission: PermissionSelect,
		Summary: "Have the proposed sessions scored", Status: 202, Errors: []int{404},
	}, m.postScoring)
	httpx.Handle(api, httpx.Route{
		Method: "GET", Path: "/conference/events/{id}/scores", ID: "listScores", Tags: []string{tag}, Permission: PermissionSelect,
		Summary: "How the sessions were scored, best first", Errors: []int{404},
	}, m.getScores)
	httpx.Handle(api, httpx.Route{
		Method: "GET", Path: "/conference/registrations/mine", ID: "listMyRegistrations", Tags: []string{tag}, SignedIn: true,
		Summary: "One's own registrations, newest first, one a ticket",
	}, m.getRegistrations)
}
