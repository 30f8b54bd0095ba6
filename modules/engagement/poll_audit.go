package engagement

import (
	"context"

	"github.com/google/uuid"

	"example.com/plenary/platform/audit"
	"example.com/plenary/platform/postgres"
)

// What the trail calls what hosts and moderators change. Votes, upvotes and who asked are in no trail.
const (
	auditPoll     = "engagement.poll"
	auditQuestion = "engagement.question"
)

type auditedPoll struct {
	RoomID   uuid.UUID  `json:"roomId"`
	Question string     `json:"question"`
	Status   PollStatus `json:"status"`
}

type auditedQuestion struct {
	Status QuestionStatus `json:"status"`
}

func auditedOf(p Poll) auditedPoll {
	return auditedPoll{RoomID: p.Room.ID, Question: p.Question, Status: p.Status}
}

func auditAdded(ctx context.Context, tx *postgres.Tx, p Poll) error {
	return audit.Added(ctx, tx, auditPoll, p.ID.String(), auditedOf(p))
}

// auditMoved records that a poll has left a status.
func auditMoved(ctx context.Context, tx *postgres.Tx, p Poll, from PollStatus) error {
	before := auditedOf(p)
	before.Status = from
	return audit.Modified(ctx, tx, auditPoll, p.ID.String(), before, auditedOf(p))
}
