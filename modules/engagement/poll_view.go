package engagement

import (
	"time"

	"github.com/google/uuid"

	"example.com/plenary/platform/httpx"
)

// PollView is a poll as the API shows it.
type PollView struct {
	ID         uuid.UUID    `json:"id"`
	Question   string       `json:"question"`
	Status     PollStatus   `json:"status" enum:"draft,open,closed"`
	Multiple   bool         `json:"multiple"`
	Options    []OptionView `json:"options"`
	TotalVotes int          `json:"totalVotes" doc:"How many ballots there are; one that names several options is one"`
	MyBallot   *[]uuid.UUID `json:"myBallot" doc:"The options that the voter who asks has chosen; null without a ballot"`
	ClosesOn   *time.Time   `json:"closesOn" doc:"While the poll is open: when it closes by itself. Then: when it was closed"`
	Version    int64        `json:"version" doc:"Votes do not change it"`
}

// OptionView is an option as the API shows it.
type OptionView struct {
	ID    uuid.UUID `json:"id"`
	Text  string    `json:"text"`
	Votes int       `json:"votes"`
}

// viewPoll shows a poll to the voter whose ballot is mine, or to everybody if that is nil.
func viewPoll(p Poll, mine []uuid.UUID) PollView {
	v := PollView{
		ID: p.ID, Question: p.Question, Status: p.Status, Multiple: p.Multiple, Options: make([]OptionView, len(p.Options)),
		TotalVotes: p.Voters, ClosesOn: p.ClosesOn, Version: p.Version,
	}
	for i, o := range p.Options {
		v.Options[i] = OptionView(o)
	}
	if len(mine) > 0 {
		v.MyBallot = &mine
	}
	if p.ClosedOn != nil {
		v.ClosesOn = p.ClosedOn
	}
	return v
}

// showPoll answers a host with a poll as it stands.
func showPoll(p SeenPoll) httpx.Response[PollView] {
	return httpx.OK(viewPoll(p.Poll, p.Mine)).WithVersion(p.Version)
}

// SeenPoll is a poll with the ballot of the voter who looks at it.
type SeenPoll struct {
	Poll
	Mine []uuid.UUID // sorted; nil for none
}
