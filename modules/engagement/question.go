package engagement

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/postgres"
)

// QuestionStatus is where a question stands:
//
//	pending  → approved → answered
//	pending, approved, answered → dismissed
//
// Nothing leads back: a question that was dismissed would else come back as one more than its voter may have open.
type QuestionStatus string

// The statuses, as they are stored and shown. Pending and approved questions are open.
const (
	QuestionPending   QuestionStatus = "pending"
	QuestionApproved  QuestionStatus = "approved"
	QuestionAnswered  QuestionStatus = "answered"
	QuestionDismissed QuestionStatus = "dismissed"
)

// Question is what somebody in the audience asks. Its methods are the only way to change it; a change that its status
// forbids is a Conflict, a repeated one too.
type Question struct {
	ID      uuid.UUID
	Room    Room
	Voter   uuid.UUID // never shown
	Text    string
	Status  QuestionStatus
	Public  bool // was approved once: its text is no secret
	Upvotes int
	Changes int64 // rises with every change of an upvote
	Version int64 // rises with the question, not with its upvotes

	CreatedOn time.Time
}

// Approve shows the question to all.
func (q *Question) Approve() error {
	if q.Status != QuestionPending {
		return errQuestionState
	}
	q.Status, q.Public = QuestionApproved, true
	return nil
}

// Answer says that it has been answered.
func (q *Question) Answer() error {
	if q.Status != QuestionApproved {
		return errQuestionState
	}
	q.Status = QuestionAnswered
	return nil
}

// Dismiss takes it away from all but the moderators.
func (q *Question) Dismiss() error {
	if q.Status == QuestionDismissed {
		return errQuestionState
	}
	q.Status = QuestionDismissed
	return nil
}

// visibleTo reports whether v may read the question. Its text is for moderators alone until one has approved it, even
// if it is the voter's own.
func (q *Question) visibleTo(v viewer) bool {
	return v.moderator || q.Status == QuestionApproved || q.Status == QuestionAnswered
}

var (
	errQuestionState = fault.New(fault.Conflict, "engagement.question_state", "the question's state does not allow that, or it is there already")
	errNoQuestion    = fault.New(fault.NotFound, "engagement.question_not_found", "there is no such question")
)

const questionColumns = `q.id, q.voter, q.text, q.status, q.approved_on IS NOT NULL, q.version, q.created_on,
	u.upvotes, u.changes`

// questionTables counts upvotes, which are not stored as a number either.
const questionTables = `engagement.questions q JOIN engagement.rooms r ON r.id = q.room_id CROSS JOIN LATERAL (
	SELECT count(*) FILTER (WHERE stands) AS upvotes, coalesce(sum(changes), 0) AS changes FROM engagement.upvotes WHERE question_id = q.id) u`

func scanQuestion(row pgx.CollectableRow) (Question, error) {
	var q Question
	err := row.Scan(&q.ID, &q.Voter, &q.Text, &q.Status, &q.Public, &q.Version, &q.CreatedOn, &q.Upvotes, &q.Changes,
		&q.Room.ID, &q.Room.SessionID, &q.Room.Code)
	return q, err
}

// loadQuestion reads a question. NotFound ("engagement.question_not_found").
func loadQuestion(ctx context.Context, r postgres.Reader, id uuid.UUID) (Question, error) {
	return readQuestion(ctx, r, id, "")
}

// lockQuestion is loadQuestion that keeps others from changing the question until tx ends.
func lockQuestion(ctx context.Context, tx *postgres.Tx, id uuid.UUID) (Question, error) {
	return readQuestion(ctx, tx, id, " FOR NO KEY UPDATE OF q")
}

func readQuestion(ctx context.Context, r postgres.Reader, id uuid.UUID, lock string) (Question, error) {
	return postgres.One(ctx, r, "read question", scanQuestion, errNoQuestion,
		`SELECT `+questionColumns+`, `+roomColumns+` FROM `+questionTables+` WHERE q.id = $1`+lock, id)
}

// QuestionView is a question as the API shows it.
type QuestionView struct {
	ID        uuid.UUID      `json:"id"`
	Text      string         `json:"text"`
	Status    QuestionStatus `json:"status" enum:"pending,approved,answered,dismissed"`
	Upvotes   int            `json:"upvotes"`
	MyUpvote  bool           `json:"myUpvote"`
	Mine      bool           `json:"mine" doc:"Whether the one who asks has asked it. Who else has is not shown"`
	CreatedOn time.Time      `json:"createdOn"`
}

// SeenQuestion is a question with what the voter who looks at it has to do with it.
type SeenQuestion struct {
	Question
	Mine, Upvoted bool
}

func viewQuestion(q SeenQuestion) QuestionView {
	return QuestionView{
		ID: q.ID, Text: q.Text, Status: q.Status, Upvotes: q.Upvotes, MyUpvote: q.Upvoted, Mine: q.Mine, CreatedOn: q.CreatedOn,
	}
}

func showQuestion(q SeenQuestion) httpx.Response[QuestionView] { return httpx.OK(viewQuestion(q)) }
