package engagement

import (
	"context"
	"math"

	"example.com/plenary/platform/later/channel"
	"example.com/plenary/platform/live"
	"example.com/plenary/platform/postgres"
)

// Who may see which part of a room.
const (
	attendees live.Audience = 1 << iota
	moderators
)

// What Changed is told as a room's version. The version of a room cannot be known before the commit, because others
// commit meanwhile; a number that is too low would pass for one that has been shown. So it is told that what it has is
// old, whatever that is. What must not wait or be dropped is newer still, and takes the place of what may.
const (
	versionSoon = math.MaxInt64 - 1
	versionNow  = math.MaxInt64
)

// changedSoon has the room shown once tx has committed: an update among many, of which the last is what counts.
func (m *Module) changedSoon(tx *postgres.Tx, room Room) { m.tell(tx, room, versionSoon, false) }

// changedNow is changedSoon for what is to be seen at once, and must not be dropped for an older tally.
func (m *Module) changedNow(tx *postgres.Tx, room Room) { m.tell(tx, room, versionNow, true) }

func (m *Module) tell(tx channel.Tx, room Room, version int64, urgent bool) {
	if m.changed != nil {
		m.changed(tx, live.Change{Room: room.Code, Version: version, Urgent: urgent})
	}
}

// LoadRoom reads a room, by code, as a live.Hub shows it. NotFound ("engagement.room_not_found").
func (m *Module) LoadRoom(ctx context.Context, code string) (live.State, error) {
	s, err := m.rooms.read(ctx, code)
	if err != nil {
		return live.State{}, err
	}
	return live.State{Version: s.version(), Parts: s.parts()}, nil
}

// EnterRoom returns how the one who asks watches a room live: for a route to hand to a live.Hub. It fails as GetRoom does.
func (m *Module) EnterRoom(ctx context.Context, code string) (live.Join, error) {
	room, err := roomByCode(ctx, m.source, code)
	if err != nil {
		return live.Join{}, err
	}
	v, err := m.viewerIn(ctx, m.source, room)
	if err != nil {
		return live.Join{}, err
	}
	join := live.Join{Room: room.Code, Audience: attendees}
	if v.moderator {
		join.Audience |= moderators
	}
	join.Snapshot = func(ctx context.Context) (live.State, error) {
		s, err := m.rooms.read(ctx, room.Code)
		if err != nil {
			return live.State{}, err
		}
		view, err := m.viewRoom(ctx, s, v)
		return live.State{Version: s.version(), Parts: s.parts(), Snapshot: struct {
			Room RoomView `json:"room"`
		}{view}}, err
	}
	return join, nil
}

// parts are the pieces that have events. Drafts have none before they are opened, and questions none before a moderator
// has looked at them: until then they are a number.
func (s roomState) parts() []live.Part {
	var parts []live.Part
	for _, p := range s.polls {
		if p.Status != PollDraft {
			parts = append(parts, pollPart(p))
		}
	}
	for _, q := range s.questions {
		if q.Status != QuestionPending {
			parts = append(parts, questionPart(q))
		}
	}
	count, moderated := s.pending()
	return append(parts, live.Part{
		Key: "pending", Version: moderated, Entered: "question.pending-count", Updated: "question.pending-count", Audience: moderators,
		Body: struct {
			PendingCount int `json:"pendingCount"`
		}{count},
	})
}

func pollPart(p Poll) live.Part {
	part := live.Part{
		Key: "poll:" + p.ID.String(), Version: p.Version + p.Changes, Stage: string(p.Status), Audience: attendees | moderators,
		Entered: "poll.opened", Updated: "poll.results-changed", Body: BallotAnswer{Poll: viewPoll(p, nil)},
	}
	if p.Status == PollClosed {
		part.Entered = "poll.closed"
	}
	return part
}

func questionPart(q Question) live.Part {
	part := live.Part{
		Key: "question:" + q.ID.String(), Version: q.Version + q.Changes, Stage: string(q.Status), Audience: attendees | moderators,
		Entered: "question." + string(q.Status), Updated: "question.upvotes-changed",
		Body: struct {
			Question QuestionView `json:"question"`
		}{viewQuestion(SeenQuestion{Question: q})},
	}
	if !q.Public { // dismissed without having been shown
		part.Audience = moderators
	}
	return part
}
