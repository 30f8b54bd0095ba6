package engagement

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/httpx"
)

// GetRoom asks for all of a room that the one who asks may see.
type GetRoom struct{ Code string }

// Policy leaves the decision to the handler: who has joined may see it.
func (GetRoom) Policy() command.Policy { return command.Policy{Name: "engagement.get_room"} }

// RoomView is a room as the API shows it to one voter.
type RoomView struct {
	Code         string         `json:"code"`
	SessionID    uuid.UUID      `json:"sessionId"`
	Version      int64          `json:"version" doc:"Rises with every change, votes included"`
	Polls        []PollView     `json:"polls" doc:"In the order of their creation; drafts for hosts only"`
	Questions    []QuestionView `json:"questions" doc:"By upvotes, then by time; those that are not approved for moderators only"`
	PendingCount *int           `json:"pendingCount,omitempty" doc:"Questions that wait for a moderator; for moderators only"`
}

func (m *Module) getRoom(ctx context.Context, q GetRoom) (RoomView, error) {
	room, err := roomByCode(ctx, m.source, q.Code)
	if err != nil {
		return RoomView{}, err
	}
	v, err := m.viewerIn(ctx, m.source, room)
	if err != nil {
		return RoomView{}, err
	}
	s, err := m.rooms.read(ctx, room.Code)
	if err != nil {
		return RoomView{}, err
	}
	return m.viewRoom(ctx, s, v)
}

// viewRoom shows a room to one viewer. What is the viewer's own is read after the state: it is that state's, or newer.
func (m *Module) viewRoom(ctx context.Context, s roomState, v viewer) (RoomView, error) {
	ballots, err := m.ballotsIn(ctx, s.Room, v.voter)
	if err != nil {
		return RoomView{}, err
	}
	upvotes, err := m.upvotesIn(ctx, s.Room, v.voter)
	if err != nil {
		return RoomView{}, err
	}
	view := RoomView{Code: s.Code, SessionID: s.SessionID, Version: s.version()}
	for _, p := range s.polls {
		if p.Status != PollDraft || v.host {
			view.Polls = append(view.Polls, viewPoll(p, ballots[p.ID]))
		}
	}
	for _, q := range s.questions {
		if q.visibleTo(v) {
			view.Questions = append(view.Questions, viewQuestion(SeenQuestion{Question: q, Mine: q.Voter == v.voter, Upvoted: upvotes[q.ID]}))
		}
	}
	if v.moderator {
		count, _ := s.pending()
		view.PendingCount = &count
	}
	return view, nil
}

func (m *Module) ballotsIn(ctx context.Context, room Room, voter uuid.UUID) (map[uuid.UUID][]uuid.UUID, error) {
	rows, err := m.source.Query(ctx, `
		SELECT b.poll_id, b.option_id FROM engagement.polls p JOIN engagement.ballots b ON b.poll_id = p.id
		WHERE p.room_id = $1 AND b.voter = $2 AND b.stands ORDER BY b.poll_id, b.option_id`, room.ID, voter)
	if err != nil {
		return nil, fmt.Errorf("read ballots: %w", err)
	}
	ballots := map[uuid.UUID][]uuid.UUID{}
	var poll, option uuid.UUID
	_, err = pgx.ForEachRow(rows, []any{&poll, &option}, func() error {
		ballots[poll] = append(ballots[poll], option)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read ballots: %w", err)
	}
	return ballots, nil
}

func (m *Module) upvotesIn(ctx context.Context, room Room, voter uuid.UUID) (map[uuid.UUID]bool, error) {
	rows, err := m.source.Query(ctx, `
		SELECT u.question_id FROM engagement.questions q JOIN engagement.upvotes u ON u.question_id = q.id
		WHERE q.room_id = $1 AND u.voter = $2 AND u.stands`, room.ID, voter)
	if err != nil {
		return nil, fmt.Errorf("read upvotes: %w", err)
	}
	upvotes := map[uuid.UUID]bool{}
	var question uuid.UUID
	_, err = pgx.ForEachRow(rows, []any{&question}, func() error { upvotes[question] = true; return nil })
	if err != nil {
		return nil, fmt.Errorf("read upvotes: %w", err)
	}
	return upvotes, nil
}

func (m *Module) getRoomRoute(ctx context.Context, in struct {
	Code string `path:"code"`
},
) (httpx.Response[RoomView], error) {
	view, err := m.GetRoom(ctx, GetRoom{Code: in.Code})
	if err != nil {
		return httpx.Response[RoomView]{}, err
	}
	return httpx.OK(view).WithVersion(view.Version), nil
}
