package engagement

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/later/channel"
	"example.com/plenary/platform/later/internalcommand"
	"example.com/plenary/platform/later/outbox"
	"example.com/plenary/platform/later/schedule"
	"example.com/plenary/platform/live"
	"example.com/plenary/platform/postgres"
)

// What Engagement lets people do.
const (
	PermissionHost     identity.Permission = "engagement:host"
	PermissionModerate identity.Permission = "engagement:moderate"
)

// Deps is what Engagement needs from outside.
type Deps struct {
	Source      *postgres.Source
	Pipeline    *command.Pipeline
	Commands    *internalcommand.Queue
	Events      *outbox.Box
	Jobs        *schedule.Schedule
	Permissions *identity.Permissions
	Logger      *slog.Logger
	// SigningKey makes the tokens of voters without an account: at least MinSigningKey bytes, the same in all replicas.
	// Empty: the one that lies in the database, which Start reads.
	SigningKey []byte
	// Changed is told, in its transaction, of every change that is to be seen: as live.Hub's method. nil: nobody watches.
	Changed func(tx channel.Tx, change live.Change)
	Now     func() time.Time // by which voters' tokens end; nil: time.Now
}

// Module is Engagement. Its exported functions are its doors: whoever calls them goes through the pipeline.
type Module struct {
	JoinRoom         command.ResultFunc[JoinRoom, Joined]
	CreatePoll       command.ResultFunc[CreatePoll, SeenPoll]
	OpenPoll         command.ResultFunc[OpenPoll, SeenPoll]
	EndPoll          command.ResultFunc[EndPoll, SeenPoll]
	CastBallot       command.ResultFunc[CastBallot, []uuid.UUID]
	WithdrawBallot   command.Func[WithdrawBallot]
	AskQuestion      command.ResultFunc[AskQuestion, SeenQuestion]
	ModerateQuestion command.ResultFunc[ModerateQuestion, SeenQuestion]
	UpvoteQuestion   command.ResultFunc[UpvoteQuestion, SeenQuestion]

	GetSessionRoom command.ResultFunc[GetSessionRoom, Room]
	GetRoom        command.ResultFunc[GetRoom, RoomView]
	GetPoll        command.ResultFunc[GetPoll, SeenPoll]
	GetResults     command.ResultFunc[GetResults, Poll]

	Recount command.Func[Recount]

	closeDoor   command.Func[ClosePoll]
	source      *postgres.Source
	commands    *internalcommand.Queue
	permissions *identity.Permissions
	logger      *slog.Logger
	changed     func(tx channel.Tx, change live.Change)
	tokens      *voterTokens
	limits      limits
	newCode     func() string
	facts       sync.Map // of pollFacts by the poll's id; one entry for each poll that this process has seen votes for
	polls       *sharedReads[uuid.UUID, Poll]
	rooms       *sharedReads[string, roomState]
}

// readTimeout bounds a read that several callers wait for.
const readTimeout = 5 * time.Second

// New wires the module: one line a use case, grouped by what starts it. It fails if the signing key is too short.
func New(d Deps) (*Module, error) {
	if n := len(d.SigningKey); n > 0 && n < MinSigningKey {
		return nil, fmt.Errorf("engagement: the signing key has less than %d bytes", MinSigningKey)
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	m := &Module{
		source: d.Source, commands: d.Commands, permissions: d.Permissions, changed: d.Changed,
		logger: d.Logger.With(slog.String("module", "engagement")), tokens: &voterTokens{d.SigningKey, d.Now},
		limits: newLimits(), newCode: newCode,
	}
	m.polls = newSharedReads(readTimeout, func(ctx context.Context, id uuid.UUID) (Poll, error) { return loadPoll(ctx, m.source, id) })
	m.rooms = newSharedReads(readTimeout, m.loadRoomState)

	// Commands, started by people.
	m.JoinRoom = command.HandleResult(d.Pipeline, d.Source, m.joinRoom)
	m.CreatePoll = command.HandleResult(d.Pipeline, d.Source, m.createPoll)
	m.OpenPoll = command.HandleResult(d.Pipeline, d.Source, m.openPoll)
	m.EndPoll = command.HandleResult(d.Pipeline, d.Source, m.endPoll)
	m.CastBallot = command.HandleResult(d.Pipeline, d.Source, m.castBallot)
	m.WithdrawBallot = command.Handle(d.Pipeline, d.Source, m.withdrawBallot)
	m.AskQuestion = command.HandleResult(d.Pipeline, d.Source, m.askQuestion)
	m.ModerateQuestion = command.HandleResult(d.Pipeline, d.Source, m.moderateQuestion)
	m.UpvoteQuestion = command.HandleResult(d.Pipeline, d.Source, m.upvoteQuestion)

	// Queries.
	m.GetSessionRoom = command.HandleQuery(d.Pipeline, d.Source, m.getSessionRoom)
	m.GetRoom = command.HandleQuery(d.Pipeline, d.Source, m.getRoom)
	m.GetPoll = command.HandleQuery(d.Pipeline, d.Source, m.getPoll)
	m.GetResults = command.HandleQuery(d.Pipeline, d.Source, m.getResults)

	// Internal commands, started by the queue when their time has come.
	m.closeDoor = command.Handle(d.Pipeline, d.Source, m.closePoll)
	internalcommand.Register(d.Commands, m.closeDoor)

	// Jobs, started by the clock.
	m.Recount = command.HandleOutside(d.Pipeline, d.Source, m.recount)
	internalcommand.Register(d.Commands, m.Recount, internalcommand.Retry(recountRetry))
	d.Jobs.Register("engagement.recount", "30 3 * * *", Recount{})

	// Event handlers, started by what happened.
	outbox.Subscribe(d.Events, d.Source, "engagement.on_session_proposed", m.onSessionProposed)
	return m, nil
}

// Start reads the signing key, if none was given. It comes before the first request; without it nobody joins without
// an account.
func (m *Module) Start(ctx context.Context) error {
	if len(m.tokens.key) > 0 {
		return nil
	}
	if err := m.source.QueryRow(ctx, `SELECT key FROM engagement.signing_key`).Scan(&m.tokens.key); err != nil {
		return fmt.Errorf("read the signing key: %w", err)
	}
	return nil
}

// Grant registers what the roles may do in Engagement.
func Grant(p *identity.Permissions) {
	p.Grant("organizer", PermissionHost, PermissionModerate)
}
