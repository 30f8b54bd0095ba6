package engagement

import (
	"context"

	"github.com/google/uuid"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/later/internalcommand"
	"example.com/plenary/platform/postgres"
)

// OpenPoll lets the room vote. From then on the poll's time runs, if it has one.
type OpenPoll struct {
	ID      uuid.UUID
	IfMatch httpx.IfMatch // the version that the host has seen
}

// Policy lets hosts open polls.
func (OpenPoll) Policy() command.Policy {
	return command.Policy{Name: "engagement.open_poll", Permission: PermissionHost}
}

// openPoll schedules the closing in the transaction of the opening: no browser needs to be there for it.
func (m *Module) openPoll(ctx context.Context, tx *postgres.Tx, cmd OpenPoll) (SeenPoll, error) {
	p, err := lockPoll(ctx, tx, cmd.ID)
	if err != nil {
		return SeenPoll{}, err
	}
	if err := cmd.IfMatch.Check(p.Version); err != nil {
		return SeenPoll{}, err
	}
	if err := p.Open(); err != nil {
		return SeenPoll{}, err
	}
	if err := savePoll(ctx, tx, &p); err != nil {
		return SeenPoll{}, err
	}
	if p.ClosesOn != nil {
		if _, err := m.commands.Schedule(ctx, tx, ClosePoll{PollID: p.ID}, internalcommand.At(*p.ClosesOn)); err != nil {
			return SeenPoll{}, err
		}
	}
	m.changedNow(tx, p.Room)
	return SeenPoll{Poll: p}, auditMoved(ctx, tx, p, PollDraft)
}

type pollVersionInput struct {
	ID      uuid.UUID     `path:"id"`
	IfMatch httpx.IfMatch `header:"If-Match" required:"true"`
}

func (m *Module) postOpening(ctx context.Context, in pollVersionInput) (httpx.Response[PollView], error) {
	return httpx.Act(ctx, m.OpenPoll, OpenPoll(in), showPoll)
}
