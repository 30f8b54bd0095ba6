package engagement

import (
	"context"

	"github.com/google/uuid"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/httpx"
)

// GetPoll asks for one poll, as the one who asks may see it.
type GetPoll struct{ ID uuid.UUID }

// Policy leaves the decision to the handler: who has joined may see it.
func (GetPoll) Policy() command.Policy { return command.Policy{Name: "engagement.get_poll"} }

// getPoll hides drafts from the audience: to it they do not exist yet.
func (m *Module) getPoll(ctx context.Context, q GetPoll) (SeenPoll, error) {
	f, err := m.factsOf(ctx, m.source, q.ID)
	if err != nil {
		return SeenPoll{}, err
	}
	v, err := m.viewerIn(ctx, m.source, f.room)
	if err != nil {
		return SeenPoll{}, err
	}
	p, err := m.polls.read(ctx, q.ID)
	if err != nil {
		return SeenPoll{}, err
	}
	if p.Status == PollDraft && !v.host {
		return SeenPoll{}, errNoPoll
	}
	mine, err := ballotOf(ctx, m.source, q.ID, v.voter)
	return SeenPoll{Poll: p, Mine: mine}, err
}

func (m *Module) getPollRoute(ctx context.Context, in struct {
	ID uuid.UUID `path:"id"`
},
) (httpx.Response[PollView], error) {
	p, err := m.GetPoll(ctx, GetPoll{ID: in.ID})
	if err != nil {
		return httpx.Response[PollView]{}, err
	}
	return showPoll(p), nil
}
